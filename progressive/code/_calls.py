"""What a program waits for: the calls of tools that it made, and time."""

import time
from typing import Final

import anyio
from anyio.abc import TaskGroup
from anyio.lowlevel import checkpoint

from progressive.code._source import FAILED, SUCCEEDED
from progressive.code.runtime import CallTool
from tool_runtime import RuntimeCode, ToolFailure, ToolResult, ToolSuccess
from tool_runtime.payload import NotJsonError, decode, encode

__all__ = ["SLEEP_S_MAX", "CallsLimitError", "HeldLimitError", "Waits"]

SLEEP_S_MAX: Final = 86_400.0
"""No program runs for a day, and event loops do not take every number."""


_SLEEPS_MAX: Final = 10_000
"""Waits at once: they cost memory here, which the interpreter's own bound does not count."""


class CallsLimitError(Exception):
    """Raised when a program makes one call too many."""


class HeldLimitError(Exception):
    """Raised when calls that have not ended hold too much: the interpreter's own bound does not count it."""


class Waits:
    """Everything that one program waits for, by the number that the interpreter gave it."""

    def __init__(self, call: CallTool, *, calls_max: int, bytes_max: int) -> None:
        """Start with nothing.

        Args:
            call: Runs calls.
            calls_max: How many there may be in all.
            bytes_max: What the names and arguments of those that have not ended may take together.
        """
        self._call = call
        self._calls_left = calls_max
        self._bytes_left = bytes_max
        self._bytes_ended = 0
        self._made: list[tuple[int, str, bytes]] = []
        self._unfailed = 0
        self._sleeps_until_s: dict[int, float] = {}
        self._answers: dict[int, str | None] = {}
        self._changed = anyio.Event()

    @property
    def may_have_effect(self) -> bool:
        """Whether a call was started that did not fail, or not yet."""
        return self._unfailed > 0

    def make(self, number: int, name: str, arguments: bytes) -> None:
        """Note a call, with its arguments as JSON text; any one thread may do that, and `sleep`.

        Raises:
            CallsLimitError: It is one too many.
            HeldLimitError: It is too large beside those that have not ended.
        """
        if self._calls_left == 0:
            raise CallsLimitError
        self._calls_left -= 1
        self._bytes_left -= _size_bytes(name, arguments)
        if self._bytes_left < 0:
            raise HeldLimitError
        self._made.append((number, name, arguments))

    def sleep(self, number: int, seconds: float) -> bool:
        """Note a wait that begins now; tell whether there was room for one more."""
        if len(self._sleeps_until_s) == _SLEEPS_MAX:
            return False
        self._sleeps_until_s[number] = time.monotonic() + seconds
        return True

    def start(self, tasks: TaskGroup) -> None:
        """Start the calls that were noted; while nothing is noted by another thread."""
        self._bytes_left += self._bytes_ended
        self._bytes_ended = 0
        for made in self._made:
            tasks.start_soon(self._run, *made)
            self._unfailed += 1
        self._made.clear()

    async def answers(self, wanted: set[int]) -> dict[int, str | None]:
        """Return what is there of the wanted answers, as soon as there is one; each is given once."""
        while True:
            await self._settle()
            now_s = time.monotonic()
            for number in [number for number, until_s in self._sleeps_until_s.items() if until_s <= now_s]:
                del self._sleeps_until_s[number]
                self._answers[number] = None
            ready = {number: answer for number, answer in self._answers.items() if number in wanted}
            if ready:
                for number in ready:
                    del self._answers[number]
                return ready
            self._changed = anyio.Event()
            with anyio.move_on_after(min(self._sleeps_until_s.values(), default=now_s + SLEEP_S_MAX) - now_s):
                await self._changed.wait()

    async def _settle(self) -> None:
        """Let calls that are about to end do so: going on with the program costs more than a turn of the loop."""
        count = -1
        while count < len(self._answers):
            count = len(self._answers)
            await checkpoint()

    async def _run(self, number: int, name: str, payload: bytes) -> None:
        try:
            arguments = decode(payload)
        except NotJsonError as error:
            result: ToolResult = ToolFailure(RuntimeCode.INVALID_ARGS, f"arguments: {error}")
        else:
            result = await self._call(name, arguments)
        if isinstance(result, ToolFailure):
            self._unfailed -= 1
        self._answers[number] = _answer(result)
        self._bytes_ended += _size_bytes(name, payload)
        self._changed.set()


def _size_bytes(name: str, arguments: bytes) -> int:
    return len(name.encode()) + len(arguments)


def _answer(result: ToolResult) -> str:
    """Return what the sandbox is told of a result."""
    if isinstance(result, ToolSuccess):
        try:
            return SUCCEEDED + encode(result.value).decode()
        except NotJsonError as error:
            result = ToolFailure(RuntimeCode.INVALID_TOOL_OUTPUT, f"its result is not JSON: {error}")
    texts = [text.encode("utf-8", "backslashreplace").decode() for text in (result.code, result.message)]
    return FAILED + encode(texts).decode()
