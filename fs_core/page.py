"""One window of a text file's lines, from bytes that arrive in pieces. Pure.

A line ends at LF and nowhere else; one CR just before the LF is part of the ending. A leading byte order mark belongs
to the file and not to its first line.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final, Literal

from fs_core.text import BOM, NotTextFinding, TextValidator

__all__ = ["Line", "Page", "TextScanner", "Window"]

_CONTINUATION_BYTES: Final = bytes(range(0x80, 0xC0))
_UTF8_BYTES_MAX: Final = 4


@dataclass(frozen=True, slots=True)
class Window:
    """Which lines a page should hold, and its bounds.

    `first_line` counts from 1. At most `lines_max` lines, of each at most `line_chars_max` code points, together at
    most `bytes_max` bytes of shown text with one more byte for each line break between them; the first line is given
    whatever its size.
    """

    first_line: int = 1
    lines_max: int = 2000
    line_chars_max: int = 2000
    bytes_max: int = 51_200


@dataclass(frozen=True, slots=True)
class Line:
    """One line without its ending. `text` is cut when it is shorter than `length_chars` code points."""

    number: int
    text: str
    length_chars: int

    @property
    def is_cut(self) -> bool:
        """Whether the line is longer than what is shown."""
        return len(self.text) < self.length_chars


@dataclass(frozen=True, slots=True)
class Page:
    """The lines of one window, and what the whole file looks like.

    `next_line` is where to continue, `None` at the end. `has_cr_only_endings` tells of a file whose only line ends
    are CR, which is one line by the rule above.
    """

    lines: tuple[Line, ...]
    total_lines: int
    next_line: int | None
    truncated_by: Literal["lines", "bytes"] | None
    has_final_newline: bool
    has_cr_only_endings: bool


class TextScanner:
    """Takes a file in pieces and ends with the `Page` of one window, or with what makes the file not text.

    Holds the window's lines and nothing else of the file. After the first offence further pieces are ignored.
    """

    def __init__(self, window: Window) -> None:
        self._validator = TextValidator()
        self._collector = _Collector(window)
        self._window = window
        self._newlines = 0
        self._has_cr = False
        self._body_bytes = 0
        self._last_byte = b""
        self._mark = b""  # the start of the file, as long as it may still be a byte order mark

    def feed(self, piece: bytes | bytearray) -> None:
        """Take the next piece."""
        data = bytes(piece)
        if not data or not self._validator.feed(data):
            return
        if self._body_bytes == 0:
            data = self._without_mark(data)
        self._take(data)

    def finish(self) -> Page | NotTextFinding:
        """Return the result after the last piece."""
        offence = self._validator.finish()
        if offence is not None:
            return offence
        ends_open = self._body_bytes > 0 and self._last_byte != b"\n"
        if ends_open:
            self._collector.end_of_file()
        total = self._newlines + ends_open
        lines = self._collector.lines
        next_line = self._window.first_line + len(lines)
        is_last = not lines or next_line > total
        return Page(
            lines=tuple(lines),
            total_lines=total,
            next_line=None if is_last else next_line,
            truncated_by=None if is_last else self._collector.stopped_by,
            has_final_newline=self._last_byte == b"\n",
            has_cr_only_endings=self._has_cr and self._newlines == 0,
        )

    def _without_mark(self, data: bytes) -> bytes:
        """Return what of the file's start is text: hold back what may still become a byte order mark."""
        if self._mark == BOM:
            return data
        start = self._mark + data
        if start.startswith(BOM):
            self._mark = BOM
            return start[len(BOM) :]
        if BOM.startswith(start):
            self._mark = start
            return b""
        self._mark = b""
        return start

    def _take(self, data: bytes) -> None:
        if not data:
            return
        self._mark = BOM  # whatever the start was, it is settled now
        newlines = data.count(b"\n")
        self._collector.feed(data, newlines)
        self._newlines += newlines
        self._has_cr = self._has_cr or b"\r" in data
        self._body_bytes += len(data)
        self._last_byte = data[-1:]


class _Collector:
    """Collects the lines of a window from pieces, holding at most what the window may show."""

    def __init__(self, window: Window) -> None:
        self._window = window
        self._line = _OpenLine(window.line_chars_max)
        self._number = 1
        self._bytes = 0
        self.lines: list[Line] = []
        self.stopped_by: Literal["lines", "bytes"] | None = None

    def feed(self, data: bytes, newlines: int) -> None:
        """Take the next piece, which holds `newlines` line ends."""
        first = self._window.first_line
        if self.stopped_by is not None or self._number + newlines < first:
            self._number += newlines
            return
        skipped = max(0, first - self._number)
        self._number += skipped
        for piece, is_ended in _line_pieces(data, skip=skipped):
            self._line.add(piece)
            if is_ended:
                self._close(is_ended=True)
                if self.stopped_by is not None:
                    return

    def end_of_file(self) -> None:
        """Close a last line that has no newline."""
        if self.stopped_by is None and self._number >= self._window.first_line:
            self._close(is_ended=False)

    def _close(self, *, is_ended: bool) -> None:
        text, length = self._line.close(is_ended=is_ended)
        size = len(text.encode()) + (1 if self.lines else 0)
        if self.lines and self._bytes + size > self._window.bytes_max:
            self.stopped_by = "bytes"
            return
        self._bytes += size
        self.lines.append(Line(number=self._number, text=text, length_chars=length))
        self._number += 1
        if len(self.lines) == self._window.lines_max:
            self.stopped_by = "lines"


def _line_pieces(data: bytes, *, skip: int) -> Iterator[tuple[bytes, bool]]:
    """Yield the pieces of lines in `data` after `skip` line ends, each with whether its line ends there."""
    start = 0
    for _ in range(skip):
        start = data.index(b"\n", start) + 1
    while start < len(data):
        end = data.find(b"\n", start)
        if end < 0:
            yield data[start:], False
            return
        yield data[start:end], True
        start = end + 1


class _OpenLine:
    """One line that is still arriving: its first bytes, its length, and whether it ends with CR."""

    def __init__(self, chars_max: int) -> None:
        self._chars_max = chars_max
        self._bytes_max = chars_max * _UTF8_BYTES_MAX
        self._start = b""
        self._length_chars = 0
        self._ends_with_cr = False

    def add(self, piece: bytes) -> None:
        if not piece:
            return
        if len(self._start) < self._bytes_max:
            self._start += piece[: self._bytes_max - len(self._start)]
        self._length_chars += len(piece) - _count_continuation(piece)
        self._ends_with_cr = piece.endswith(b"\r")

    def close(self, *, is_ended: bool) -> tuple[str, int]:
        """Return the shown text and the length in code points, and begin the next line."""
        length = self._length_chars - (1 if is_ended and self._ends_with_cr else 0)
        text = self._start.decode("utf-8", "ignore")[: min(length, self._chars_max)]
        self._start, self._length_chars, self._ends_with_cr = b"", 0, False
        return text, length


def _count_continuation(piece: bytes) -> int:
    return 0 if piece.isascii() else len(piece) - len(piece.translate(None, _CONTINUATION_BYTES))
