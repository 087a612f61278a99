"""The lines of a window, collected from bytes that follow each other. Pure."""

from dataclasses import dataclass
from typing import Final, Literal

from fs_core._bytes_search import count, count_code_points

__all__ = ["UTF8_BYTES_MAX", "LineCollector", "Window"]

UTF8_BYTES_MAX: Final = 4


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


class LineCollector:
    """Takes the bytes from the window's first line on, and holds at most what the window may show.

    `texts` are the lines, `cut_lengths` the lengths in code points of those that are shown in part, by line number.
    """

    def __init__(self, window: Window) -> None:
        self.texts: list[str] = []
        self.cut_lengths: dict[int, int] = {}
        self.stopped_by: Literal["lines", "bytes"] | None = None
        self.room_bytes = window.bytes_max + 1  # each line takes its bytes and one for the break before it
        self._window = window
        self._open = _OpenLine(window.line_chars_max)

    @property
    def next_line(self) -> int:
        """Return the number of the line that is not there yet."""
        return self._window.first_line + len(self.texts)

    @property
    def wants_only_the_end(self) -> bool:
        """Whether all that is shown of the present line is here, and it has not ended."""
        return self._open.is_full

    def feed(self, data: bytes | bytearray, start: int) -> None:
        """Take what follows in `data` from `start` on."""
        if self._open.is_begun:
            start = self._go_on(data, start)
        while start < len(data) and self.stopped_by is None:
            # What is shown cannot reach further: its lines, and a CR of each that is not.
            end = data.rfind(b"\n", start, start + self.room_bytes + self._room_lines) + 1
            if end:
                self._take_whole_lines(_without_cr(data[start:end]))
                start = end
            else:
                start = self._go_on(data, start)

    def skip(self, code_points: int, *, ends_with_cr: bool) -> None:
        """Pass over that much of a line whose end alone is wanted."""
        self._open.skip(code_points, ends_with_cr=ends_with_cr)

    def end_of_file(self) -> None:
        """Close a last line that has no newline."""
        if self.stopped_by is None and self._open.is_begun:
            self._accept(*self._open.close(is_ended=False))

    def _go_on(self, data: bytes | bytearray, start: int) -> int:
        """Add to the open line and return where it ends. Once what it shows is too much, its end does not matter."""
        newline = data.find(b"\n", start)
        if newline < 0:
            self._open.add(data[start:])
            if self.texts and self._open.shown_bytes_min >= self.room_bytes:
                self.stopped_by = "bytes"
            return len(data)
        self._open.add(data[start:newline])
        self._accept(*self._open.close(is_ended=True))
        return newline + 1

    def _take_whole_lines(self, lines: bytes | bytearray) -> None:
        position = 0
        while position < len(lines) and self.stopped_by is None:
            end = self._end_of_short_lines(lines, position)
            if end > position:
                self._take_short(lines[position:end])
            else:
                end = lines.index(b"\n", position) + 1
                self._take_one(lines[position : end - 1])
            position = end

    def _end_of_short_lines(self, lines: bytes | bytearray, start: int) -> int:
        """Return where those lines end, from `start` on, that fit and that are not cut, as their bytes tell."""
        reach, end = start + self.room_bytes, start
        step = self._window.line_chars_max + 1
        while (newline := lines.rfind(b"\n", end, min(end + step, reach))) >= 0:
            end = newline + 1
        return end

    def _take_short(self, lines: bytes | bytearray) -> None:
        room_lines = self._room_lines
        self.texts += lines[:-1].decode().split("\n", room_lines)[:room_lines]
        self.room_bytes -= len(lines)
        self._stop_if_full()

    def _take_one(self, line: bytes | bytearray) -> None:
        chars_max = self._window.line_chars_max
        shown = line[: chars_max * UTF8_BYTES_MAX].decode("utf-8", "ignore")[:chars_max]
        self._accept(shown, count_code_points(line))

    def _accept(self, text: str, length_chars: int) -> None:
        size_bytes = len(text.encode()) + 1
        if self.texts and size_bytes > self.room_bytes:
            self.stopped_by = "bytes"
            return
        if len(text) < length_chars:
            self.cut_lengths[self.next_line] = length_chars
        self.texts.append(text)
        self.room_bytes -= size_bytes
        self._stop_if_full()

    @property
    def _room_lines(self) -> int:
        return self._window.lines_max - len(self.texts)

    def _stop_if_full(self) -> None:
        if not self._room_lines:
            self.stopped_by = "lines"
        elif self.room_bytes <= 0:
            self.stopped_by = "bytes"


def _without_cr(lines: bytes | bytearray) -> bytes | bytearray:
    """Return whole lines that end with LF alone."""
    if b"\r" not in lines:
        return lines
    # Where every CR belongs to an ending, as is usual, taking out single bytes is several times as fast.
    stripped = lines.replace(b"\r", b"")
    if len(lines) - len(stripped) == count(lines, b"\r\n"):
        return stripped
    return lines.replace(b"\r\n", b"\n")


class _OpenLine:
    """One line that is still arriving: its first bytes, its length, and whether it ends with CR."""

    def __init__(self, chars_max: int) -> None:
        self._chars_max = chars_max
        self._bytes_max = chars_max * UTF8_BYTES_MAX
        self._start = b""
        self._length_chars = 0
        self._ends_with_cr = False

    @property
    def is_begun(self) -> bool:
        return bool(self._start)

    @property
    def is_full(self) -> bool:
        return len(self._start) == self._bytes_max

    @property
    def shown_bytes_min(self) -> int:
        """Return how many bytes are shown at least, however it ends: a CR at the end may be no part of it."""
        return min(len(self._start) - 1, self._chars_max)

    def add(self, piece: bytes | bytearray) -> None:
        if not piece:
            return
        if not self.is_full:
            self._start += piece[: self._bytes_max - len(self._start)]
        self._length_chars += count_code_points(piece)
        self._ends_with_cr = piece.endswith(b"\r")

    def skip(self, code_points: int, *, ends_with_cr: bool) -> None:
        self._length_chars += code_points
        self._ends_with_cr = ends_with_cr

    def close(self, *, is_ended: bool) -> tuple[str, int]:
        """Return the shown text and the length in code points, and begin the next line."""
        length = self._length_chars - (1 if is_ended and self._ends_with_cr else 0)
        text = self._start.decode("utf-8", "ignore")[: min(length, self._chars_max)]
        self._start, self._length_chars, self._ends_with_cr = b"", 0, False
        return text, length
