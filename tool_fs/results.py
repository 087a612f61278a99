"""What the seam returned, for the outside. Loads no library of schemas: whoever needs none does without."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from fs_core.errors import quote_path
from fs_core.types import Note, NoteKind, Version

if TYPE_CHECKING:
    from tool_fs.values import NoteValue

__all__ = ["note_values", "version_text"]

_PHRASES: Final = {NoteKind.PARENTS_CREATED: "directories created: {}"}


def version_text(version: Version) -> str:
    """Return the version for the outside: the content's digest, which is the same on every backend."""
    return version.digest or version.token


def note_values(notes: tuple[Note, ...]) -> list[NoteValue]:
    """Return a write's notes for the outside."""
    return [
        # A detail may hold names of files, and so line breaks.
        {"kind": note.kind.value, "text": _PHRASES.get(note.kind, "{}").format(quote_path(note.detail))}
        for note in notes
    ]
