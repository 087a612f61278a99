"""Names that somebody may have meant. Pure."""

from collections.abc import Iterable
from difflib import get_close_matches
from typing import Final

__all__ = ["near_names"]

NEAR_NAMES_MAX: Final = 3
_COMPARED_CHARS_MAX: Final = 64


def near_names(name: str, candidates: Iterable[str]) -> tuple[str, ...]:
    """Return up to `NEAR_NAMES_MAX` of `candidates` that are like `name`, letter case aside, the nearest first.

    Only the beginnings of long names are compared, since the time grows with the square of the length.
    """
    by_folded: dict[str, list[str]] = {}
    for candidate in candidates:
        by_folded.setdefault(_compared(candidate), []).append(candidate)
    close = get_close_matches(_compared(name), by_folded, n=NEAR_NAMES_MAX, cutoff=0.6)
    return tuple(original for folded in close for original in sorted(by_folded[folded]))[:NEAR_NAMES_MAX]


def _compared(name: str) -> str:
    return name.casefold()[:_COMPARED_CHARS_MAX]
