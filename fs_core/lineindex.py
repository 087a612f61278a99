"""Where the lines of one version of a file are: newlines counted per block, not one offset for each line. Pure.

So an index is small (131 KB for 1 GB of ASCII) whatever the lines are, and a line is found by a bisection and a look at
one block.
"""

from array import array
from bisect import bisect_left
from collections import OrderedDict
from dataclasses import dataclass
from typing import Final

from fs_core._bytes_search import BLOCK_BYTES_MAX, NewlineCounter, count_code_points
from fs_core.text import BOM
from fs_core.types import TargetKey, Version

__all__ = ["BLOCK_BYTES", "Indexed", "LineIndex", "LineIndexer", "LineIndexes"]

BLOCK_BYTES: Final = BLOCK_BYTES_MAX
TOTAL_BYTES_MAX: Final = 16 << 20
ENTRY_OVERHEAD_BYTES: Final = 1024
"""What keeping one index takes besides its counts (measured: 770, with a key of 100 characters)."""


@dataclass(frozen=True, slots=True)
class LineIndex:
    """Where the lines of one whole text file are.

    `newlines` holds for each block of `block_bytes` how many LF there are up to its end, `code_points` likewise how
    many code points begin; `None` where all is ASCII. `has_cr_only_endings` tells of a file that holds CR and no LF.
    """

    size_bytes: int
    total_lines: int
    has_final_newline: bool
    has_cr_only_endings: bool
    block_bytes: int
    newlines: "array[int]"
    code_points: "array[int] | None"

    @property
    def held_bytes(self) -> int:
        """Return what keeping the counts takes."""
        arrays = 1 if self.code_points is None else 2
        return arrays * len(self.newlines) * self.newlines.itemsize

    def block_of_newline(self, number: int) -> int:
        """Return the start of the block that holds an LF, counted from 1; of the first for 0; the size if none does."""
        return min(bisect_left(self.newlines, number) * self.block_bytes, self.size_bytes)

    def newlines_before(self, block_start: int) -> int:
        """Return how many LF stand before a block."""
        return self.newlines[block_start // self.block_bytes - 1] if block_start else 0

    def code_points_before(self, position: int) -> int:
        """Return how many code points begin before the start of a block, or in the whole file."""
        if self.code_points is None or position == 0:
            return position
        return self.code_points[-1 if position == self.size_bytes else position // self.block_bytes - 1]


class LineIndexer:
    """Takes a text file in pieces of any size and ends with its `LineIndex`.

    `newlines` and `code_points` count what has been fed. A block has at most `BLOCK_BYTES`.
    """

    def __init__(self, *, block_bytes: int = BLOCK_BYTES) -> None:
        self.newlines = 0
        self.code_points = 0
        self._block_bytes = block_bytes
        self._counter = NewlineCounter()
        self._newlines = array("Q")
        self._code_points: array[int] | None = None
        self._size_bytes = 0
        self._has_cr = False
        self._mark = b""  # the file's first bytes, as many as a byte order mark has
        self._last_byte = 0

    def feed(self, data: bytes | bytearray, *, is_ascii: bool = False) -> None:
        """Take the next piece; `is_ascii` says that this is known of it, which saves a look."""
        if len(self._mark) < len(BOM):
            self._mark += data[: len(BOM) - len(self._mark)]
        position = 0
        while position < len(data):
            room = self._block_bytes - self._size_bytes % self._block_bytes
            part = data if not position and len(data) <= room else data[position : position + room]
            self._take(part, is_ascii=is_ascii)
            position += len(part)

    def finish(self) -> LineIndex:
        """Return the index after the last piece."""
        if self._size_bytes % self._block_bytes:
            self._close_block()
        has_body = self._size_bytes > (len(BOM) if self._mark == BOM else 0)
        has_final_newline = self._last_byte == ord("\n")
        return LineIndex(
            size_bytes=self._size_bytes,
            total_lines=self.newlines + (has_body and not has_final_newline),
            has_final_newline=has_final_newline,
            has_cr_only_endings=self._has_cr and not self.newlines,
            block_bytes=self._block_bytes,
            newlines=self._newlines,
            code_points=self._code_points,
        )

    def _take(self, part: bytes | bytearray, *, is_ascii: bool) -> None:
        """Take what lies in one block."""
        points = len(part) if is_ascii else count_code_points(part)
        if points < len(part) and self._code_points is None:
            blocks = len(self._newlines)
            self._code_points = array(
                "Q", range(self._block_bytes, (blocks + 1) * self._block_bytes, self._block_bytes)
            )
        self.code_points += points
        self.newlines += self._counter.count(part)
        if not self.newlines and not self._has_cr:
            self._has_cr = b"\r" in part
        self._last_byte = part[-1]
        self._size_bytes += len(part)
        if self._size_bytes % self._block_bytes == 0:
            self._close_block()

    def _close_block(self) -> None:
        self._newlines.append(self.newlines)
        if self._code_points is not None:
            self._code_points.append(self.code_points)


@dataclass(frozen=True, slots=True)
class Indexed:
    """The index of one version."""

    version: Version
    lines: LineIndex


class LineIndexes:
    """Indexes by target, the most recently used up to `TOTAL_BYTES_MAX`, the cost of keeping each included."""

    def __init__(self) -> None:
        self._indexes: OrderedDict[TargetKey, Indexed] = OrderedDict()
        self._held_bytes = 0

    def get(self, key: TargetKey) -> Indexed | None:
        """Return what is kept for a file; its version tells whether it is still of use."""
        if key not in self._indexes:
            return None
        self._indexes.move_to_end(key)
        return self._indexes[key]

    def put(self, key: TargetKey, version: Version, lines: LineIndex) -> None:
        """Keep the index in place of what was kept for the file, if it is worth it and safe.

        Of a file of one block it is not: a scan of that costs as much as a read. Nor of a version that is not
        settled, whose token may soon be that of another content.
        """
        self._forget(key)
        if not version.settled or len(lines.newlines) <= 1 or _entry_bytes(lines) > TOTAL_BYTES_MAX:
            return
        self._indexes[key] = Indexed(version=version, lines=lines)
        self._held_bytes += _entry_bytes(lines)
        while self._held_bytes > TOTAL_BYTES_MAX:
            self._forget(next(iter(self._indexes)))

    def drop(self, key: TargetKey, version: Version) -> None:
        """Keep the index of this version no longer; one of another version stays."""
        kept = self._indexes.get(key)
        if kept is not None and kept.version == version:
            self._forget(key)

    def _forget(self, key: TargetKey) -> None:
        dropped = self._indexes.pop(key, None)
        if dropped is not None:
            self._held_bytes -= _entry_bytes(dropped.lines)


def _entry_bytes(lines: LineIndex) -> int:
    return lines.held_bytes + ENTRY_OVERHEAD_BYTES
