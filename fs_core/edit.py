"""Literal replacement in a file's raw bytes. Pure.

Matching is exact, with one allowance: LF in the text to find matches LF or CRLF in the file. Whatever is not replaced
stays byte for byte, mixed endings and byte order mark included.
"""

from bisect import bisect_left
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import accumulate
from typing import Final

from fs_core.text import BOM, fold_newlines

__all__ = ["PLACES_COUNTED_MAX", "Ambiguous", "Edit", "Missing", "Places", "Spliced", "apply_edit", "count_places"]

PLACES_COUNTED_MAX: Final = 10_000
_COUNTED_BYTES_MAX: Final = 8 << 20
"""Each place that is counted costs a comparison of the whole needle, so a long needle is counted at fewer places."""

_LINES_NAMED_MAX: Final = 10


@dataclass(frozen=True, slots=True)
class Edit:
    """Replace `old_string` by `new_string`: its only place, or every place from left to right.

    Both are compared and inserted after folding CRLF to LF; `new_string` must be valid Unicode.

    Raises:
        ValueError: On construction: `old_string` is empty.
    """

    old_string: str
    new_string: str
    replace_all: bool = False

    def __post_init__(self) -> None:
        if not self.old_string:
            raise ValueError("old_string is empty")

    @property
    def changes_nothing(self) -> bool:
        """Whether old and new text are the same but for newline style."""
        return fold_newlines(self.old_string) == fold_newlines(self.new_string)


@dataclass(frozen=True, slots=True)
class Spliced:
    """The new content and how many places changed, all between the first `prefix_bytes` and the last `suffix_bytes`."""

    data: bytes
    replacements: int
    prefix_bytes: int
    suffix_bytes: int


@dataclass(frozen=True, slots=True)
class Missing:
    """The text to replace does not occur."""


@dataclass(frozen=True, slots=True)
class Ambiguous:
    """The text occurs at `places`, first at `lines`."""

    places: "Places"
    lines: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Places:
    """How many places there are; at least so many if it `is_bound`, since counting them has its limits."""

    count: int
    is_bound: bool

    def __str__(self) -> str:
        return f"{self.count} or more" if self.is_bound else str(self.count)


@dataclass(frozen=True, slots=True)
class _Span:
    start: int
    end: int


def apply_edit(data: bytes, edit: Edit) -> Spliced | Missing | Ambiguous:
    """Return the content after `edit`, or why it cannot be made. `data` must be valid text."""
    matcher = _needle_matcher(data, edit)
    first = matcher.find(0)
    if first is None:
        return Missing()
    if edit.replace_all:
        return _splice(data, _all_spans(matcher, first), edit)
    if matcher.find(first.start + 1) is None:
        return _splice(data, [first], edit)
    places = _possible_places(matcher)
    lines = [data.count(b"\n", 0, span.start) + 1 for span in places[:_LINES_NAMED_MAX]]
    return Ambiguous(places=matcher.counted(places), lines=tuple(dict.fromkeys(lines)))


def count_places(data: bytes, edit: Edit) -> Places:
    """Return at how many places `old_string` may stand, overlapping ones too."""
    matcher = _needle_matcher(data, edit)
    return matcher.counted(_possible_places(matcher))


def _all_spans(matcher: "_Matcher", first: _Span) -> list[_Span]:
    spans = [first]
    while (span := matcher.find(spans[-1].end)) is not None:
        spans.append(span)
    return spans


def _possible_places(matcher: "_Matcher") -> list[_Span]:
    """Return every place, overlapping ones too, as far as they are counted."""
    spans: list[_Span] = []
    span = matcher.find(0)
    while span is not None and len(spans) < matcher.places_max:
        spans.append(span)
        span = matcher.find(span.start + 1)
    return spans


class _Matcher:
    """Finds the folded needle in raw bytes that need no folding: the needle was translated instead."""

    def __init__(self, data: bytes, needle: bytes, *, refuse_before_lf: bool = False) -> None:
        self._data = data
        self._needle = needle
        self._refuse_before_lf = refuse_before_lf
        self._body_start = len(BOM) if data.startswith(BOM) else 0
        self.places_max = max(2, min(PLACES_COUNTED_MAX, _COUNTED_BYTES_MAX // len(needle)))

    def counted(self, spans: list[_Span]) -> Places:
        """Return how many places were found, up to `places_max`."""
        return Places(count=len(spans), is_bound=len(spans) == self.places_max)

    def find(self, start: int) -> _Span | None:
        """Return the first place at or after raw position `start`."""
        position = self._data.find(self._needle, max(start, self._body_start))
        while position >= 0:
            end = position + len(self._needle)
            if not (self._refuse_before_lf and self._data[end : end + 1] == b"\n"):
                return _Span(position, end)
            position = self._data.find(self._needle, position + 1)
        return None


class _FoldingMatcher(_Matcher):
    """Finds the folded needle in a file of mixed endings, by folding the file and mapping places back."""

    def __init__(self, data: bytes, needle: bytes) -> None:
        super().__init__(data.replace(b"\r\n", b"\n"), needle)
        # Raw position of the LF of every CRLF, and the same positions after folding: a CR fewer for each before it.
        self._raw_lf = [length - 1 for length in accumulate(len(part) + 2 for part in data.split(b"\r\n")[:-1])]
        self._folded_lf = [position - index - 1 for index, position in enumerate(self._raw_lf)]

    def find(self, start: int) -> _Span | None:
        """Return the first place at or after raw position `start`."""
        span = super().find(self._folded(start))
        return None if span is None else _Span(self._raw(span.start), self._raw(span.end))

    def _folded(self, raw: int) -> int:
        """Map a border between bytes; the one between CR and LF counts as after the line's end."""
        return raw - bisect_left(self._raw_lf, raw)

    def _raw(self, folded: int) -> int:
        """Map a border between characters; the border before a folded LF is the one before its CR."""
        return folded + bisect_left(self._folded_lf, folded)


def _needle_matcher(data: bytes, edit: Edit) -> _Matcher:
    # A lone surrogate becomes bytes that no valid text holds, so it is missing like anything else.
    return _matcher(data, fold_newlines(edit.old_string).encode("utf-8", "surrogatepass"))


def _matcher(data: bytes, needle: bytes) -> _Matcher:
    crlf = data.count(b"\r\n")
    if not crlf:
        return _Matcher(data, needle)
    if b"\n" not in needle:
        # A CR that ends the needle must not take the CR out of a CRLF, which is invisible to the reader.
        return _Matcher(data, needle, refuse_before_lf=needle.endswith(b"\r"))
    if crlf == data.count(b"\n"):
        is_cut_ending = needle.endswith(b"\r")
        return _Matcher(data, needle.replace(b"\n", b"\r\n"), refuse_before_lf=is_cut_ending)
    return _FoldingMatcher(data, needle)


def _splice(data: bytes, spans: list[_Span], edit: Edit) -> Spliced:
    new_lines = fold_newlines(edit.new_string).encode().split(b"\n")
    nearest = _NearestEnding(data)
    pieces: list[bytes] = []
    position = 0
    for span in spans:
        pieces.append(data[position : span.start])
        pieces.append(_with_endings(new_lines, data, span, nearest))
        position = span.end
    pieces.append(data[position:])
    return Spliced(
        data=b"".join(pieces),
        replacements=len(spans),
        prefix_bytes=spans[0].start,
        suffix_bytes=len(data) - spans[-1].end,
    )


def _with_endings(new_lines: list[bytes], data: bytes, span: _Span, nearest: "_NearestEnding") -> bytes:
    """Join the new lines with the endings of the lines they replace; the last one serves for those beyond."""
    if len(new_lines) == 1:
        return new_lines[0]
    endings = list(_endings(data[span.start : span.end])) or [nearest.of(span)]
    pieces = [new_lines[0]]
    for index, line in enumerate(new_lines[1:]):
        pieces.append(endings[min(index, len(endings) - 1)])
        pieces.append(line)
    return b"".join(pieces)


def _endings(text: bytes) -> Iterator[bytes]:
    position = text.find(b"\n")
    while position >= 0:
        yield b"\r\n" if text[position - 1 : position] == b"\r" else b"\n"
        position = text.find(b"\n", position + 1)


class _NearestEnding:
    """Finds the ending of the line that a span is in, else of the line before, else LF.

    Asked from left to right, of spans without a newline: what was found for one serves the next ones of its line.
    """

    def __init__(self, data: bytes) -> None:
        self._data = data
        self._newline = -1
        self._is_last = False

    def of(self, span: _Span) -> bytes:
        """Return the ending for new lines in place of `span`."""
        if self._newline < span.end and not self._is_last:
            self._newline = self._data.find(b"\n", span.end)
            if self._newline < 0:
                self._newline = self._data.rfind(b"\n", 0, span.start)
                self._is_last = True
        is_crlf = self._newline > 0 and self._data[self._newline - 1 : self._newline] == b"\r"
        return b"\r\n" if is_crlf else b"\n"
