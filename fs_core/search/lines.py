"""Lines of one file that match, and the lines around them, from its content whole or in pieces. Pure.

Lines are those of `fs_core.page`: they end at LF alone, one CR just before it is not shown, and a leading byte order
mark belongs to the file. However the content is cut into pieces, the result is the same.
"""

from fs_core.search._collecting import Found, LineCollector, LineSearch, Room, shown_bytes
from fs_core.search.outcomes import SkipReason
from fs_core.text import BOM, TextValidator, find_not_text

__all__ = ["Found", "LineScanner", "LineSearch", "Room", "search_whole", "shown_bytes"]


def search_whole(data: bytes, search: LineSearch, room: Room) -> Found | SkipReason | None:
    """Return what a file of the content `data` has, `None` for nothing, or why it is not searched.

    All of a file decides whether it is searched, however little of it is shown: a NUL makes it BINARY, what is no
    UTF-8 UNDECODABLE, and a line above the bound of the pattern TOO_LARGE.
    """
    if 0 in data:
        return SkipReason.BINARY
    if not data.isascii() and find_not_text(data) is not None:
        return SkipReason.UNDECODABLE
    line_bytes_max = search.pattern.line_bytes_max
    if len(data) > line_bytes_max and _has_long_line(data, line_bytes_max):
        return SkipReason.TOO_LARGE
    if not search.pattern.is_possible(data):
        return None
    collector = LineCollector(search, room)
    collector.take(data.removeprefix(BOM), is_last=True)
    return collector.found()


def _has_long_line(text: bytes, bytes_max: int) -> bool:
    start = 0
    while len(text) - start > bytes_max:
        end = text.rfind(b"\n", start, start + bytes_max + 1)
        if end < 0:
            return True
        start = end + 1
    return False


class LineScanner:
    """Takes a file in pieces and ends with what `search_whole` returns; holds its longest line, and a piece."""

    def __init__(self, search: LineSearch, room: Room) -> None:
        self._search = search
        self._collector = LineCollector(search, room)
        self._validator = TextValidator()
        self._rest = bytearray()  # the start of a line that has not ended
        self._is_first = True
        self._is_binary = False
        self._is_text = True  # as far as is known
        self._has_long_line = False

    def feed(self, piece: bytes | bytearray) -> bool:
        """Take the next piece, whose bytes hold only during the call; false when the result is known already."""
        self._search.check()
        self._is_binary = self._is_binary or 0 in piece
        if self._is_binary:
            return False
        self._is_text = self._validator.feed(piece)
        if self._is_text and not self._has_long_line:
            self._take(piece)
        return True

    def finish(self) -> Found | SkipReason | None:
        """Return the result after the last piece."""
        if self._is_binary:
            return SkipReason.BINARY
        if self._validator.finish() is not None:
            return SkipReason.UNDECODABLE
        if self._has_long_line:
            return SkipReason.TOO_LARGE
        self._collect(bytes(self._rest), is_last=True)
        return self._collector.found()

    def _take(self, piece: bytes | bytearray) -> None:
        line_bytes_max = self._search.pattern.line_bytes_max
        end = piece.rfind(b"\n") + 1
        if end:
            lines = b"".join((self._rest, memoryview(piece)[:end]))
            self._rest.clear()
            self._has_long_line = _has_long_line(lines, line_bytes_max)
            if not self._has_long_line:
                self._collect(lines, is_last=False)
        self._rest += memoryview(piece)[end:]
        if len(self._rest) > line_bytes_max:
            self._has_long_line = True
            self._rest.clear()

    def _collect(self, lines: bytes, *, is_last: bool) -> None:
        if self._is_first:
            self._is_first = False
            lines = lines.removeprefix(BOM)
        if self._search.pattern.is_possible(lines):
            self._collector.take(lines, is_last=is_last)
        else:
            self._collector.skip(lines, is_last=is_last)
