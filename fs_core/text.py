"""UTF-8 text of a file: is it text, how many lines, and one window of them, from bytes that arrive in pieces. Pure.

A line ends at LF and nowhere else; one CR just before the LF is part of the ending. A leading byte order mark belongs
to the file and not to its first line.
"""

import codecs
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Final, Literal

from fs_core._encoding import HEAD_BYTES, SAMPLE_BYTES_MAX, Evidence, likely_reason

__all__ = [
    "BOM",
    "Line",
    "NotTextFinding",
    "Page",
    "TextScanner",
    "Window",
    "find_not_text",
    "fold_newlines",
    "has_lone_surrogate",
]

BOM: Final = codecs.BOM_UTF8
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


@dataclass(frozen=True, slots=True)
class NotTextFinding:
    """The first byte that cannot be in a text file, at `offset`."""

    offset: int
    evidence: Evidence = field(repr=False)

    def reason(self) -> str:
        """Return the likely reason as a clause. Takes milliseconds, the first time tens of them."""
        return likely_reason(self.evidence)


class TextScanner:
    """Takes a file in pieces and ends with the `Page` of one window, or with what makes the file not text.

    Holds the window's lines and nothing else of the file. After the first offence further pieces are ignored.
    """

    def __init__(self, window: Window) -> None:
        self._validator = _Validator()
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


class _Validator:
    """Strict UTF-8 without NUL, over pieces; keeps a bounded sample around the first offence."""

    def __init__(self) -> None:
        self._pending = b""  # an unfinished sequence at the end of the last piece
        self._position = 0  # of the start of `_pending`
        self._head = bytearray()  # of the file
        self._offence: int | None = None
        self._is_cut_off = False
        self._sample = bytearray()

    def feed(self, data: bytes) -> bool:
        """Take a piece; false once something is not text."""
        if self._offence is not None:
            self._sample += data[: SAMPLE_BYTES_MAX - len(self._sample)]
            return False
        self._head += data[: HEAD_BYTES - len(self._head)]
        piece = self._pending + data
        offence = self._first_offence(piece)
        if offence is not None:
            self._begin_sample(piece, offence)
            return False
        keep = 0 if piece.isascii() else _unfinished_bytes(piece)
        self._pending = piece[len(piece) - keep :]
        self._position += len(piece) - keep
        return True

    def finish(self) -> NotTextFinding | None:
        """Return the first offence of the whole file, if any."""
        if self._offence is None and self._pending:
            self._is_cut_off = True
            self._begin_sample(self._pending, self._position)
        if self._offence is None:
            return None
        start = 0 if self._offence < HEAD_BYTES else self._offence
        evidence = Evidence(
            sample=bytes(self._sample),
            sample_offset=start,
            offence_index=self._offence - start,
            is_cut_off=self._is_cut_off,
            is_head_utf8=start > 0 and not self._head.isascii(),
        )
        return NotTextFinding(offset=self._offence, evidence=evidence)

    def _begin_sample(self, piece: bytes, offence: int) -> None:
        """Sample the file's start or what begins at `offence`; `piece` starts at the present position."""
        self._offence = offence
        index = offence - self._position
        before, rest = (self._head[: self._position], piece) if offence < HEAD_BYTES else (b"", piece[index:])
        self._sample = bytearray(before)
        self._sample += rest[: SAMPLE_BYTES_MAX - len(before)]

    def _first_offence(self, piece: bytes) -> int | None:
        nul = piece.find(b"\0")
        checked = piece if nul < 0 else piece[:nul]
        if not checked.isascii():
            try:
                codecs.utf_8_decode(checked, "strict", nul >= 0)
            except UnicodeDecodeError as error:
                return self._position + error.start
        return None if nul < 0 else self._position + nul


def _unfinished_bytes(piece: bytes) -> int:
    """Return how many bytes at the end of valid UTF-8 begin a sequence that goes on in the next piece."""
    _, consumed = codecs.utf_8_decode(piece[-_UTF8_BYTES_MAX:], "ignore", False)  # noqa: FBT003 - C signature
    return len(piece[-_UTF8_BYTES_MAX:]) - consumed


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


def find_not_text(data: bytes) -> NotTextFinding | None:
    """Return what makes a whole file's bytes no text, or `None`."""
    validator = _Validator()
    validator.feed(data)
    return validator.finish()


def fold_newlines(text: str) -> str:
    """Return `text` with every CRLF as LF; a lone CR stays."""
    return text.replace("\r\n", "\n") if "\r\n" in text else text


def has_lone_surrogate(text: str) -> bool:
    """Whether `text` holds half a surrogate pair, which no UTF-8 can store."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return True
    return False
