"""One window of a text file's lines: from a whole file that arrives in pieces, or from the parts that hold it. Pure.

A line ends at LF and nowhere else; one CR just before the LF is part of the ending. A leading byte order mark belongs
to the file and not to its first line.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final, Literal

from fs_core._bytes_search import after_newlines
from fs_core._window import UTF8_BYTES_MAX, LineCollector, Window
from fs_core.lineindex import BLOCK_BYTES, LineIndex, LineIndexer
from fs_core.text import BOM, NotTextFinding, TextValidator

__all__ = ["Line", "Page", "PageReader", "Span", "TextScanner", "Window"]

_JUMP_BLOCKS_MIN: Final = 16
"""What is read rather than passed over: 1 MiB takes about as long as another request to a store far away."""

_SPAN_BLOCKS_MAX: Final = 16
_MARGIN_BYTES: Final = 8  # the byte order mark, and the ending of the line that does not fit


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

    `texts` are the lines from `first_line` on, without their endings; `cut_lengths` tells for each line that is cut
    its length in code points, by number and in order. `next_line` is where to continue, `None` at the end.
    `has_cr_only_endings` tells of a file whose only line ends are CR, which is one line by the rule above.
    """

    first_line: int
    texts: tuple[str, ...]
    cut_lengths: Mapping[int, int]
    total_lines: int
    next_line: int | None
    truncated_by: Literal["lines", "bytes"] | None
    has_final_newline: bool
    has_cr_only_endings: bool

    @property
    def lines(self) -> tuple[Line, ...]:
        """Return the lines one by one, made anew at each call."""
        return tuple(
            Line(number=number, text=text, length_chars=self.cut_lengths.get(number, len(text)))
            for number, text in enumerate(self.texts, start=self.first_line)
        )


class TextScanner:
    """Takes a file in pieces and ends with the `Page` of one window, or with what makes the file not text.

    Holds the window's lines and the file's index and nothing else. After the first offence further pieces are ignored.
    """

    def __init__(self, window: Window) -> None:
        self._window = window
        self._validator = TextValidator()
        self._indexer = LineIndexer()
        self._collector = LineCollector(window)
        self._skip_lines = window.first_line - 1
        self._start: bytes | None = b""  # the start of the file, until it is known to be a byte order mark or not
        self._lines: LineIndex | None = None

    @property
    def lines(self) -> LineIndex:
        """Return where the file's lines are, of a file that has been found to be text."""
        if self._lines is None:
            raise RuntimeError("the scan has not ended, or the file is no text")
        return self._lines

    def feed(self, piece: bytes | bytearray) -> None:
        """Take the next piece, whose bytes hold only during the call."""
        if self._start is None:
            self._feed(piece, 0)
            return
        self._start += piece
        if len(self._start) >= len(BOM):
            start, self._start = self._start, None
            self._feed(start, _mark_bytes(start))

    def finish(self) -> Page | NotTextFinding:
        """Return the result after the last piece."""
        if self._start:
            start, self._start = self._start, None
            self._feed(start, 0)
        offence = self._validator.finish()
        if offence is not None:
            return offence
        self._collector.end_of_file()
        self._lines = self._indexer.finish()
        return _page(self._collector, self._lines, self._window)

    def _feed(self, piece: bytes | bytearray, start: int) -> None:
        if len(piece) <= BLOCK_BYTES:
            self._take(piece, start)
            return
        for position in range(0, len(piece), BLOCK_BYTES):
            self._take(piece[position : position + BLOCK_BYTES], 0 if position else start)

    def _take(self, part: bytes | bytearray, start: int) -> None:
        if not self._validator.feed(part):
            return
        indexer = self._indexer
        newlines, code_points = indexer.newlines, indexer.code_points
        indexer.feed(part, is_ascii=self._validator.is_ascii)
        if self._collector.stopped_by is None:
            newlines, code_points = indexer.newlines - newlines, indexer.code_points - code_points
            self._collect(part, start, newlines=newlines, code_points=code_points)

    def _collect(self, part: bytes | bytearray, start: int, *, newlines: int, code_points: int) -> None:
        if newlines < self._skip_lines:
            self._skip_lines -= newlines
        elif not newlines and self._collector.wants_only_the_end:
            self._collector.skip(code_points, ends_with_cr=part.endswith(b"\r"))
        else:
            start, self._skip_lines = after_newlines(part, self._skip_lines, start), 0
            self._collector.feed(part, start)


@dataclass(frozen=True, slots=True)
class Span:
    """The `limit` bytes of a file from `offset` on."""

    offset: int
    limit: int


class PageReader:
    """Makes the `Page` of one window from parts of a file whose index is known; the same as `TextScanner` makes.

    `wanted` is the part to feed next, `None` when the page is complete. One part of at most the window's bytes and
    two blocks is enough where no line is cut. Where lines are, parts of up to 1 MiB follow, and a stretch of a line
    that is not shown is passed over if it is longer than that.
    """

    def __init__(self, lines: LineIndex, window: Window) -> None:
        self._index = lines
        self._window = window
        self._collector = LineCollector(window)
        self._last_line = min(window.first_line + window.lines_max - 1, lines.total_lines)
        self._is_begun = False
        self.wanted: Span | None = None
        if window.first_line <= lines.total_lines:
            self.wanted = self._first_span(lines.block_of_newline(window.first_line - 1), blocks_before=1)

    def feed(self, data: bytes) -> None:
        """Take exactly the bytes of `wanted`.

        Raises:
            ValueError: it is not that many, or they cannot be of the file that the index is of.
        """
        span = self.wanted
        if span is None or len(data) != span.limit:
            raise ValueError("these are not the bytes that are wanted")
        start = 0
        if not self._is_begun:
            self._is_begun = True
            skip_lines = self._window.first_line - 1 - self._index.newlines_before(span.offset)
            start = after_newlines(data, skip_lines, _mark_bytes(data) if span.offset == 0 else 0)
        self._collector.feed(data, start)
        self.wanted = self._after(span)

    def page(self) -> Page:
        """Return the page, when nothing more is wanted."""
        if self.wanted is not None:
            raise RuntimeError("the page is not complete")
        return _page(self._collector, self._index, self._window)

    def _after(self, span: Span) -> Span | None:
        """Return what to read after `span`, which ended at the border of a block or at the end of the file."""
        position = span.offset + span.limit
        line = self._collector.next_line
        if self._collector.stopped_by is not None or line > self._last_line:
            return None
        if self._collector.wants_only_the_end:
            resume = self._index.block_of_newline(line)
            if resume < self._index.size_bytes:
                # The CR of an ending may be the last byte of the block before.
                resume -= self._index.block_bytes
            is_last = resume == self._index.size_bytes
            if is_last or resume - position >= _JUMP_BLOCKS_MIN * self._index.block_bytes:
                code_points = self._index.code_points_before(resume) - self._index.code_points_before(position)
                self._collector.skip(code_points, ends_with_cr=False)
                if not is_last:
                    return self._first_span(resume, blocks_before=2)
                position = resume
        if position == self._index.size_bytes:
            self._collector.end_of_file()
            return None
        limit = min(2 * span.limit, _SPAN_BLOCKS_MAX * self._index.block_bytes)
        return self._span(position, position + limit)

    def _first_span(self, offset: int, *, blocks_before: int) -> Span:
        """Return what is enough if no line is cut, where `blocks_before` may stand before what is wanted."""
        room_bytes = self._collector.room_bytes
        line_bytes = min(self._window.line_chars_max * UTF8_BYTES_MAX, self._end(self._collector.next_line) - offset)
        enough_bytes = max(room_bytes, line_bytes) + min(self._window.lines_max, room_bytes) + _MARGIN_BYTES
        blocks = blocks_before + -(-enough_bytes // self._index.block_bytes)
        return self._span(offset, offset + blocks * self._index.block_bytes)

    def _span(self, start: int, end: int) -> Span:
        limit = min(end, self._end(self._last_line)) - start
        if limit <= 0:
            raise ValueError("the lines do not end where the index has their ends: these are other bytes")
        return Span(offset=start, limit=limit)

    def _end(self, line: int) -> int:
        """Return the end of the block in which a line ends."""
        return min(self._index.block_of_newline(line) + self._index.block_bytes, self._index.size_bytes)


def _mark_bytes(data: bytes | bytearray) -> int:
    return len(BOM) if data.startswith(BOM) else 0


def _page(collector: LineCollector, index: LineIndex, window: Window) -> Page:
    texts = tuple(collector.texts)
    is_last = not texts or collector.next_line > index.total_lines
    return Page(
        first_line=window.first_line,
        texts=texts,
        cut_lengths=collector.cut_lengths,
        total_lines=index.total_lines,
        next_line=None if is_last else collector.next_line,
        truncated_by=None if is_last else collector.stopped_by,
        has_final_newline=index.has_final_newline,
        has_cr_only_endings=index.has_cr_only_endings,
    )
