"""What a search came to. Pure values.

All paths are relative to the root, as `read` takes them, and in one order on every store: compared as the byte strings
of whole paths, with `/` behind the name of a directory.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum

from fs_core.types import FileKind, Target

__all__ = ["Bound", "FileMatches", "Globbed", "Grepped", "MatchLine", "SkipReason", "TreeEntry", "TreeListed"]


class Bound(StrEnum):
    """Which bound ended a search before it had shown everything."""

    ENTRIES = "entries"
    MATCHES = "matches"
    BYTES = "bytes"
    SECONDS = "seconds"


class SkipReason(StrEnum):
    """Why something was not looked at, in a closed list.

    IGNORED: a `.gitignore` names it, or it belongs to version control; a directory counts once. LINK: a symbolic
    link, which is not followed. SPECIAL: a FIFO, socket or device. DENIED: it may not be read. UNNAMEABLE: no path can
    name it. BINARY: it holds NUL. UNDECODABLE: it is not UTF-8. TOO_LARGE: more bytes than are searched, or more names
    in one directory than are looked at. VANISHED: it was removed or changed while it was looked at. FAILED: the store
    failed on it in another way.
    """

    IGNORED = "ignored"
    LINK = "link"
    SPECIAL = "special"
    DENIED = "denied"
    UNNAMEABLE = "unnameable"
    BINARY = "binary"
    UNDECODABLE = "undecodable"
    TOO_LARGE = "too_large"
    VANISHED = "vanished"
    FAILED = "failed"


def _none() -> dict[SkipReason, int]:
    return {}


@dataclass(frozen=True, slots=True)
class TreeEntry:
    """One entry of a listed tree. `addressable` is false for what no path can name; `path` then shows its key.

    `omitted` is how many of a directory's own entries are not shown, if it was listed for this result.
    """

    path: str
    kind: FileKind
    size_bytes: int | None = None
    is_link: bool = False
    addressable: bool = True
    omitted: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class TreeListed:
    """Entries below a directory. `total` counts those that were not shown too; it is a lower bound unless `is_exact`.

    `bound` is what cut the entries, or the looking.
    """

    start: Target
    entries: tuple[TreeEntry, ...]
    total: int
    is_exact: bool = True
    bound: Bound | None = None
    skipped: Mapping[SkipReason, int] = field(default_factory=_none)


@dataclass(frozen=True, slots=True, kw_only=True)
class Globbed:
    """Paths that match a pattern; the rest as in `TreeListed`. A path of a directory ends with `/`."""

    start: Target
    paths: tuple[str, ...]
    total: int
    is_exact: bool = True
    bound: Bound | None = None
    skipped: Mapping[SkipReason, int] = field(default_factory=_none)


@dataclass(frozen=True, slots=True)
class MatchLine:
    """A line, numbered as `read` numbers it. `length_chars` is how long it really is, if it was cut for showing.

    A long matching line is cut around its first match; then `from_char` is where what is shown begins.
    """

    number: int
    text: str
    is_match: bool = True
    length_chars: int | None = None
    from_char: int = 0


@dataclass(frozen=True, slots=True)
class FileMatches:
    """Matching lines of one file with the lines around them, in order, each line once."""

    path: str
    lines: tuple[MatchLine, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Grepped:
    """Lines that match a pattern.

    Attributes:
        files: Files with matches that are shown.
        matches: Matching lines that are shown.
        files_searched: Files whose whole content was looked at.
        files_left: Files that were found and not searched, when the search ended early; a lower bound unless
            `is_exact`.
        is_exact: Whether all names were looked at.
        bound: What ended the search early.
    """

    start: Target
    files: tuple[FileMatches, ...]
    matches: int
    files_searched: int
    files_left: int = 0
    is_exact: bool = True
    bound: Bound | None = None
    skipped: Mapping[SkipReason, int] = field(default_factory=_none)
