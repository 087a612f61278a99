"""A sandbox for programs that call tools, whatever interpreter it is made of."""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from enum import StrEnum
from typing import Protocol, TypeAlias

from pydantic import JsonValue

from tool_runtime import ToolResult

__all__ = ["CallTool", "CodeRuntime", "Failed", "FailureKind", "Finished", "Program"]

CallTool: TypeAlias = Callable[[str, JsonValue], Awaitable[ToolResult]]
"""Runs one call that a program makes: a name, and arguments that need not be an object. It raises nothing."""


@dataclass(frozen=True, slots=True)
class Program:
    """Python text, the body of an async function.

    Attributes:
        code: The text; `tools` and `ToolCallError` are there for it.
        stubs: What it is checked against before it runs (a `.pyi` text); None for no check.
    """

    code: str
    stubs: str | None = None


class FailureKind(StrEnum):
    """Why a program gave no result; the code of the failed call."""

    EXCEPTION = "PROGRAM_EXCEPTION"
    SYNTAX_ERROR = "PROGRAM_SYNTAX_ERROR"
    TYPE_ERROR = "PROGRAM_TYPE_ERROR"
    TIMEOUT = "PROGRAM_TIMEOUT"
    ABORTED = "PROGRAM_ABORTED"
    INVALID_OUTPUT = "PROGRAM_INVALID_OUTPUT"
    OUTPUT_LIMIT = "PROGRAM_OUTPUT_LIMIT"
    MEMORY_LIMIT = "PROGRAM_MEMORY_LIMIT"
    CALLS_LIMIT = "PROGRAM_CALLS_LIMIT"
    CRASHED = "PROGRAM_CRASHED"


@dataclass(frozen=True, slots=True)
class Finished:
    """A program that ran to its end.

    Attributes:
        printed: What it printed.
        value: What it returned.
        unawaited: Calls that it made without `await`, so that they never started.
    """

    printed: str
    value: JsonValue
    unawaited: int = 0


@dataclass(frozen=True, slots=True)
class Failed:
    """A program that did not.

    Attributes:
        kind: Why.
        message: One line for the model, with the line of the program where there is one.
        printed: What it had printed until then.
    """

    kind: FailureKind
    message: str
    printed: str


class CodeRuntime(Protocol):
    """Runs programs, each with fresh state and without files, network or environment."""

    async def run(self, program: Program, call: CallTool) -> Finished | Failed:
        """Run one program.

        Cancelling it cancels the nested calls and ends the program at once.

        Args:
            program: What to run.
            call: Runs the calls that the program makes; as many at once as the program wants.
        """
        ...
