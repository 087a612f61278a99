"""Names that somebody may have meant."""

import difflib
from collections.abc import Sequence
from itertools import islice
from typing import Final

__all__ = ["close_names"]

# Comparing costs some 10 us a name: among more names only those that begin alike are compared.
_COMPARED_MAX: Final = 500
_ALIKE_CHARS: Final = 3


def close_names(name: str, names: Sequence[str], *, count_max: int = 3) -> list[str]:
    """Return the names most like a name, best first; bounded in time for any number of names."""
    if len(names) > _COMPARED_MAX:
        start = name[:_ALIKE_CHARS].casefold()
        names = list(islice((other for other in names if other.casefold().startswith(start)), _COMPARED_MAX))
    return difflib.get_close_matches(name, names, n=count_max)
