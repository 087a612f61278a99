"""What a reader of a page cannot see in its text: said beside it, so that the text itself stays raw."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable, Iterable, Iterator
from itertools import islice
from typing import TYPE_CHECKING, Final, TypeVar

from fs_core.page import Page

if TYPE_CHECKING:
    from tool_fs.values import NoteValue

__all__ = ["page_notes", "unseen_notes"]

PlaceT = TypeVar("PlaceT")

_LINES_NAMED_MAX: Final = 5
_CHARACTERS_NAMED_MAX: Final = 4

# Control characters but tab; soft hyphen; line separators; zero-width, direction and other format characters; tags.
# The zero-width joiner and non-joiner are left out: emoji and several scripts are written with them.
_UNSEEN: Final = re.compile(
    "[\x00-\x08\x0a-\x1f\x7f-\x9f\u00ad\u061c\u180e\u200b\u200e\u200f\u2028-\u202e\u2060-\u2064\u2066-\u206f"
    "\ufeff\ufff9-\ufffb\U000e0000-\U000e007f]"
)
_UNSEEN_ASCII: Final = bytes(code for code in range(128) if _UNSEEN.match(chr(code)))
_CONTROL_NAMES: Final = {"\r": "CARRIAGE RETURN", "\x0b": "LINE TABULATION", "\x0c": "FORM FEED", "\x1b": "ESCAPE"}


def page_notes(page: Page) -> list[NoteValue]:
    """Return the notes of one page."""
    notes = [*_cut_lines(page), *_endings(page)]
    # Nearly every page holds none, which one look at all of it tells sooner than one at each line.
    if _holds_unseen("".join(page.texts)):
        lines = enumerate(page.texts, start=page.first_line)
        notes += unseen_notes(lines, "line {}".format)
    return notes


def unseen_notes(lines: Iterable[tuple[PlaceT, str]], named: Callable[[PlaceT], str]) -> Iterator[NoteValue]:
    """Name the control and invisible characters in lines, each given as its place and its text."""
    # Every character that is looked for is none that can be printed, and few lines hold one that is neither.
    suspects = [(place, text) for place, text in lines if not text.isprintable()]
    found = [(place, names) for place, text in suspects if (names := _unseen_in(text))]
    for place, names in found[:_LINES_NAMED_MAX]:
        yield {"kind": "unseen_characters", "text": f"{named(place)} holds {', '.join(names)}"}
    if len(found) > _LINES_NAMED_MAX:
        text = f"{len(found) - _LINES_NAMED_MAX} more lines hold control or invisible characters"
        yield {"kind": "unseen_characters", "text": text}


def _cut_lines(page: Page) -> Iterator[NoteValue]:
    cut = page.cut_lengths
    for number, length_chars in islice(cut.items(), _LINES_NAMED_MAX):
        shown_chars = len(page.texts[number - page.first_line])
        text = f"line {number} is cut: {shown_chars} of its {length_chars} characters are shown"
        yield {"kind": "line_cut", "text": text}
    if len(cut) > _LINES_NAMED_MAX:
        yield {"kind": "line_cut", "text": f"{len(cut) - _LINES_NAMED_MAX} more lines are cut"}


def _endings(page: Page) -> Iterator[NoteValue]:
    if page.has_cr_only_endings:
        yield {"kind": "cr_only", "text": "the file's only line endings are CR, so it counts as one line"}
    if page.next_line is None and page.total_lines > 0 and not page.has_final_newline:
        yield {"kind": "no_final_newline", "text": "the last line has no newline at its end"}


def _holds_unseen(text: str) -> bool:
    if text.isascii():
        return len(text.encode().translate(None, _UNSEEN_ASCII)) < len(text)
    return not text.isprintable() and _UNSEEN.search(text) is not None


def _unseen_in(text: str) -> list[str]:
    characters = list(dict.fromkeys(_UNSEEN.findall(text)))
    names = [_named(character) for character in characters[:_CHARACTERS_NAMED_MAX]]
    return [*names, "and others"] if len(characters) > _CHARACTERS_NAMED_MAX else names


def _named(character: str) -> str:
    name = _CONTROL_NAMES.get(character) or unicodedata.name(character, "control character")
    return f"U+{ord(character):04X} {name}"
