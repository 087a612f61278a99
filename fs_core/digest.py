"""Content digests: tell honest changes of a file apart.

xxh3-128 runs at memory speed. It does not resist an adversary, and need not: whoever could forge a collision here may
write the file anyway.
"""

import xxhash

from fs_core.types import Digest

__all__ = ["ContentHasher", "content_digest"]


class ContentHasher:
    """Digest of bytes that arrive in pieces."""

    def __init__(self) -> None:
        self._state = xxhash.xxh3_128()

    def update(self, data: bytes | bytearray | memoryview) -> None:
        """Append `data`."""
        self._state.update(data)

    def digest(self) -> Digest:
        """Return the digest of everything appended so far."""
        return Digest(self._state.hexdigest())


def content_digest(data: bytes) -> Digest:
    """Return the digest of a whole file's bytes."""
    return Digest(xxhash.xxh3_128_hexdigest(data))
