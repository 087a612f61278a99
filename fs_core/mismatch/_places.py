"""Places in a large file where a text may have been meant, found without decoding or splitting the file. Pure.

All searching is for exact bytes: in the file itself, or in its skeleton, which is its ASCII letters and digits alone,
in lower case. A fixed amount of work is shared by all searches of one file, so that they end soon whatever is sought.
"""

from bisect import bisect_right
from functools import cached_property
from itertools import accumulate
from typing import Final

from fs_core._bytes_search import count_newlines, find
from fs_core.mismatch._alignment import Passage
from fs_core.text import BOM, fold_newlines

__all__ = ["FileBytes", "skeleton"]

KEY_BYTES_MAX: Final = 4096
"""Of a longer text only the start is searched for."""

WORK_MAX: Final = 450_000_000
"""What all searches of one file may cost together, in tenths of a nanosecond on a usual machine."""

_WORD_BYTES: Final = b"0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ_abcdefghijklmnopqrstuvwxyz"
_LOWER: Final = bytes(range(256)).lower()
_NO_WORD: Final = bytes(sorted(set(range(256)) - set(_WORD_BYTES)))
_CONTINUATION: Final = bytes(range(0x80, 0xC0))
_PIECE: Final = 4096
_BLOCK: Final = 1 << 16
_FOLLOWED_CHARS_MIN: Final = 64
_SAMPLES: Final = 32
_SAMPLE_BYTES: Final = 64
# Tenths of a nanosecond for each byte; the cost of a search depends on its key.
_COSTLY, _SHORT_KEY, _LONG_KEY, _FOLDING, _COMPARING = 40, 6, 4, 20, 15
_LONG_KEY_BYTES: Final = 8
_SHORT_JUMP, _LONG_JUMP, _JUMP_MAX = 3, 12, 64


def skeleton(text: str) -> bytes:
    """Return the bytes to look for with `FileBytes.skeleton_hits`, empty if the text has no ASCII letter or digit."""
    return text.encode("utf-8", "surrogatepass").translate(_LOWER, _NO_WORD)


class FileBytes:
    """The bytes of one file, to be searched and shown in parts. Positions are raw ones."""

    def __init__(self, data: bytes) -> None:
        self._data = data
        self._work_left = WORK_MAX
        self.was_bounded = False
        """Whether a search was left out since the work was used up."""
        self._followed: dict[tuple[int, str, int], tuple[int, int]] = {}
        self.body_start = len(BOM) if data.startswith(BOM) else 0

    @property
    def is_empty(self) -> bool:
        """Whether there is no text, a byte order mark aside."""
        return self.body_start == len(self._data)

    def hits(self, text: str, *, limit: int) -> list[int]:
        """Return where `text` occurs, the first places only; its line breaks are LF, or else CRLF."""
        key = text.encode("utf-8", "surrogatepass")
        found = self._raw_hits(key, limit)
        if not found and b"\n" in key and self._has_crlf:
            found = self._raw_hits(key.replace(b"\n", b"\r\n"), limit)
        return found

    def _raw_hits(self, key: bytes, limit: int) -> list[int]:
        starts = self._find(self._data, key[:KEY_BYTES_MAX], self._sample, limit)
        return [start for start in starts if start >= self.body_start and self._data.startswith(key, start)]

    def skeleton_hits(self, key: bytes, *, limit: int) -> list[int]:
        """Return where the letters and digits of `key` follow one another, whatever else stands between them."""
        if not key or not self._has_skeleton:
            self.was_bounded = self.was_bounded or bool(key)
            return []
        bones, _ = self._skeleton
        found = self._find(bones, key[:KEY_BYTES_MAX], self._skeleton_sample, limit)
        return [self._raw(position) for position in found]

    def passage(self, start: int, *, bytes_max: int) -> Passage:
        """Return the text from `start`, which is the border of a character, cut at `bytes_max`."""
        part = self._data[start : start + bytes_max]
        is_last = start + len(part) == len(self._data)
        if not is_last:
            part = part.removesuffix(b"\r")  # it may be half a line break, as the last bytes may be half a character
        return Passage(
            text=fold_newlines(part.decode("utf-8", "ignore")),
            starts_line=start == self.body_start or self._data[start - 1 : start] == b"\n",
            is_last=is_last,
        )

    def before(self, end: int, *, bytes_max: int) -> str:
        """Return the text that ends at `end`, with raw line breaks, cut at the front."""
        return self._data[max(self.body_start, end - bytes_max) : end].decode("utf-8", "ignore")

    def line_start(self, position: int, *, lines_back: int = 0) -> int | None:
        """Return where the line of `position` starts, or one before it; `None` if that is not near by."""
        start = max(self.body_start, position - _BLOCK)
        parts = self._data[start:position].split(b"\n")
        if len(parts) > lines_back + 1:
            return position - len(b"\n".join(parts[len(parts) - lines_back - 1 :]))
        return start if start == self.body_start and len(parts) == lines_back + 1 else None

    def line_number(self, position: int) -> int:
        """Return the number of the line that `position` is in."""
        return count_newlines(memoryview(self._data)[:position]) + 1

    def column(self, position: int) -> int:
        """Return how many code points of its line come before `position`, and one."""
        start = position
        while start > self.body_start:
            block = self._data[max(self.body_start, start - _BLOCK) : start]
            if b"\n" in block:
                start -= len(block.split(b"\n")[-1])
                break
            start -= len(block)
        return len(self._data[start:position].translate(None, _CONTINUATION)) + 1

    def follow(self, start: int, text: str, text_at: int) -> tuple[int, int]:
        """Return how far `text` from `text_at` on stands at `start`, to a line or so: in the file and in the text.

        The line breaks are LF, or CRLF.
        """
        asked = (start, text, text_at)
        if asked in self._followed:
            return self._followed[asked]
        size = _BLOCK
        while text_at < len(text) and size >= _FOLLOWED_CHARS_MIN and self._work_left > 0:
            part = text[text_at : text_at + size]
            part = part[: part.rfind("\n") + 1] or part
            end = self._end_of(part, start)
            if end is None:
                size //= 2
            else:
                start, text_at = end, text_at + len(part)
        self._followed[asked] = start, text_at
        return start, text_at

    def _end_of(self, part: str, start: int) -> int | None:
        for ending in ("\n", "\r\n"):
            key = part.replace("\n", ending).encode("utf-8", "surrogatepass")
            self._work_left -= len(key) * _COMPARING
            if self._data.startswith(key, start):
                return start + len(key)
        return None

    @cached_property
    def _has_crlf(self) -> bool:
        return find(self._data, b"\r\n") >= 0

    @cached_property
    def _has_skeleton(self) -> bool:
        return len(self._data) * _FOLDING <= self._work_left

    @cached_property
    def _skeleton(self) -> tuple[bytes, list[int]]:
        """Return the skeleton, and how much of it there is before the end of each piece of the file."""
        self._work_left -= len(self._data) * _FOLDING
        pieces = [
            self._data[start : start + _PIECE].translate(_LOWER, _NO_WORD)
            for start in range(0, len(self._data), _PIECE)
        ]
        return b"".join(pieces), [*accumulate(map(len, pieces))]

    def _raw(self, position: int) -> int:
        """Return where the letter or digit at `position` of the skeleton stands in the file."""
        _, ends = self._skeleton
        index = bisect_right(ends, position)
        wanted = position - (ends[index - 1] if index else 0)
        start = index * _PIECE
        piece = self._data[start : start + _PIECE]
        low, high = 0, len(piece) - 1
        while low < high:  # the least index whose prefix, it included, has more letters and digits than wanted
            middle = (low + high) // 2
            if len(piece[: middle + 1].translate(None, _NO_WORD)) > wanted:
                high = middle
            else:
                low = middle + 1
        return start + low

    @cached_property
    def _sample(self) -> bytes:
        return _sample(self._data)

    @cached_property
    def _skeleton_sample(self) -> bytes:
        return _sample(self._skeleton[0])

    def _find(self, space: bytes, key: bytes, sample: bytes, limit: int) -> list[int]:
        weight = _weight(key, sample)
        if len(space) * weight > self._work_left:
            self.was_bounded = True
            return []
        found: list[int] = []
        position = find(space, key)
        while position >= 0:
            found.append(position)
            if len(found) == limit:
                break
            position = find(space, key, position + 1)
        looked_at = found[-1] if len(found) == limit else len(space)
        self._work_left -= looked_at * weight
        return found


def _sample(data: bytes) -> bytes:
    step = max(_SAMPLE_BYTES, len(data) // _SAMPLES)
    return b"".join(data[start : start + _SAMPLE_BYTES] for start in range(0, len(data), step)[: _SAMPLES + 1])


def _weight(key: bytes, sample: bytes) -> int:
    """Return about how many tenths of a nanosecond it takes to look at one byte.

    A search jumps ahead by what the byte at the end of its window allows; where that is next to nothing it is slow.
    The figures are those of CPython 3.11.
    """
    end = key[-_JUMP_MAX:]
    jumps = {byte: len(end) - 1 - index for index, byte in enumerate(end)}
    jump = sum(jumps.get(byte, len(end)) for byte in sample) / max(1, len(sample))
    if jump < _SHORT_JUMP:
        return _COSTLY
    if len(key) < _LONG_KEY_BYTES:
        return _SHORT_KEY
    return _LONG_KEY if jump < _LONG_JUMP else _LONG_KEY // 2
