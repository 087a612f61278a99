"""Contents that somebody has seen, kept for a while, so that a refusal can tell what has changed since. Pure."""

from collections import OrderedDict
from typing import Final

from fs_core.types import Digest, TargetKey

__all__ = ["ENTRY_BYTES_MAX", "ENTRY_OVERHEAD_BYTES", "ContentCollector", "LastSeen", "SeenContents"]

ENTRY_BYTES_MAX: Final = 1 << 20
TOTAL_BYTES_MAX: Final = 32 << 20
ENTRY_OVERHEAD_BYTES: Final = 256
"""What keeping one content takes besides its bytes (measured: 225): of tiny ones it is nearly all that is held."""

TARGETS_MAX: Final = 10_000


class SeenContents:
    """Contents by digest, the most recently used up to `TOTAL_BYTES_MAX`; what is larger than `ENTRY_BYTES_MAX` is not.

    The bound is of what is held, the cost of keeping each content included.

    A digest names one content, so nothing here is ever stale, and owners who saw the same content share it.
    """

    def __init__(self) -> None:
        self._contents: OrderedDict[Digest, bytes] = OrderedDict()
        self._size_bytes = 0

    def put(self, digest: Digest | None, data: bytes) -> None:
        """Keep `data`, if it has a digest to be found by and is small enough."""
        if digest is None or len(data) > ENTRY_BYTES_MAX:
            return
        if digest not in self._contents:
            self._contents[digest] = data
            self._size_bytes += _held_bytes(data)
        self._contents.move_to_end(digest)
        while self._size_bytes > TOTAL_BYTES_MAX:
            _, dropped = self._contents.popitem(last=False)
            self._size_bytes -= _held_bytes(dropped)

    def get(self, digest: Digest | None) -> bytes | None:
        """Return the content with this digest, if it is still kept."""
        if digest is None or digest not in self._contents:
            return None
        self._contents.move_to_end(digest)
        return self._contents[digest]


def _held_bytes(data: bytes) -> int:
    return len(data) + ENTRY_OVERHEAD_BYTES


class LastSeen:
    """Which content each file was last seen to have, by anybody here; the `TARGETS_MAX` seen last are kept.

    A hint and no answer: it spares a request that the store would refuse, and proves nothing.
    """

    def __init__(self) -> None:
        self._digests: OrderedDict[TargetKey, Digest | None] = OrderedDict()

    def put(self, key: TargetKey, digest: Digest | None) -> None:
        """Note what a file was just seen to have."""
        self._digests[key] = digest
        self._digests.move_to_end(key)
        if len(self._digests) > TARGETS_MAX:
            self._digests.popitem(last=False)

    def is_another(self, key: TargetKey, digest: Digest | None) -> bool:
        """Tell whether a file was last seen to have another content than this."""
        return key in self._digests and self._digests[key] != digest


class ContentCollector:
    """Collects a file that arrives in pieces, and gives up on one that is larger than `ENTRY_BYTES_MAX`."""

    def __init__(self) -> None:
        self._pieces: list[bytes] = []
        self._size_bytes = 0

    def add(self, data: bytes | bytearray) -> None:
        """Take the next piece."""
        self._size_bytes += len(data)
        if self._size_bytes <= ENTRY_BYTES_MAX:
            self._pieces.append(bytes(data))
        else:
            self._pieces.clear()

    @property
    def data(self) -> bytes | None:
        """Return the whole file, or `None` if it is too large to keep."""
        return b"".join(self._pieces) if self._size_bytes <= ENTRY_BYTES_MAX else None
