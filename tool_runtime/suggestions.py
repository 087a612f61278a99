"""Names that somebody may have meant."""

from collections.abc import Sequence
from typing import Final

__all__ = ["close_names"]

_COMPARED_CHARS_MAX: Final = 200
_LIKENESS_MIN: Final = 60.0
"""Of 100: two names of ten letters may differ in four of them."""


def close_names(name: str, names: Sequence[str], *, count_max: int = 3) -> list[str]:
    """Return the names most like a name, letter case aside, best first; equally good ones in the order given.

    Some milliseconds for 10,000 names. Names that are longer than 200 characters are compared by their beginnings.
    """
    # Only where something went wrong already.
    from rapidfuzz import fuzz, process

    found = process.extract(
        _compared(name), names, scorer=fuzz.ratio, processor=_compared, limit=count_max, score_cutoff=_LIKENESS_MIN
    )
    return [close for close, _likeness, _place in found]


def _compared(name: str) -> str:
    return name[:_COMPARED_CHARS_MAX].casefold()
