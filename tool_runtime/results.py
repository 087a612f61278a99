"""What a call comes back with."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import StrEnum
from typing import Literal, TypeAlias

from pydantic import JsonValue

__all__ = [
    "ContentBlock",
    "MediaBlock",
    "RuntimeCode",
    "TextBlock",
    "ToolError",
    "ToolFailure",
    "ToolResult",
    "ToolSuccess",
]


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
class MediaBlock:
    """A picture or a sound for the model.

    Attributes:
        kind: Which of the two.
        data: The bytes, as base64.
        mime_type: What they are, such as `image/png`.
    """

    kind: Literal["image", "audio"]
    data: str = field(repr=False)
    mime_type: str

    @property
    def text(self) -> str:
        """What stands for it where only text can be shown."""
        return f"[{self.kind}: {self.mime_type}]"


ContentBlock: TypeAlias = TextBlock | MediaBlock


@dataclass(frozen=True, slots=True)
class ToolSuccess:
    """A call that worked.

    Attributes:
        value: The structured result, plain JSON types, matching the tool's output schema.
        content: What the model is shown.
    """

    value: JsonValue
    content: tuple[ContentBlock, ...]

    @property
    def text(self) -> str:
        """The content for a reader who sees text alone: one block after the other, media named."""
        return "\n".join(block.text for block in self.content)


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
        return (TextBlock(self.text),)

    @property
    def text(self) -> str:
        """The content as text."""
        return f"{self.code}: {self.message}"


ToolResult: TypeAlias = ToolSuccess | ToolFailure


class ToolError(Exception):
    """Raised by a tool to fail its call with a code of its own."""

    def __init__(self, code: str, message: str, *, retryable: bool = False) -> None:
        super().__init__(f"{code}: {message}")
        self.code = str(code)
        self.message = message
        self.retryable = retryable
