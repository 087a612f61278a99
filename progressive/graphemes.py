"""Lengths and cuts in graphemes: what a reader takes for one character."""

from itertools import islice
from typing import Final

import regex

__all__ = ["cut_text", "is_longer", "one_line"]

_GRAPHEME: Final = regex.compile(r"\X")
# The longest emoji in Unicode's own list has ten code points; a letter under a thousand accents is an attack.
_CODE_POINTS_MAX: Final = 16


def is_longer(text: str, length_max: int) -> bool:
    """Tell whether a text has more than `length_max` graphemes (extended clusters, Unicode annex 29)."""
    if len(text) <= length_max:
        return False
    return next(islice(_GRAPHEME.finditer(text), length_max, None), None) is not None


def one_line(text: str) -> str:
    """Return the text with every run of white space as one space."""
    return " ".join(text.split())


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
