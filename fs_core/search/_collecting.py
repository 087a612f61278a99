"""Lines that match, with the lines around them, from whole lines of a file in one or several parts. Pure."""

from collections import deque
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

from fs_core._bytes_search import count_code_points, count_newlines
from fs_core.search.outcomes import MatchLine
from fs_core.search.pattern import LinePattern

__all__ = ["Found", "LineCollector", "LineSearch", "Room", "shown_bytes"]

_UTF8_BYTES_MAX: Final = 4
_CONTINUATIONS: Final = range(0x80, 0xC0)
_LEAD_SHARE: Final = 4
"""The match in a line that is cut stands behind such a part of what is shown."""

_NEAR_BYTES: Final = 4096
"""In so few bytes newlines are counted as fast without a view of them."""


@dataclass(frozen=True, slots=True)
class LineSearch:
    """Which lines are looked for in every file, and how they are shown.

    Attributes:
        pattern: Which lines match.
        context: How many lines around each are shown.
        line_chars_max: Characters shown of one line.
        check: Called between steps of bounded work; what it raises ends a search.
    """

    pattern: LinePattern
    context: int
    line_chars_max: int
    check: Callable[[], None]


@dataclass(slots=True)
class Room:
    """How many more matching lines, and bytes of lines, are of use; both may shrink while files are searched."""

    matches: int
    size_bytes: int


@dataclass(frozen=True, slots=True)
class Found:
    """Lines of one file in order, each once. With `has_more` further lines match, for which there was no room."""

    lines: tuple[MatchLine, ...]
    has_more: bool


def shown_bytes(line: MatchLine) -> int:
    """Return what a line counts of the bytes of a result."""
    text = line.text
    return 1 + (len(text) if text.isascii() else len(text.encode()))


class LineCollector:
    """Takes all lines of a file in order. Once a line matches for which there is no room, the rest is not looked at."""

    def __init__(self, search: LineSearch, room: Room) -> None:
        self._search = search
        self._room = room
        self._lines: list[MatchLine] = []
        self._matches = 0
        self._size_bytes = 0
        self._has_more = False
        self._number = 1  # of the next line
        self._after = 0  # how many lines are still to be shown behind a match
        self._before: deque[MatchLine] = deque(maxlen=search.context)  # the lines just before that are not shown
        self._hides_cr = True

    def found(self) -> Found | None:
        """Return what there is, `None` for nothing."""
        if not self._lines and not self._has_more:
            return None
        return Found(tuple(self._lines), self._has_more)

    def skip(self, text: bytes, *, is_last: bool) -> None:
        """Take lines of which none matches; the last one may lack its LF if they are the last of the file."""
        if not self._has_more:
            self._pass(text, 0, len(text), keeps=0 if is_last else self._search.context)

    def take(self, text: bytes, *, is_last: bool) -> None:
        """Take lines of which some may match; the last one may lack its LF if they are the last of the file."""
        if self._has_more or not text:
            return
        self._hides_cr = not self._search.pattern.minds_cr
        if not self._hides_cr and b"\r" in text:
            text = text.replace(b"\r\n", b"\n")
        passed = self._take_matches(text, len(text) - text.endswith(b"\n"))
        if not self._has_more:
            self._pass(text, passed, len(text), keeps=0 if is_last else self._search.context)
        self._hides_cr = True

    def _take_matches(self, text: bytes, end: int) -> int:
        """Take lines up to the last that matches, and return where the next one begins."""
        pattern, passed, position = self._search.pattern, 0, 0
        while position <= end:
            self._search.check()
            stop = _step_end(text, position, end, pattern.step_bytes)
            while position <= stop and (span := pattern.find(text, position, stop)) is not None:
                start = max(position, text.rfind(b"\n", position, span[0]) + 1)
                self._pass(text, passed, start, keeps=self._search.context)
                if self._matches >= self._room.matches or self._size_bytes > self._room.size_bytes:
                    self._has_more = True
                    return passed
                self._add_match(text, start, span)
                passed = position = _line_end(text, span[0]) + 1
            position = max(position, stop + 1)
        return passed

    def _add_match(self, text: bytes, start: int, span: tuple[int, int]) -> None:
        for line in self._before:
            self._add(line)
        self._before.clear()
        line = self._content(text, start, _line_end(text, span[0]))
        self._add(_match_line(self._number, line, span[0] - start, span[1] - start, self._search.line_chars_max))
        self._matches += 1
        self._number += 1
        self._after = self._search.context

    def _pass(self, text: bytes, start: int, end: int, *, keeps: int) -> None:
        """Take lines that do not match, of which the last ones are kept: they may be those before a match."""
        while self._after and start < end:
            self._after -= 1
            line_end = _line_end(text, start)
            self._add(self._context_line(text, start, line_end, self._number))
            self._number += 1
            start = line_end + 1
        if start >= end:
            return
        self._number += _newlines(text, start, end)
        kept: list[MatchLine] = []
        while len(kept) < keeps and start < end:
            line_start = max(start, text.rfind(b"\n", start, end - 1) + 1)
            kept.append(self._context_line(text, line_start, end - 1, self._number - 1 - len(kept)))
            end = line_start
        self._before.extend(reversed(kept))

    def _context_line(self, text: bytes, start: int, end: int, number: int) -> MatchLine:
        return _context_line(number, self._content(text, start, end), self._search.line_chars_max)

    def _content(self, text: bytes, start: int, end: int) -> bytes:
        """Return the line that ends at `end`, where its LF is if it has one."""
        has_cr = self._hides_cr and start < end < len(text) and text[end - 1] == ord("\r")
        return text[start : end - has_cr]

    def _add(self, line: MatchLine) -> None:
        self._lines.append(line)
        self._size_bytes += shown_bytes(line)


def _step_end(text: bytes, start: int, end: int, step_bytes: int) -> int:
    """Return the end of the last line that ends within a step, or else of the first."""
    if end - start <= step_bytes:
        return end
    last = text.rfind(b"\n", start, start + step_bytes + 1)
    return last if last >= 0 else _line_end(text, start)


def _line_end(text: bytes, position: int) -> int:
    end = text.find(b"\n", position)
    return end if end >= 0 else len(text)


def _newlines(text: bytes, start: int, end: int) -> int:
    if end - start <= _NEAR_BYTES:
        return text.count(b"\n", start, end)
    return count_newlines(memoryview(text)[start:end])


def _context_line(number: int, line: bytes, chars_max: int) -> MatchLine:
    length_chars = _length_chars(line)
    if length_chars <= chars_max:
        return MatchLine(number, line.decode(), is_match=False)
    return MatchLine(number, _first_chars(line, 0, chars_max), is_match=False, length_chars=length_chars)


def _match_line(number: int, line: bytes, start: int, end: int, chars_max: int) -> MatchLine:
    """Return a line with its first match at `start`, near which it is cut if it is too long."""
    length_chars = _length_chars(line)
    if length_chars <= chars_max:
        return MatchLine(number, line.decode())
    while start < len(line) and line[start] in _CONTINUATIONS:  # \B may match within a character
        start -= 1
    before_chars = _length_chars(line[:start])
    from_char = 0
    if before_chars + _length_chars(line[start:end]) > chars_max:
        from_char = max(0, min(before_chars - chars_max // _LEAD_SHARE, length_chars - chars_max))
    shown_from = start - _last_chars_bytes(line, start, before_chars - from_char) if from_char else 0
    text = _first_chars(line, shown_from, chars_max)
    return MatchLine(number, text, length_chars=length_chars, from_char=from_char)


def _length_chars(line: bytes) -> int:
    return len(line) if line.isascii() else count_code_points(line)


def _first_chars(line: bytes, start: int, chars: int) -> str:
    """Return so many characters from `start` on; `line` is known to be UTF-8, but for a character that is cut."""
    return line[start : start + chars * _UTF8_BYTES_MAX].decode(errors="ignore")[:chars]


def _last_chars_bytes(line: bytes, end: int, chars: int) -> int:
    """Return how many bytes the last so many characters before `end` take."""
    text = line[max(0, end - chars * _UTF8_BYTES_MAX) : end].decode(errors="ignore")
    return len(text[len(text) - chars :].encode())
