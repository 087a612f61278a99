"""Structured results of the three tools: plain JSON, so that the lines of a page are neither dumped nor parsed."""

from typing import Annotated, Literal, NotRequired

from pydantic import Field
from typing_extensions import TypedDict

__all__ = ["EditValue", "NoteValue", "ReadLine", "ReadValue", "WriteValue"]


class NoteValue(TypedDict):
    """Something the caller should know besides the result."""

    kind: str
    text: str


class ReadLine(TypedDict):
    """One line without its ending; `length` is its real length in characters where `text` is cut."""

    number: int
    text: str
    length: NotRequired[Annotated[int | None, Field(json_schema_extra={"default": None})]]


class ReadValue(TypedDict):
    """One page of a file."""

    path: Annotated[str, Field(description="Path relative to the root, with links followed.")]
    offset: int
    lines: list[ReadLine]
    total_lines: int
    next_offset: Annotated[int | None, Field(description="Where the next page starts; null at the end of the file.")]
    truncated_by: Literal["lines", "bytes"] | None
    version: Annotated[str, Field(description="Changes whenever the content changes.")]
    final_newline: bool
    notes: list[NoteValue]


class WriteValue(TypedDict):
    """A file that was created or replaced."""

    path: str
    operation: Literal["create", "update"]
    version: str
    bytes: int
    diff: Annotated[
        str | None, Field(description="Unified diff, bounded; null where the old content is no text or too large.")
    ]
    notes: list[NoteValue]


class EditValue(TypedDict):
    """A file that was edited."""

    path: str
    replacements: int
    version: str
    diff: str
    notes: list[NoteValue]
