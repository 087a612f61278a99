"""Programs in `pydantic-monty`: an interpreter in processes of its own, without a way out of them.

The only module that knows the library. Its calls block, so they run in threads; a program that waits for its nested
calls holds none.
"""

import time
from collections.abc import AsyncGenerator, Callable
from contextlib import asynccontextmanager
from functools import partial
from typing import Final, cast

import anyio
from anyio import to_thread
from anyio.abc import TaskGroup
from pydantic_core import to_json
from pydantic_monty import (
    ExternalSettledResult,
    FunctionSnapshot,
    FutureSnapshot,
    Monty,
    MontyComplete,
    MontyError,
    MontyRuntimeError,
    MontySession,
    MontySyntaxError,
    MontyTypingError,
    NameLookupSnapshot,
    SyncSnapshot,
)

from progressive.code._faults import located, text_fault
from progressive.code._printed import Printed
from progressive.code._source import CALL, LINES_BEFORE, attribute_names, checked_source, whole_source
from progressive.code._worker import Worker
from progressive.code.options import CodeOptions
from progressive.code.runtime import CallTool, CodeRuntime, Failed, FailureKind, Finished, Program
from tool_runtime import RuntimeCode, ToolFailure
from tool_runtime.payload import NotJsonError, decode

__all__ = ["open_monty"]

_GRACE_S: Final = 0.25
"""The interpreter stops by itself when its time is over, and then says where; only after that it is ended."""
_SUSPENSIONS_MAX: Final = 2**31 - 1
"""The library counts every question to the host; calls have a bound of their own here, and time bounds all."""


@asynccontextmanager
async def open_monty(options: CodeOptions | None = None) -> AsyncGenerator[CodeRuntime]:
    """Open a sandbox with one process ready; the others start when they are needed.

    At the end of the block programs that still run are aborted.

    Args:
        options: Bounds on programs, and how many run at once.

    Raises:
        FileNotFoundError: The interpreter is not installed (`pydantic-monty-runtime`).
    """
    options = options or CodeOptions()
    pool = Monty(min_processes=1, max_processes=options.workers_max)
    await to_thread.run_sync(pool.__enter__)
    sandbox = _Sandbox(pool, options)
    try:
        yield sandbox
    finally:
        with anyio.CancelScope(shield=True):
            await sandbox.close()
            await to_thread.run_sync(pool.__exit__, None, None, None)


class _Sandbox:
    def __init__(self, pool: Monty, options: CodeOptions) -> None:
        self._pool = pool
        self._options = options
        self._room = anyio.CapacityLimiter(options.workers_max)
        # Not those of the rest of the application; a run needs two for a moment, when it is cancelled.
        self._threads = anyio.CapacityLimiter(2 * options.workers_max)
        self._running: set[anyio.CancelScope] = set()
        self._is_closed = False
        self._all_ended = anyio.Event()

    async def run(self, program: Program, call: CallTool) -> Finished | Failed:
        fault = text_fault(program.code, self._options.code_bytes_max)
        if fault is not None:
            return Failed(FailureKind.SYNTAX_ERROR, fault, "")
        if self._is_closed:
            return Failed(FailureKind.ABORTED, "the sandbox is closed; nothing was done", "")
        with anyio.CancelScope() as scope:
            self._running.add(scope)
            try:
                async with self._room:
                    return await self._checked_and_run(program, call)
            finally:
                self._running.discard(scope)
                if not self._running:
                    self._all_ended.set()
        return Failed(FailureKind.ABORTED, "the sandbox was closed while the program ran", "")

    async def close(self) -> None:
        self._is_closed = True
        self._all_ended = anyio.Event()
        for scope in self._running:
            scope.cancel()
        if self._running:
            await self._all_ended.wait()

    async def _checked_and_run(self, program: Program, call: CallTool) -> Finished | Failed:
        deadline = anyio.current_time() + self._options.timeout_s
        if program.stubs is not None:
            async with self._session(type_check_stubs=program.stubs) as session:
                fault = await _type_fault(session, program.code)
            if fault is not None:
                return fault
        async with self._session() as session:
            run = _Run(session, program.code, call, self._options)
            with anyio.CancelScope(deadline=deadline + _GRACE_S):
                return await run.ended()
            return run.failed(FailureKind.TIMEOUT, f"it did not end within {self._options.timeout_s:g} s")

    @asynccontextmanager
    async def _session(self, *, type_check_stubs: str | None = None) -> AsyncGenerator[Worker[MontySession]]:
        session = self._pool.checkout(
            limits={
                "max_memory": self._options.memory_bytes_max,
                "max_feed_duration_secs": self._options.timeout_s,
                "max_suspensions": _SUSPENSIONS_MAX,
            },
            type_check=type_check_stubs is not None,
            type_check_stubs=type_check_stubs,
            type_check_format="concise",
            os_policy={"sleep": "call_host"},
        )
        await to_thread.run_sync(session.__enter__)
        try:
            yield Worker(session, cast("int", session.worker_pid), self._threads)
        finally:
            with anyio.CancelScope(shield=True):
                await to_thread.run_sync(session.__exit__, None, None, None)


class _Run:
    """One program in one session."""

    def __init__(self, worker: Worker[MontySession], code: str, call: CallTool, options: CodeOptions) -> None:
        self._worker = worker
        self._code = code
        self._call = call
        self._options = options
        self._printed = Printed(options.output_bytes_max, on_full=worker.end)
        self._calls = 0
        self._made: list[tuple[int, str, str]] = []
        self._answers: dict[int, ExternalSettledResult] = {}
        self._sleeps_until_s: dict[int, float] = {}
        self._changed = anyio.Event()

    async def ended(self) -> Finished | Failed:
        outcome: list[Finished | Failed] = []
        async with anyio.create_task_group() as nested:
            outcome.append(await self._outcome(nested))
            # What nobody waits for any more.
            nested.cancel_scope.cancel()
        return outcome[0]

    def failed(self, kind: FailureKind, message: str) -> Failed:
        return Failed(kind, message, self._printed.text)

    async def _outcome(self, nested: TaskGroup) -> Finished | Failed:
        try:
            return self._finished(await self._completed(nested))
        except MontyError as error:
            return self._failure(error)
        except _CallsLimitError:
            most = self._options.calls_max
            return self.failed(FailureKind.CALLS_LIMIT, f"it made more than {most} tool calls, which is the most")

    async def _completed(self, nested: TaskGroup) -> MontyComplete:
        def print_out(_stream: str, text: str) -> None:
            self._printed.take(text)

        def start() -> SyncSnapshot:
            inputs = {CALL: _sandbox_call, "_sandbox_names": attribute_names(self._code)}
            source = whole_source(self._code)
            return self._worker.session.feed_start(source, inputs=inputs, print_callback=print_out)

        pause = await self._worker.ask(partial(self._advanced, start))
        while not isinstance(pause, MontyComplete):
            for call_id, name, text in self._made:
                nested.start_soon(self._run_nested, call_id, name, text)
            self._made.clear()
            pause = await self._worker.ask(partial(self._advanced, await self._answered(pause)))
        return pause

    def _advanced(self, step: Callable[[], SyncSnapshot]) -> FunctionSnapshot | FutureSnapshot | MontyComplete:
        """Run the program until it has to wait; in a thread."""
        snapshot = step()
        while True:
            match snapshot:
                case NameLookupSnapshot():
                    snapshot = snapshot.resume()
                case FunctionSnapshot(function_name="time.sleep", is_os_function=True):
                    return snapshot
                case FunctionSnapshot():
                    snapshot = self._taken(snapshot)
                case _:
                    return snapshot

    def _taken(self, snapshot: FunctionSnapshot) -> SyncSnapshot:
        if snapshot.is_os_function and snapshot.function_name == "asyncio.sleep":
            self._sleeps_until_s[snapshot.call_id] = time.monotonic() + _seconds(snapshot)
            return snapshot.resume({"future": ...})
        if snapshot.is_os_function:
            return snapshot.resume_not_handled()
        match snapshot.args:
            case (str(name), str(text)):
                if self._calls == self._options.calls_max:
                    raise _CallsLimitError
                self._calls += 1
                self._made.append((snapshot.call_id, name, text))
                return snapshot.resume({"future": ...})
            case _:
                return snapshot.resume({"exc_type": "TypeError", "message": "it takes a name and JSON text"})

    async def _answered(self, pause: FunctionSnapshot | FutureSnapshot) -> Callable[[], SyncSnapshot]:
        """Return how the program goes on, once it can."""
        if isinstance(pause, FunctionSnapshot):
            await anyio.sleep(_seconds(pause))
            return partial(pause.resume, {"return_value": None})
        return partial(pause.resume, await self._ready(set(pause.pending_call_ids)))

    async def _ready(self, pending: set[int]) -> dict[int, ExternalSettledResult]:
        while True:
            now_s = time.monotonic()
            for call_id in [call_id for call_id, until_s in self._sleeps_until_s.items() if until_s <= now_s]:
                del self._sleeps_until_s[call_id]
                self._answers[call_id] = {"return_value": None}
            ready = {call_id: answer for call_id, answer in self._answers.items() if call_id in pending}
            if ready:
                for call_id in ready:
                    del self._answers[call_id]
                return ready
            self._changed = anyio.Event()
            with anyio.move_on_after(min(self._sleeps_until_s.values(), default=now_s + 3600) - now_s):
                await self._changed.wait()

    async def _run_nested(self, call_id: int, name: str, text: str) -> None:
        try:
            arguments = decode(text.encode())
        except NotJsonError as error:
            result = ToolFailure(RuntimeCode.INVALID_ARGS, f"arguments: {error}")
        else:
            result = await self._call(name, arguments)
        if isinstance(result, ToolFailure):
            answer = {"failed": True, "code": result.code, "message": result.message}
        else:
            answer = {"failed": False, "value": result.value}
        self._answers[call_id] = {"return_value": to_json(answer).decode()}
        self._changed.set()

    def _finished(self, complete: MontyComplete) -> Finished | Failed:
        match complete.output:
            case [str(), str(fault), int()]:
                return self.failed(FailureKind.INVALID_OUTPUT, f"{fault}; return plain JSON")
            case [str(text), None, int(unawaited)]:
                if len(text.encode()) > self._printed.bytes_left:
                    return self._over_output_limit()
                return Finished(self._printed.text, decode(text.encode()), unawaited)
            case _:
                return self.failed(FailureKind.INVALID_OUTPUT, "the returned value did not arrive as JSON")

    def _over_output_limit(self) -> Failed:
        most = self._options.output_bytes_max
        message = f"it printed and returned more than {most} bytes; return less, such as a count or the first part"
        return self.failed(FailureKind.OUTPUT_LIMIT, message)

    def _failure(self, error: MontyError) -> Failed:
        if self._printed.is_full:
            return self._over_output_limit()
        match error:
            case MontySyntaxError():
                return self.failed(FailureKind.SYNTAX_ERROR, self._located(str(error), error))
            case MontyRuntimeError():
                return self._runtime_failure(error)
            case _:
                return self.failed(FailureKind.CRASHED, "the process of the program ended unexpectedly; try again")

    def _runtime_failure(self, error: MontyRuntimeError) -> Failed:
        inner = error.exception()
        message = str(inner)
        if isinstance(inner, NotImplementedError) and message.startswith(_UNSUPPORTED):
            message = f"{message.removeprefix(_UNSUPPORTED)}: not supported here"
            return self.failed(FailureKind.SYNTAX_ERROR, self._located(message, error))
        if isinstance(inner, TimeoutError) and "time limit exceeded" in message:
            message = f"it did not end within {self._options.timeout_s:g} s"
            return self.failed(FailureKind.TIMEOUT, self._located(message, error))
        if isinstance(inner, MemoryError):
            message = f"it held more than {self._options.memory_bytes_max} bytes of memory"
            return self.failed(FailureKind.MEMORY_LIMIT, self._located(message, error))
        name = "ToolCallError" if type(inner).__name__ == "Incomplete" else type(inner).__name__
        return self.failed(FailureKind.EXCEPTION, self._located(f"{name}: {message}" if message else name, error))

    def _located(self, message: str, error: MontySyntaxError | MontyRuntimeError) -> str:
        return located(message, [frame.line - LINES_BEFORE for frame in error.traceback()], self._code)


_UNSUPPORTED: Final = "The monty syntax parser does not yet support "


class _CallsLimitError(Exception):
    """Raised when a program makes one call too many."""


def _sandbox_call() -> None:
    """Stand for the host function; only its name is used."""


def _seconds(snapshot: FunctionSnapshot) -> float:
    return float(snapshot.args[0])


async def _type_fault(worker: Worker[MontySession], code: str) -> Failed | None:
    """Return what the type checker has against a program; defining it runs nothing of it."""
    try:
        await worker.ask(partial(worker.session.feed_run, checked_source(code)))
    except MontyTypingError as error:
        return Failed(FailureKind.TYPE_ERROR, error.display(), "")
    return None
