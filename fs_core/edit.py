"""Literal replacement in a file's raw bytes. Pure.

Matching is exact, with one allowance: LF in the text to find matches LF or CRLF in the file. Whatever is not replaced
stays byte for byte, mixed endings and byte order mark included.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import accumulate, islice, pairwise
from typing import Final

from fs_core._bytes_search import count_newlines
from fs_core._matching import Matcher, Span, matcher_of
from fs_core.splice import Replacement, Splice
from fs_core.text import fold_newlines

__all__ = ["PLACES_COUNTED_MAX", "Ambiguous", "Edit", "Missing", "Places", "Spliced", "apply_edit", "count_places"]

PLACES_COUNTED_MAX: Final = 10_000
_COUNTED_BYTES_MAX: Final = 8 << 20
"""Each place that is counted costs a comparison of the whole needle, so a long needle is counted at fewer places."""

_LINES_NAMED_MAX: Final = 10

_RUNS_MAX: Final = 1_000
_RUN_BYTES_MIN: Final = 1 << 12
"""Places within a thousandth of the file, or within this, are replaced as one: neither a million objects nor a million
tiny writes come of a million places."""


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
    """The new content and how many places changed. Places that are near one another share a part of `splice`."""

    splice: Splice
    replacements: int


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


def apply_edit(data: bytes, edit: Edit) -> Spliced | Missing | Ambiguous:
    """Return what `edit` makes of `data`, which must be valid text, or why it cannot be made.

    Takes time in proportion to `data` whatever is sought, and next to no memory besides what is replaced.
    """
    needle = _needle(edit)
    matcher = matcher_of(data, needle)
    first = matcher.find(0)
    if first is None:
        return Missing()
    if edit.replace_all:
        return _replaced(data, first, matcher, needle, edit)
    second = matcher.find(first[0] + 1)
    if second is None:
        new = _with_endings(_new_lines(edit), data, first, _NearestEnding(data))
        return Spliced(Splice(data, (Replacement(*first, new),)), replacements=1)
    spans = [first, *islice(_overlapping(matcher, second), _places_max(needle) - 1)]
    return Ambiguous(places=_counted(len(spans), needle), lines=_lines_of(data, spans[:_LINES_NAMED_MAX]))


def count_places(data: bytes, edit: Edit) -> Places:
    """Return at how many places `old_string` may stand, overlapping ones too."""
    needle = _needle(edit)
    matcher = matcher_of(data, needle)
    spans = islice(_overlapping(matcher, matcher.find(0)), _places_max(needle))
    return _counted(sum(1 for _ in spans), needle)


def _needle(edit: Edit) -> bytes:
    # A lone surrogate becomes bytes that no valid text holds, so it is missing like anything else.
    return fold_newlines(edit.old_string).encode("utf-8", "surrogatepass")


def _new_lines(edit: Edit) -> list[bytes]:
    return fold_newlines(edit.new_string).encode().split(b"\n")


def _overlapping(matcher: Matcher, span: Span | None) -> Iterator[Span]:
    while span is not None:
        yield span
        span = matcher.find(span[0] + 1)


def _places_max(needle: bytes) -> int:
    return max(2, min(PLACES_COUNTED_MAX, _COUNTED_BYTES_MAX // len(needle)))


def _counted(count: int, needle: bytes) -> Places:
    return Places(count=count, is_bound=count == _places_max(needle))


def _lines_of(data: bytes, spans: list[Span]) -> tuple[int, ...]:
    """Return the numbers of the lines that the places begin in, each once."""
    view = memoryview(data)
    borders = pairwise([0, *(start for start, _ in spans)])
    counts = accumulate(count_newlines(view[start:end]) for start, end in borders)
    return tuple(dict.fromkeys(count + 1 for count in counts))


def _replaced(data: bytes, first: Span, matcher: Matcher, needle: bytes, edit: Edit) -> Spliced:
    """Replace every place from `first` on, those that are near one another as one."""
    lines = _new_lines(edit)
    size = max(_RUN_BYTES_MIN, len(data) // _RUNS_MAX, 2 * len(needle))
    has_cr, nearest = b"\r" in data, _NearestEnding(data)
    replacements: list[Replacement] = []
    count = 0
    span: Span | None = first
    while span is not None:
        block = data[span[0] : span[0] + size]
        forms = _uniform_forms(block, needle, lines, has_cr=has_cr)
        if forms is None:
            run, places, span = _run_by_places(data, span, matcher, lines, nearest, end_max=span[0] + size)
        else:
            run, places = _run_of_block(block, span[0], *forms)
            span = matcher.find(run.end)
        replacements.append(run)
        count += places
    return Spliced(Splice(data, tuple(replacements)), replacements=count)


def _uniform_forms(block: bytes, needle: bytes, lines: list[bytes], *, has_cr: bool) -> tuple[bytes, bytes] | None:
    """Return what stands at all places within `block` and what comes there, `None` if that is not the same for all.

    `block` begins with a place, of a file that has a CR or none.
    """
    if not has_cr or (len(lines) == 1 and b"\n" not in needle and not needle.endswith(b"\r")):
        return needle, b"\n".join(lines)
    if b"\n" not in needle or needle.endswith(b"\r"):
        return None
    if b"\r" not in block:
        return needle, b"\n".join(lines)
    if block.count(b"\r\n") == block.count(b"\n"):
        return needle.replace(b"\n", b"\r\n"), b"\r\n".join(lines)
    return None


def _run_of_block(block: bytes, start: int, old: bytes, new: bytes) -> tuple[Replacement, int]:
    """Replace all places that are whole within `block`, which is at `start`; return how many."""
    *kept, rest = block.split(old)
    end = start + len(block) - len(rest)
    return Replacement(start, end, new.join([*kept, b""])), len(kept)


def _run_by_places(
    data: bytes, first: Span, matcher: Matcher, lines: list[bytes], nearest: "_NearestEnding", *, end_max: int
) -> tuple[Replacement, int, Span | None]:
    """Replace the places from `first` on up to `end_max`, each with the endings that are due there.

    Returns how many, and the next place.
    """
    pieces: list[bytes] = []
    end = first[0]
    span: Span | None = first
    while span is not None and span[1] <= end_max:
        pieces += data[end : span[0]], _with_endings(lines, data, span, nearest)
        end = span[1]
        span = matcher.find(end)
    return Replacement(first[0], end, b"".join(pieces)), len(pieces) // 2, span


def _with_endings(new_lines: list[bytes], data: bytes, span: Span, nearest: "_NearestEnding") -> bytes:
    """Join the new lines with the endings of the lines they replace; the last one serves for those beyond."""
    if len(new_lines) == 1:
        return new_lines[0]
    endings = list(_endings(data[span[0] : span[1]])) or [nearest.of(span)]
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

    def of(self, span: Span) -> bytes:
        """Return the ending for new lines in place of `span`."""
        start, end = span
        if self._newline < end and not self._is_last:
            self._newline = self._data.find(b"\n", end)
            if self._newline < 0:
                self._newline = self._data.rfind(b"\n", 0, start)
                self._is_last = True
        is_crlf = self._newline > 0 and self._data[self._newline - 1 : self._newline] == b"\r"
        return b"\r\n" if is_crlf else b"\n"
