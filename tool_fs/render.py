"""What the model is shown. File text stands raw, so that it can be sent back and matches."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Final

from fs_core.errors import quote_path

if TYPE_CHECKING:
    from tool_fs.values import EditValue, NoteValue, ReadValue, WriteValue

__all__ = ["render_edit", "render_read", "render_write"]

_DIFF_LINES_SHOWN_MAX: Final = 60


def render_read(value: ReadValue) -> str:
    """Return a page: numbered rows between tags, notes, then one footer that tells where to go on."""
    rows = [f"{line['number']}: {line['text']}" for line in value["lines"]]
    head = [f"<path>{quote_path(value['path'])}</path>", "<type>file</type>", "<content>"]
    return "\n".join([*head, *rows, "</content>", *_notes(value["notes"]), _footer(value)])


def _footer(value: ReadValue) -> str:
    if value["total_lines"] == 0:
        return "(The file is empty: 0 lines.)"
    first, last = value["offset"], value["offset"] + len(value["lines"]) - 1
    shown = f"line {first}" if first == last else f"lines {first} to {last}"
    if value["next_offset"] is None:
        return f"(End of file: {shown} of {value['total_lines']}.)"
    return f"(Shown: {shown} of {value['total_lines']}. Continue with offset={value['next_offset']}.)"


def render_write(value: WriteValue) -> str:
    """Return one line on what was written, and the notes."""
    verb = "Created" if value["operation"] == "create" else "Replaced"
    return "\n".join(
        [f"{verb} {quote_path(value['path'])} ({_count(value['bytes'], 'byte')}).", *_notes(value["notes"])]
    )


def render_edit(value: EditValue) -> str:
    """Return how many places changed, with the lines around them, and the notes."""
    head = f"Edited {quote_path(value['path'])}: {_count(value['replacements'], 'place')} replaced."
    hunks = value["diff"].rstrip("\n").split("\n")[2:]
    if len(hunks) > _DIFF_LINES_SHOWN_MAX:
        hunks = [*hunks[:_DIFF_LINES_SHOWN_MAX], "[the rest of the change is not shown]"]
    return "\n".join([head, *hunks, *_notes(value["notes"])])


def _notes(notes: Sequence[NoteValue]) -> list[str]:
    return [f"(Note: {note['text']}.)" for note in notes]


def _count(number: int, noun: str) -> str:
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"
