"""Structured results of the three tools: plain JSON, so that the lines of a page are neither dumped nor parsed."""

from typing import Annotated, Literal, NotRequired

from pydantic import Field
from typing_extensions import TypedDict

from fs_core.errors import quote_path
from fs_core.types import Note, NoteKind, Version

__all__ = ["EditValue", "NoteValue", "ReadLine", "ReadValue", "WriteValue", "note_values", "version_text"]


_PHRASES = {NoteKind.PARENTS_CREATED: "directories created: {}"}


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


def version_text(version: Version) -> str:
    """Return the version for the outside: the content's digest, which is the same on every backend."""
    return version.digest or version.token


def note_values(notes: tuple[Note, ...]) -> list[NoteValue]:
    """Return a write's notes for the outside."""
    return [
        # A detail may hold names of files, and so line breaks.
        NoteValue(kind=note.kind.value, text=_PHRASES.get(note.kind, "{}").format(quote_path(note.detail)))
        for note in notes
    ]
