"""Programs in `pydantic-monty`: an interpreter in processes of its own, without a way out of them.

The only module that knows the library. Its calls block, so they run in threads; a program that waits for its nested
calls holds none.
"""

from collections.abc import AsyncGenerator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from functools import partial
from typing import Final, TypeAlias

import anyio
from anyio import to_thread
from anyio.abc import TaskGroup
from pydantic_monty import (
    FunctionSnapshot,
    FutureSnapshot,
    Monty,
    MontyComplete,
    MontyCrashedError,
    MontyError,
    MontyRuntimeError,
    MontySession,
    MontySyntaxError,
    MontyTypingError,
    NameLookupSnapshot,
    SyncSnapshot,
)

from progressive.code._advice import advised
from progressive.code._calls import SLEEP_S_MAX, CallsLimitError, HeldLimitError, Waits
from progressive.code._faults import ProgramText, one_line, text_fault
from progressive.code._printed import Printed
from progressive.code._source import (
    CALL,
    CHECKED_LINES_BEFORE,
    LINES_BEFORE,
    TOOL_CALL_ERROR,
    attribute_names,
    checked_source,
    whole_source,
)
from progressive.code._worker import Worker
from progressive.code.options import CodeOptions
from progressive.code.runtime import CallTool, CodeRuntime, Failed, FailureKind, Finished, Program
from tool_runtime.payload import NotJsonError, decode, encode

__all__ = ["open_monty"]

_GRACE_S: Final = 0.25
_CHECK_MEMORY_BYTES_MAX: Final = 512 * 1024 * 1024
"""For the type checker, which runs nothing; with the types of 500 tools it takes 45 MB."""
_SUSPENSIONS_MAX: Final = 2**31 - 1
"""The library counts every question to the host; calls have a bound of their own here, and time bounds all."""
_UNAWAITED_MAX: Final = 2**31 - 1
"""More objects fit into no memory here: the program has changed the count, and may have made it too long to write."""


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
                    return await self._within_time(program, call)
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

    async def _within_time(self, program: Program, call: CallTool) -> Finished | Failed:
        printed = Printed(self._options.output_bytes_max)
        # The interpreter stops by itself when its time is over, and lives on; only after that it is ended.
        with anyio.move_on_after(self._options.timeout_s + _GRACE_S):
            if program.stubs is not None:
                async with self._worker(_CHECK_MEMORY_BYTES_MAX, stubs=program.stubs) as worker:
                    fault = await _type_fault(worker, program.code)
                if fault is not None:
                    return fault
            async with self._worker(self._options.memory_bytes_max) as worker:
                return await _Run(worker, program.code, call, printed, self._options).ended()
        return Failed(FailureKind.TIMEOUT, f"{_over_time(self._options)}{_EFFECTS}", printed.text)

    @asynccontextmanager
    async def _worker(self, memory_bytes_max: int, *, stubs: str | None = None) -> AsyncGenerator[Worker[MontySession]]:
        worker = Worker(partial(self._entered, memory_bytes_max, stubs), self._threads)
        try:
            yield worker
        finally:
            await worker.close()

    def _entered(self, memory_bytes_max: int, stubs: str | None) -> MontySession:
        """Return a session with a process; in a thread."""
        crashes_left = self._options.workers_max
        while True:
            session = self._pool.checkout(
                limits={
                    "max_memory": memory_bytes_max,
                    "max_feed_duration_secs": self._options.timeout_s,
                    "max_suspensions": _SUSPENSIONS_MAX,
                },
                type_check=stubs is not None,
                type_check_stubs=stubs,
                type_check_format="concise",
                os_policy={"sleep": "call_host"},
            )
            try:
                return session.__enter__()
            except MontyCrashedError:
                # Each idle process may have died meanwhile, and the pool learns of it only now.
                if crashes_left == 0:
                    raise
                crashes_left -= 1


_Step: TypeAlias = Callable[[MontySession], SyncSnapshot]


class _Run:
    """One program in one session."""

    def __init__(
        self, worker: Worker[MontySession], code: str, call: CallTool, printed: Printed, options: CodeOptions
    ) -> None:
        self._worker = worker
        self._code = code
        self._text = ProgramText(code)
        self._waits = Waits(call, calls_max=options.calls_max, bytes_max=options.memory_bytes_max)
        self._printed = printed
        self._options = options

    async def ended(self) -> Finished | Failed:
        outcome: list[Finished | Failed] = []
        async with anyio.create_task_group() as nested:
            outcome.append(await self._outcome(nested))
            # What nobody waits for any more.
            nested.cancel_scope.cancel()
        return outcome[0]

    def _failed(self, kind: FailureKind, message: str) -> Failed:
        return Failed(kind, f"{message}{_EFFECTS}" if self._waits.may_have_effect else message, self._printed.text)

    async def _outcome(self, nested: TaskGroup) -> Finished | Failed:
        try:
            return self._finished(await self._ended_with(nested))
        except MontyError as error:
            return self._failure(error)
        except _OutputLimitError:
            return self._over_output_limit()
        except HeldLimitError:
            return self._failed(FailureKind.MEMORY_LIMIT, _over_memory(self._options))
        except CallsLimitError:
            most = self._options.calls_max
            message = f"it made more than {most} tool calls, which is the most; do the rest in another program"
            return self._failed(FailureKind.CALLS_LIMIT, message)

    async def _ended_with(self, nested: TaskGroup) -> object:
        """Return what the whole text gives in the end."""
        pause = await self._worker.ask(partial(self._advanced, self._start))
        while not isinstance(pause, _Ended):
            if self._printed.is_full:
                raise _OutputLimitError
            self._waits.start(nested)
            pause = await self._worker.ask(partial(self._advanced, await self._resumed(pause)))
        return pause.output

    def _start(self, session: MontySession) -> SyncSnapshot:
        def print_out(_stream: str, text: str) -> None:
            if not self._printed.take(text):
                # An exception would only be heard of when the program waits for something.
                self._worker.end()

        inputs = {CALL: _sandbox_call, "_sandbox_names": attribute_names(self._code)}
        return session.feed_start(whole_source(self._code), inputs=inputs, print_callback=print_out)

    def _advanced(self, step: _Step, session: MontySession) -> "FunctionSnapshot | FutureSnapshot | _Ended":
        """Run the program until it has to wait; in a thread."""
        snapshot = step(session)
        while True:
            match snapshot:
                case NameLookupSnapshot():
                    snapshot = snapshot.resume()
                case FunctionSnapshot(function_name="time.sleep", is_os_function=True):
                    return snapshot
                case FunctionSnapshot():
                    snapshot = self._taken(snapshot)
                case FutureSnapshot():
                    return snapshot
                case MontyComplete():
                    output = snapshot.output
                    # In the same thread, as a turn to another costs as much as a small program.
                    self._worker.leave()
                    return _Ended(output)

    def _taken(self, snapshot: FunctionSnapshot) -> SyncSnapshot:
        if snapshot.is_os_function and snapshot.function_name == "asyncio.sleep":
            if self._waits.sleep(snapshot.call_id, _seconds(snapshot)):
                return snapshot.resume({"future": ...})
            return snapshot.resume({"exc_type": "RuntimeError", "message": "too many sleeps at once"})
        if snapshot.is_os_function:
            return snapshot.resume_not_handled()
        if snapshot.function_name != CALL:
            # The interpreter asks the host for every function that nothing defines.
            message = f"name '{snapshot.function_name}' is not defined"
            return snapshot.resume({"exc_type": "NameError", "message": message})
        match snapshot.args:
            case (str(name), str(text)):
                self._waits.make(snapshot.call_id, name, text.encode())
                return snapshot.resume({"future": ...})
            case _:
                return snapshot.resume({"exc_type": "TypeError", "message": "it takes a name and JSON text"})

    async def _resumed(self, pause: FunctionSnapshot | FutureSnapshot) -> _Step:
        """Return how the program goes on, once it can."""
        if isinstance(pause, FunctionSnapshot):
            await anyio.sleep(_seconds(pause))
            return lambda _: pause.resume({"return_value": None})
        answers = await self._waits.answers(set(pause.pending_call_ids))
        return lambda _: pause.resume({number: {"return_value": answer} for number, answer in answers.items()})

    def _finished(self, output: object) -> Finished | Failed:
        match output:
            case [str(), str(fault), int()]:
                return self._failed(FailureKind.INVALID_OUTPUT, f"{advised(one_line(fault))}; return plain JSON")
            case [str(text), None, int(unawaited)] if unawaited <= _UNAWAITED_MAX:
                if len(text.encode()) > self._printed.bytes_left:
                    return self._over_output_limit()
                return self._finished_with(text, max(0, unawaited))
            case _:
                return self._failed(FailureKind.INVALID_OUTPUT, _NOT_JSON)

    def _finished_with(self, text: str, unawaited: int) -> Finished | Failed:
        try:
            value = decode(text.encode())
            encode(value)
        except NotJsonError:
            # The sandbox's own functions made sure of it, but a program may have replaced them.
            return self._failed(FailureKind.INVALID_OUTPUT, _NOT_JSON)
        return Finished(self._printed.text, value, unawaited)

    def _over_output_limit(self) -> Failed:
        most = self._options.output_bytes_max
        message = f"it printed and returned more than {most} bytes; return less, such as a count or the first part"
        return self._failed(FailureKind.OUTPUT_LIMIT, message)

    def _failure(self, error: MontyError) -> Failed:
        if self._printed.is_full:
            return self._over_output_limit()
        match error:
            case MontySyntaxError():
                message = self._text.syntax_fault(str(error), _program_lines(error))
                return self._failed(FailureKind.SYNTAX_ERROR, message)
            case MontyRuntimeError():
                return self._runtime_failure(error)
            case _:
                return self._failed(FailureKind.CRASHED, _CRASHED)

    def _runtime_failure(self, error: MontyRuntimeError) -> Failed:
        inner = error.exception()
        kind, message = FailureKind.EXCEPTION, str(inner)
        if isinstance(inner, NotImplementedError) and message.startswith(_UNSUPPORTED):
            kind, message = FailureKind.SYNTAX_ERROR, f"{message.removeprefix(_UNSUPPORTED)}: not supported here"
        elif isinstance(inner, TimeoutError) and message.startswith(_TIME_IS_OVER):
            kind, message = FailureKind.TIMEOUT, _over_time(self._options)
        elif isinstance(inner, MemoryError) and message.startswith(_MEMORY_IS_FULL):
            kind, message = FailureKind.MEMORY_LIMIT, _over_memory(self._options)
        else:
            name = "ToolCallError" if type(inner).__name__ == TOOL_CALL_ERROR else type(inner).__name__
            message = advised(f"{name}: {message}" if message else name)
        return self._failed(kind, self._text.located(message, _program_lines(error)))


# How the library words what no program can catch; a program that raises the same fools itself.
_UNSUPPORTED: Final = "The monty syntax parser does not yet support "
_TIME_IS_OVER: Final = "feed time limit exceeded"
_MEMORY_IS_FULL: Final = ("memory limit exceeded", "the worker exceeded its memory limit")
_EXECUTED: Final = "<string>"
_NOT_JSON: Final = "the returned value did not arrive as JSON"
_CRASHED: Final = "the process that ran it ended unexpectedly"
_EFFECTS: Final = "; calls that it had made may have taken effect"


@dataclass(frozen=True, slots=True)
class _Ended:
    """A program that ran to its end, and what the text around it gave."""

    output: object


class _OutputLimitError(Exception):
    """Raised when a program has printed too much."""


def _sandbox_call() -> None:
    """Stand for the host function; only its name is used."""


def _over_time(options: CodeOptions) -> str:
    return f"it did not end within {options.timeout_s:g} s"


def _over_memory(options: CodeOptions) -> str:
    return f"it held more than {options.memory_bytes_max} bytes of memory; work on less at once"


def _program_lines(error: MontySyntaxError | MontyRuntimeError) -> list[int]:
    # Those of text that a program ran by `exec` are lines of that text.
    return [frame.line - LINES_BEFORE for frame in error.traceback() if frame.filename != _EXECUTED]


def _seconds(snapshot: FunctionSnapshot) -> float:
    return max(0.0, min(float(snapshot.args[0]), SLEEP_S_MAX))


async def _type_fault(worker: Worker[MontySession], code: str) -> Failed | None:
    """Return what the type checker has against a program; defining it runs nothing of it."""
    try:
        await worker.ask(lambda session: session.feed_run(checked_source(code)))
    except MontyTypingError as error:
        faults = ProgramText(code).type_faults(error.display(), CHECKED_LINES_BEFORE)
        if faults is None:
            return None
        return Failed(FailureKind.SYNTAX_ERROR if faults.is_syntax else FailureKind.TYPE_ERROR, faults.message, "")
    except MontyCrashedError:
        return Failed(FailureKind.CRASHED, _CRASHED, "")
    except MontyError:
        # What keeps it from being defined keeps it from running too, and is told then.
        return None
    return None
