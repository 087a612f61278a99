"""What a write uploads: new content that is never held a second time. Pure."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial

from fs_core.digest import content_digest
from fs_core.splice import Splice
from fs_core.types import Digest

__all__ = ["Content"]


@dataclass(frozen=True, slots=True)
class Content:
    """New content: `pieces` yields its parts in order, again at every call, none of them empty."""

    size_bytes: int
    pieces: Callable[[], Iterator[memoryview]]
    digest: Callable[[], Digest]

    @classmethod
    def of_bytes(cls, data: bytes) -> "Content":
        """Return the content `data`."""
        return cls(len(data), lambda: iter((memoryview(data),) if data else ()), partial(content_digest, data))

    @classmethod
    def of_splice(cls, splice: Splice) -> "Content":
        """Return the content that `splice` makes."""
        return cls(splice.size_bytes, splice.pieces, splice.digest)

    def chunks(self, size_bytes: int) -> Iterator[bytes | memoryview]:
        """Yield the content in chunks of `size_bytes`, the last one shorter; only where pieces meet one is joined."""
        begun: list[memoryview] = []
        missing = size_bytes
        for piece in self.pieces():
            at = 0
            while at < len(piece):
                part = piece[at : at + missing]
                at += len(part)
                missing -= len(part)
                begun.append(part)
                if not missing:
                    yield begun[0] if len(begun) == 1 else b"".join(begun)
                    begun, missing = [], size_bytes
        if begun:
            yield b"".join(begun)
