"""Characters that are easily taken for one another, and how to name them on one line. Pure."""

import re
import unicodedata
from itertools import groupby
from typing import Final

__all__ = ["ESCAPES", "INVISIBLE", "SPACES", "is_invisible", "is_space", "named", "named_all", "plain_mark", "quoted"]

_QUOTED_CHARS_MAX: Final = 80
_NAMED_MAX: Final = 3

SPACES: Final = re.compile(r"\s*")
"""A run of white space, no-break and wide spaces included."""

INVISIBLE: Final = re.compile(
    "[\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b-\u200f\u202a-\u202e\u2060-\u206f\u3164"
    "\ufe00-\ufe0f\ufeff\uffa0\ufff9-\ufffb\U000e0000-\U000e0fff]"
)
"""Characters without a glyph of their own that are no white space (the default ignorable ones of Unicode)."""

# What would break the line or turn the direction of what follows is shown by its code point, lone surrogates too.
_UNSAFE: Final = re.compile("[\x00-\x1f\x7f-\x9f\u2028\u2029\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069\ud800-\udfff]")

_MARKS: Final = {
    mark: plain
    for plain, marks in {
        "'": "'`\u00b4\u02b9\u02bb\u02bc\u2018\u2019\u201a\u201b\u2032\uff07",
        '"': '"\u00ab\u00bb\u201c\u201d\u201e\u201f\u2033\u300c\u300d\u300e\u300f\uff02',
        "-": "-\u00af\u2010\u2011\u2012\u2013\u2014\u2015\u2212\u30fc\ufe58\ufe63\uff0d",
    }.items()
    for mark in marks
}

ESCAPES: Final[tuple[tuple[str, str], ...]] = (
    ("\n", "\\r\\n"),
    ("\n", "\\n"),
    ("\t", "\\t"),
    ("\\", "\\\\"),
    *((mark, f"\\{mark}") for mark in "\"'/`$"),
    ("<", "&lt;"),
    (">", "&gt;"),
    ("&", "&amp;"),
    ('"', "&quot;"),
    ('"', "&#34;"),
    ("'", "&#39;"),
    ("'", "&#x27;"),
    ("'", "&apos;"),
    ("\u00a0", "&nbsp;"),
)
"""A character, and a way of writing it that is not itself."""

_CONTROLS: Final = {"\n": "a line break", "\r": "a carriage return"}
_UNITS: Final = {" ": ("space", "spaces"), "\t": ("tab", "tabs"), "\n": ("line break", "line breaks")}


def is_space(text: str) -> bool:
    """Whether `text` is white space and nothing else; the empty text is not."""
    return text.isspace()


def is_invisible(character: str) -> bool:
    """Whether `character` shows nothing and takes no room."""
    return INVISIBLE.match(character) is not None


def plain_mark(character: str) -> str | None:
    """Return the ASCII quote or hyphen that stands for a quote or dash, `None` for any other character."""
    return _MARKS.get(character)


def named(character: str) -> str:
    """Return code point and glyph, or code point and name of what has no glyph."""
    code = f"U+{ord(character):04X}"
    if character in _CONTROLS:
        return f"{code} ({_CONTROLS[character]})"
    if _UNSAFE.match(character) or is_invisible(character) or is_space(character) or unicodedata.combining(character):
        return f"{code} {unicodedata.name(character, '')}".rstrip()
    return f'{code} "{character}"'


def named_all(text: str) -> str:
    """Return the first few characters of `text` by `named`; equal ones in a row are counted."""
    runs = [(character, len([*run])) for character, run in groupby(text)]
    parts = [_counted(character, count) for character, count in runs[:_NAMED_MAX]]
    return ", ".join(parts) + (" and more" if len(runs) > _NAMED_MAX else "")


def _counted(character: str, count: int) -> str:
    if character in _UNITS:
        return f"{count} {_UNITS[character][count > 1]}"
    return named(character) if count == 1 else f"{count} times {named(character)}"


def quoted(text: str) -> str:
    r"""Return `text` in quotes, as it is but for a cut and for what would not stay on one line.

    A line break becomes `\n`, a control character its code point in angle brackets; `...` after the closing quote
    tells of the cut.
    """
    shown = _UNSAFE.sub(_escaped, text[:_QUOTED_CHARS_MAX])
    return f'"{shown}"' + ("..." if len(text) > _QUOTED_CHARS_MAX else "")


def _escaped(match: re.Match[str]) -> str:
    character = match[0]
    if character in "\n\t":
        return "\\n" if character == "\n" else "\t"
    return f"<U+{ord(character):04X}>"
