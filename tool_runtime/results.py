"""What a call comes back with."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import TypeAlias

from pydantic import JsonValue

__all__ = ["RuntimeCode", "TextBlock", "ToolError", "ToolFailure", "ToolResult", "ToolSuccess"]


class RuntimeCode(StrEnum):
    """The failures that the runtime itself reports; a tool's own codes pass beside them unchanged."""

    INVALID_ARGS = "INVALID_ARGS"
    UNKNOWN_TOOL = "UNKNOWN_TOOL"
    INVALID_TOOL_OUTPUT = "INVALID_TOOL_OUTPUT"
    DENIED = "DENIED"
    TOOL_TIMEOUT = "TOOL_TIMEOUT"
    ABORTED = "ABORTED"
    TOOL_FAILED = "TOOL_FAILED"


@dataclass(frozen=True, slots=True)
class TextBlock:
    """Text for the model."""

    text: str


@dataclass(frozen=True, slots=True)
class ToolSuccess:
    """A call that worked.

    Attributes:
        value: The structured result, plain JSON types, matching the tool's output schema.
        content: What the model is shown.
    """

    value: JsonValue
    content: tuple[TextBlock, ...]


@dataclass(frozen=True, slots=True)
class ToolFailure:
    """A call that did not.

    Attributes:
        code: A `RuntimeCode` or a code of the tool.
        message: What happened and what to do, for the model.
        retryable: Whether the same call may work when simply repeated.
    """

    code: str
    message: str
    retryable: bool = False

    @property
    def content(self) -> tuple[TextBlock, ...]:
        """What the model is shown: one block, the code first."""
        return (TextBlock(f"{self.code}: {self.message}"),)


ToolResult: TypeAlias = ToolSuccess | ToolFailure


class ToolError(Exception):
    """Raised by a tool to fail its call with a code of its own."""

    def __init__(self, code: str, message: str, *, retryable: bool = False) -> None:
        super().__init__(f"{code}: {message}")
        self.code = str(code)
        self.message = message
        self.retryable = retryable
