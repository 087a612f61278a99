"""One level of a listed tree: what is kept of each directory, and what is shown when there is no room for all. Pure."""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import chain

from fs_core.search._sieve import Directory, with_slash
from fs_core.search.outcomes import Bound, TreeEntry
from fs_core.types import FileKind, Level

__all__ = ["Kept", "Room", "cut_level", "let_go", "order_of", "shares"]


@dataclass(slots=True)
class Kept:
    """What is known of one directory: how many entries it has, and the first of them in order."""

    directory: Directory
    count: int = 0
    entries: Sequence[TreeEntry] = ()

    def fill(self, level: Level, *, entries_max: int) -> None:
        """Take the listing."""
        self.count = len(level.files) + len(level.directories) + len(level.others)
        self.entries = _first_entries(self.directory.prefix, level, entries_max)

    def cut(self, share: int) -> "Kept":
        """Return this with so many entries."""
        return Kept(self.directory, self.count, self.entries[:share])


@dataclass(frozen=True, slots=True)
class Room:
    """How much more can be shown."""

    entries: int
    size_bytes: int

    def less(self, entries: Sequence[TreeEntry]) -> "Room":
        """Return what is left with `entries`."""
        return Room(self.entries - len(entries), self.size_bytes - sum(map(_size_bytes, entries)))


def cut_level(level: Sequence[Kept], room: Room) -> tuple[Sequence[Kept], Bound | None]:
    """Return a level as it is shown, and what bound has cut it."""
    cut = _cut(level, room.entries)
    size_bytes = [sum(map(_size_bytes, kept.entries)) for kept in cut]
    if sum(size_bytes) <= room.size_bytes:
        is_cut = any(len(kept.entries) < kept.count for kept in cut)
        return cut, Bound.ENTRIES if is_cut else None
    low, high = 0, sum(len(kept.entries) for kept in cut)
    while high - low > 1:
        middle = (low + high) // 2
        fits = sum(_size_bytes(entry) for kept in _cut(level, middle) for entry in kept.entries) <= room.size_bytes
        low, high = (middle, high) if fits else (low, middle)
    return _cut(level, low), Bound.BYTES


def let_go(level: Sequence[Kept], room: Room) -> None:
    """Keep no more than can be shown at best: the share of each directory only shrinks as more are listed."""
    if sum(len(kept.entries) for kept in level) > 2 * room.entries + len(level):
        for kept, share in zip(level, shares([kept.count for kept in level], room.entries), strict=True):
            kept.entries = kept.entries[: share + 1]


def shares(counts: Sequence[int], room: int) -> Sequence[int]:
    """Return how much of each of `counts` has room, as evenly as can be, the first ones before the last."""
    if sum(counts) <= room:
        return counts
    even, left = _even_share(counts, room)
    shared: list[int] = []
    for count in counts:
        extra = count > even and left > 0
        left -= extra
        shared.append(min(count, even + extra))
    return shared


def order_of(entry: TreeEntry) -> str:
    """Return what an entry is ordered by."""
    return with_slash(entry.path) if entry.kind is FileKind.DIRECTORY and entry.addressable else entry.path


def _cut(level: Sequence[Kept], room: int) -> Sequence[Kept]:
    counts = [kept.count for kept in level]
    return [kept.cut(share) for kept, share in zip(level, shares(counts, room), strict=True)]


def _even_share(counts: Sequence[int], room: int) -> tuple[int, int]:
    """Return the largest share that all can have who want so much, and what is left over then."""
    waiting = sorted(counts)
    for index, count in enumerate(waiting):
        others = len(waiting) - index
        if count * others > room:
            return room // others, room % others
        room -= count
    return 0, room


def _first_entries(prefix: str, level: Level, entries_max: int) -> Sequence[TreeEntry]:
    """Return the first entries of a directory in order."""
    sizes = level.sizes
    names = sorted(
        chain(
            ((name, 0, index) for index, name in enumerate(level.files)),
            ((with_slash(name), 1, index) for index, name in enumerate(level.directories)),
            ((entry.name, 2, index) for index, entry in enumerate(level.others)),
        )
    )
    entries: list[TreeEntry] = []
    for _, source, index in names[:entries_max]:
        if source == 0:
            size_bytes = None if sizes is None else sizes[index]
            entries.append(TreeEntry(prefix + level.files[index], FileKind.FILE, size_bytes))
        elif source == 1:
            entries.append(TreeEntry(prefix + level.directories[index], FileKind.DIRECTORY))
        else:
            other = level.others[index]
            path = prefix + other.name
            entries.append(TreeEntry(path, other.kind, other.size_bytes, other.is_link, other.addressable))
    return entries


def _size_bytes(entry: TreeEntry) -> int:
    return len(entry.path.encode(errors="surrogateescape")) + 1
