"""What a whole-file write changed besides the text: line endings and the byte order mark. Pure."""

from fs_core._bytes_search import count_newlines
from fs_core.text import BOM
from fs_core.types import Note, NoteKind

__all__ = ["write_notes"]


def write_notes(before: bytes, after: bytes) -> tuple[Note, ...]:
    """Return notes on the change from `before` to `after`, both text; the text itself is the caller's intent."""
    notes: list[Note] = []
    old, new = _ending_style(before), _ending_style(after)
    if old != new and old is not None and new is not None:
        notes.append(Note(NoteKind.LINE_ENDINGS_CHANGED, f"line endings changed from {old} to {new}"))
    if before.startswith(BOM) and not after.startswith(BOM):
        notes.append(Note(NoteKind.BYTE_ORDER_MARK_CHANGED, "the file's UTF-8 byte order mark is gone"))
    return tuple(notes)


def _ending_style(data: bytes) -> str | None:
    """Name the line endings of `data`; `None` for a single line."""
    if b"\r" not in data:
        return "LF" if b"\n" in data else None
    newlines = count_newlines(data)
    if newlines == 0:
        return "CR"
    crlf = data.count(b"\r\n")
    if crlf == 0:
        return "LF"
    return "CRLF" if crlf == newlines else "mixed LF and CRLF"
