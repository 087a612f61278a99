"""How much one search may cost and show. No I/O."""

from collections.abc import Callable
from dataclasses import dataclass

__all__ = ["Looked", "SearchBounds", "Watch"]


@dataclass(frozen=True, slots=True, kw_only=True)
class SearchBounds:
    """Bounds of one search; whatever they cut is told in its result.

    Attributes:
        entries_max: Entries or paths in a result.
        matches_max: Matching lines in a result of grep.
        result_bytes_max: Bytes of text of a result: paths, and lines as they are shown.
        line_chars_max: Characters shown of one line.
        directory_entries_max: Names of one directory that are looked at.
        file_bytes_max: Larger files are not searched.
        timeout_s: After this time a search ends with what it has found.
        gitignore: Whether `.gitignore` files are honoured and directories of version control are passed over.
    """

    entries_max: int = 1_000
    matches_max: int = 200
    result_bytes_max: int = 51_200
    line_chars_max: int = 500
    directory_entries_max: int = 200_000
    file_bytes_max: int = 256 << 20
    timeout_s: float = 30.0
    gitignore: bool = True


@dataclass(frozen=True, slots=True)
class Looked:
    """How far a search has come."""

    directories: int
    files: int
    found: int


Watch = Callable[[Looked], None]
"""Is told now and then, on the event loop, how far a search has come."""
