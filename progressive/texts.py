"""Texts as they are shown: without what cannot be seen, measured in graphemes, which readers take for characters."""

from itertools import islice
from typing import Final

import regex

__all__ = ["clean", "cut_text", "is_longer", "one_line"]

_GRAPHEME: Final = regex.compile(r"\X")
# The longest emoji in Unicode's own list has ten code points; a letter under a thousand accents is an attack.
_CODE_POINTS_MAX: Final = 16

_BREAK: Final = regex.compile(r"\r\n|[\r\v\f\x1c-\x1e\x85\u2028\u2029]")
# Joiners and selectors belong to emoji and to several scripts; every other of these only changes how text looks.
_UNSEEN: Final = regex.compile(
    r"[[\p{Cc}\p{Cf}\p{Cs}\p{Co}\p{Default_Ignorable_Code_Point}]--[\n\t\u200c\u200d\ufe0e\ufe0f]]", regex.VERSION1
)


def is_longer(text: str, length_max: int) -> bool:
    """Tell whether a text has more than `length_max` graphemes (extended clusters, Unicode annex 29)."""
    if len(text) <= length_max:
        return False
    return next(islice(_GRAPHEME.finditer(text), length_max, None), None) is not None


def clean(text: str) -> str:
    """Return text without control, bidirectional and other invisible characters; every line break becomes LF."""
    return _UNSEEN.sub("", _BREAK.sub("\n", text))


def one_line(text: str, length_max: int) -> str:
    """Return the text on one line, clean, with single spaces, cut as by `cut_text`."""
    start = text[: length_max * _CODE_POINTS_MAX * 2]
    return cut_text(" ".join(clean(start).split()), length_max)


def cut_text(text: str, length_max: int) -> str:
    """Return at most `length_max` graphemes of a text, then `…` if there is more.

    No grapheme is taken apart, unless the text holds more than 16 code points for each one allowed.
    """
    if len(text) <= length_max:  # never more graphemes than code points
        return text
    start = text[: length_max * _CODE_POINTS_MAX]
    ends = [match.end() for match in islice(_GRAPHEME.finditer(start), length_max)]
    kept = start[: ends[-1]]
    return kept if len(kept) == len(text) else f"{kept.rstrip()}…"
