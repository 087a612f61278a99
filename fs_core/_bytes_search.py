"""Searching raw bytes at about the speed of memory: the one place that calls `stringzilla`. Pure.

Measured on x86-64 against `bytes`: an absent needle is found to be absent 2 to 10 times as fast, newlines are counted
2 to 6 times as fast.
"""

from typing import Final, Protocol, TypeAlias, cast

import stringzilla

__all__ = ["count_newlines", "find"]

_Buffer: TypeAlias = bytes | bytearray | memoryview

_NEEDLE_BYTES_MAX: Final = 1024
"""For a longer needle `bytes.find` searches: `stringzilla` compares up to the whole needle at every position of a
periodic text, `bytes.find` takes linear time."""

_SMALL_BYTES: Final = 4096
"""Up to this size `bytes.count` is as fast."""

_BLOCK: Final = 1 << 16
_IS_NEWLINE: Final = bytes(byte == ord("\n") for byte in range(256))


class _StringZilla(Protocol):
    """What is used of the library, which has no stubs. Every text is a bytes-like object."""

    def find(self, text: _Buffer, substring: bytes, start: int, /) -> int: ...

    def translate(self, text: _Buffer, table: bytes, /, *, out: memoryview) -> object: ...

    def bytesum(self, text: _Buffer, /) -> int: ...


_library: Final = cast("_StringZilla", stringzilla)


def count_newlines(data: _Buffer) -> int:
    """Return how many LF bytes there are."""
    if len(data) <= _SMALL_BYTES:
        return bytes(data).count(b"\n")
    # To a byte of 1 for each newline and 0 for the rest, added up, one block after the other in the same memory.
    view = memoryview(data)
    scratch = memoryview(bytearray(min(_BLOCK, len(data))))
    count = 0
    for start in range(0, len(view), _BLOCK):
        block = view[start : start + _BLOCK]
        marks = scratch[: len(block)]
        _library.translate(block, _IS_NEWLINE, out=marks)
        count += _library.bytesum(marks)
    return count


def find(data: bytes, needle: bytes, start: int = 0) -> int:
    """Return the first position from `start`, which is not negative, on at which `needle` stands; -1 if there is none.

    Takes linear time whatever the needle, but for a factor that is bounded.
    """
    if 1 < len(needle) <= _NEEDLE_BYTES_MAX:
        return _library.find(data, needle, start)
    return data.find(needle, start)
