"""A new content that shares most of its bytes with an old one. Pure."""

from collections.abc import Iterator
from dataclasses import dataclass

from fs_core.digest import ContentHasher
from fs_core.types import Digest

__all__ = ["Replacement", "Splice"]


@dataclass(frozen=True, slots=True)
class Replacement:
    """`data` in place of the old bytes from `start` to `end`."""

    start: int
    end: int
    data: bytes


@dataclass(frozen=True, slots=True)
class Splice:
    """The old content `before` with `replacements`, which stand in order and do not overlap.

    It is never held as a whole: `pieces` are views of the old bytes and the new ones between them.

    Raises:
        ValueError: On construction: the replacements overlap, or leave the old content.
    """

    before: bytes
    replacements: tuple[Replacement, ...]

    def __post_init__(self) -> None:
        position = 0
        for one in self.replacements:
            if not position <= one.start <= one.end <= len(self.before):
                raise ValueError("replacements must stand in order, apart from each other and within the content")
            position = one.end

    @property
    def size_bytes(self) -> int:
        """Return the length of the new content."""
        return len(self.before) + sum(len(one.data) - (one.end - one.start) for one in self.replacements)

    def kept(self) -> Iterator[tuple[int, int]]:
        """Yield start and end of every stretch of old bytes, the empty ones included: before, between and after."""
        position = 0
        for one in self.replacements:
            yield position, one.start
            position = one.end
        yield position, len(self.before)

    def pieces(self) -> Iterator[memoryview]:
        """Yield the new content in order; no piece is empty."""
        return self._pieces_between(0, len(self.before))

    def joined(self) -> bytes:
        """Return the new content as one copy."""
        return b"".join(self.pieces())

    def part(self, first: int, last: int) -> bytes:
        """Return what is in place of the old bytes from `first` to `last`, between which all replacements stand."""
        return b"".join(self._pieces_between(first, last))

    def _pieces_between(self, first: int, last: int) -> Iterator[memoryview]:
        view = memoryview(self.before)
        new = (memoryview(one.data) for one in self.replacements)
        for start, end in self.kept():
            old = view[max(start, first) : min(end, last)]
            if old:
                yield old
            inserted = next(new, None)
            if inserted:
                yield inserted

    def digest(self) -> Digest:
        """Return the digest of the new content."""
        hasher = ContentHasher()
        for piece in self.pieces():
            hasher.update(piece)
        return hasher.digest()
