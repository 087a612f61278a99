"""Where a text stands in raw bytes; each of its LFs matches LF or CRLF. Pure.

The file is never folded as a whole, since that takes many times as long as looking through it: the text is put into the
forms that it may have in the file.
"""

from bisect import bisect_left
from itertools import accumulate, pairwise
from typing import Final, Protocol, TypeAlias

from fs_core._bytes_search import find
from fs_core.text import BOM

__all__ = ["Matcher", "Span", "matcher_of"]

Span: TypeAlias = tuple[int, int]
"""Start and end of a place in the raw bytes."""

_PIECE_COST: Final = 256
_WASTE_FREE: Final = 1 << 20
"""Comparing one piece takes about as long as folding this many bytes. What comparing may cost besides is as much as
folding the part that was gone through, and this."""

_WINDOW_BYTES: Final = 1 << 18


class Matcher(Protocol):
    """Finds the places of one text in one file."""

    def find(self, start: int) -> Span | None:
        """Return the first place that begins at or after raw position `start`, which never goes back."""
        ...


def matcher_of(data: bytes, needle: bytes) -> Matcher:
    """Return what finds `needle`, folded text of at least one byte, in `data`, valid text."""
    # A CR that ends the needle must not take the CR out of a CRLF, which is invisible to the reader.
    may_differ = b"\n" in needle or needle.endswith(b"\r")
    if may_differ and b"\r" in data:
        return _EndingsMatcher(data, needle)
    return _PlainMatcher(data, needle)


def _body_start(data: bytes) -> int:
    return len(BOM) if data.startswith(BOM) else 0


class _PlainMatcher:
    """Finds a text that stands as it is wherever it stands."""

    def __init__(self, data: bytes, needle: bytes) -> None:
        self._data = data
        self._needle = needle
        self._body_start = _body_start(data)

    def find(self, start: int) -> Span | None:
        """Return the first place at or after raw position `start`."""
        position = find(self._data, self._needle, max(start, self._body_start))
        return None if position < 0 else (position, position + len(self._needle))


class _EndingsMatcher:
    """Finds a text in a file that has a CR.

    Searched for is one line break of the text together with the lines before and after it, in either form. Where it
    stands the other lines, the pieces, are compared one by one. Where that takes too long, since the line break stands
    at many places and the text does not, or since places overlap, the file is folded window by window instead.
    """

    def __init__(self, data: bytes, needle: bytes) -> None:
        self._data = data
        self._needle = needle
        self._body_start = _body_start(data)
        self._folded: _FoldedWindows | None = None
        pieces = needle.split(b"\n")
        sizes = [len(before) + len(after) for before, after in pairwise(pieces)] or [len(needle)]
        at = sizes.index(max(sizes))
        self._before = pieces[:at][::-1]
        self._after = pieces[at + 2 :]
        self._lead_bytes = sum(len(piece) + 1 for piece in self._before)
        self._forms = _forms(pieces[at : at + 2])
        self._is_break_first = not pieces[at]
        self._found = [-1] * len(self._forms)
        self._next = 0
        self._waste = 0

    def find(self, start: int) -> Span | None:
        """Return the first place that begins at or after raw position `start`, which never goes back."""
        start = max(start, self._body_start)
        position = max(start + self._lead_bytes, self._next)
        while self._folded is None:
            candidate = self._candidate(position)
            if candidate is None:
                return None
            begin, end = candidate
            position = self._next = begin + 1
            span = self._place(begin, end)
            is_found = span is not None and span[0] >= start
            self._waste += 0 if is_found else 2 * _PIECE_COST
            if self._waste > _WASTE_FREE + begin:
                self._folded = _FoldedWindows(self._data, self._needle)
            if is_found:
                return span
        return self._folded.find(start)

    def _candidate(self, position: int) -> Span | None:
        """Return where the line break that is searched for stands next, in any of its forms."""
        none = len(self._data)
        for index, form in enumerate(self._forms):
            if self._found[index] < position:
                found = find(self._data, form, position)
                self._found[index] = none if found < 0 else found
        begin = min(self._found)
        return None if begin == none else (begin, begin + len(self._forms[self._found.index(begin)]))

    def _place(self, begin: int, end: int) -> Span | None:
        """Return the place of the whole text around the part of it that stands from `begin` to `end`."""
        if self._is_break_first and self._data[begin - 1 : begin] == b"\r":
            begin -= 1
        start = self._start_of_rest(begin)
        stop = None if start is None else self._end_of_rest(end)
        return None if start is None or stop is None else (start, stop)

    def _start_of_rest(self, start: int) -> int | None:
        data = self._data
        for piece in self._before:
            self._waste += _PIECE_COST + len(piece)
            if data[start - 1 : start] != b"\n":
                return None
            start -= len(piece) + (2 if data[start - 2 : start - 1] == b"\r" else 1)
            if start < self._body_start or not data.startswith(piece, start):
                return None
        return start

    def _end_of_rest(self, end: int) -> int | None:
        data = self._data
        for piece in self._after:
            self._waste += _PIECE_COST + len(piece)
            if data.startswith(b"\r\n", end):
                end += 2
            elif data.startswith(b"\n", end) and data[end - 1 : end] != b"\r":
                end += 1
            else:
                return None
            if not data.startswith(piece, end):
                return None
            end += len(piece)
        is_cut_ending = self._needle.endswith(b"\r") and data.startswith(b"\n", end)
        return None if is_cut_ending else end


def _forms(pieces: list[bytes]) -> list[bytes]:
    """Return what to search for: a piece alone, or two with a line break between them."""
    if len(pieces) == 1:
        return pieces
    before, after = pieces
    if not before:
        return [b"\n" + after]  # it also stands in the other form
    crlf = before + b"\r\n" + after
    # An LF after a CR is one line break with it, and then the CR is no part of the text.
    return [crlf] if before.endswith(b"\r") else [crlf, before + b"\n" + after]


class _FoldedWindows:
    """Finds a text by folding windows of the file that overlap, and mapping places back. Takes linear time."""

    def __init__(self, data: bytes, needle: bytes) -> None:
        self._data = data
        self._needle = needle
        self._size_bytes = max(_WINDOW_BYTES, 4 * len(needle))
        self._fold(len(data))

    def find(self, start: int) -> Span | None:
        """Return the first place that begins at or after raw position `start`."""
        while True:
            if not self._start <= start < self._sure_end:
                self._fold(start)
            position = find(self._folded, self._needle, self._to_folded(start))
            if position >= 0:
                return self._to_raw(position), self._to_raw(position + len(self._needle))
            if self._sure_end > len(self._data):
                return None
            start = self._sure_end

    def _fold(self, start: int) -> None:
        """Take the window from `start` on; every place that begins before `_sure_end` is whole within it."""
        data = self._data
        self._start = start + self._is_within_break(start)
        end = min(len(data), start + self._size_bytes)
        end += self._is_within_break(end)
        self._raw = data[self._start : end]
        self._folded = self._raw.replace(b"\r\n", b"\n")
        self._breaks: tuple[list[int], list[int]] | None = None
        self._sure_end = len(data) + 1 if end == len(data) else end - 2 * len(self._needle)

    def _is_within_break(self, position: int) -> bool:
        return self._data[max(0, position - 1) : position + 1] == b"\r\n"

    def _to_folded(self, raw: int) -> int:
        """Map a border between bytes; the one between CR and LF counts as after the line's end."""
        offset = raw - self._start
        return offset - bisect_left(self._crlf_positions()[0], offset) if offset > 0 else 0

    def _to_raw(self, folded: int) -> int:
        """Map a border between characters; the border before a folded LF is the one before its CR."""
        return self._start + folded + bisect_left(self._crlf_positions()[1], folded)

    def _crlf_positions(self) -> tuple[list[int], list[int]]:
        """Return where in the window the LF of every CRLF is, and where in the folded one: a CR less for each."""
        if self._breaks is None:
            raw = [length - 1 for length in accumulate(len(part) + 2 for part in self._raw.split(b"\r\n")[:-1])]
            self._breaks = raw, [position - index - 1 for index, position in enumerate(raw)]
        return self._breaks
