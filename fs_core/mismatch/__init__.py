"""Why the text to replace does not occur: what the file has instead, told in one bounded line. Pure.

Nothing here decides what is changed. A place that is like the sought text is looked for and described, never used.
"""

import re
from collections.abc import Iterable, Sequence
from typing import Final
from unicodedata import is_normalized

from fs_core.edit import Edit
from fs_core.mismatch._alignment import Difference, Kind
from fs_core.mismatch._candidates import COMPARED_CHARS_MAX, PLACES_MAX, Candidate, find_matches, find_nearest
from fs_core.mismatch._characters import INVISIBLE, is_space, named_all, quoted
from fs_core.mismatch._places import FileBytes
from fs_core.text import fold_newlines

__all__ = ["EXPLANATION_CHARS_MAX", "explain_mismatch"]

EXPLANATION_CHARS_MAX: Final = 700
_FINDINGS_MAX: Final = 2
_NUMBERED_LINES_MAX: Final = 1_000
_PLACES_COUNTED_MAX: Final = 100
_LINES_LOOKED_UP: Final = range(2, 9)
_BEFORE_CHARS_SHOWN: Final = 40

# Line numbers as `read`, `cat -n`, `grep -n` and editors show them.
_LINE_NUMBER: Final = re.compile(r"[ \t]{0,16}(\d{1,9})(: |:$|\t|→|:| ?\| ?)", re.ASCII)


def explain_mismatch(data: bytes, edit: Edit) -> str:
    """Return why `edit.old_string` is not in `data`, valid text, as a clause of at most `EXPLANATION_CHARS_MAX`.

    The most telling one or two findings are given, with line and column (in code points, from 1) of the file. Quotes
    are raw text of the file, cut, but for line breaks and control characters. Takes bounded time: of large inputs only
    the places that a bounded search turns up are compared.
    """
    file = FileBytes(data)
    old = fold_newlines(edit.old_string)
    if file.is_empty:
        return "the file is empty"
    text = _copied_numbers(file, old) or _explained(file, old)
    return text if len(text) <= EXPLANATION_CHARS_MAX else f"{text[: EXPLANATION_CHARS_MAX - 3]}..."


def _copied_numbers(file: FileBytes, old: str) -> str | None:
    """Tell of line numbers that were taken for text."""
    lines = old.split("\n", _NUMBERED_LINES_MAX)
    numbered = [_LINE_NUMBER.match(line) for line in lines]
    found = [match for match in numbered if match is not None]
    numbers = [int(match[1]) for match in found]
    if not found or len(lines) > _NUMBERED_LINES_MAX or numbers != [*range(numbers[0], numbers[0] + len(numbers))]:
        return None
    if any(match is None and line.strip() for match, line in zip(numbered, lines, strict=True)):
        return None
    bare = "\n".join(line[match.end() if match else 0 :] for match, line in zip(numbered, lines, strict=True))
    if not bare.strip():
        return None
    says = f"old_string holds line numbers, which are no part of the file ({quoted(found[0][0])})"
    if hits := file.hits(bare, limit=_PLACES_COUNTED_MAX):
        times = _times(len(hits), _PLACES_COUNTED_MAX, first_line=file.line_number(hits[0]))
        return f"{says}; without them it occurs {times}"
    matches, thought_of = find_matches(file, bare)
    if matches:
        return f"{says}; without them {_matching(file, matches)}"
    # One line may begin with a number of its own.
    return (
        f"{says}; without them it does not occur either: {_unlike(file, bare, thought_of)}" if len(found) > 1 else None
    )


def _times(count: int, counted_max: int, *, first_line: int) -> str:
    if count == 1:
        return f"once, at line {first_line}"
    return f"{count}{' or more' if count == counted_max else ''} times, first at line {first_line}"


def _explained(file: FileBytes, old: str) -> str:
    if old.startswith("\ufeff") and (hits := file.hits(old[1:], limit=1)):
        where = f"without it the rest occurs at line {file.line_number(hits[0])}"
        return f"old_string begins with U+FEFF, a byte order mark, which is no part of the text; {where}"
    if old.endswith("\r") and (hits := file.hits(f"{old}\n", limit=1)):
        line = file.line_number(hits[0]) + old.count("\n")
        return f"old_string ends with U+000D (a carriage return), which at line {line} is one half of a line break"
    if len(old) <= COMPARED_CHARS_MAX and not INVISIBLE.sub("", old).strip():
        return f"old_string holds nothing but {named_all(old)}; the file has no such place"
    matches, thought_of = find_matches(file, old)
    return _matching(file, matches) if matches else _unlike(file, old, thought_of)


def _matching(file: FileBytes, matches: list[Candidate]) -> str:
    """Tell of the places that differ in form only: in which, and the first difference of the first two kinds."""
    first = matches[0]
    teller = _Teller(file, first)
    differences = first.alignment.differences
    if not differences:
        same = sum(not match.alignment.differences for match in matches)
        return f"it occurs {_times(same, PLACES_MAX, first_line=teller.first_line)}"
    named, facts = _form(teller, differences)
    if len(matches) > 1:
        count = f"{len(matches)}{' or more' if len(matches) == PLACES_MAX else ''} places"
        return f"{count} match but for {named}; the first, {teller.lines}: {facts}"
    return f"{teller.lines} {'match' if teller.has_several_lines else 'matches'} but for {named}: {facts}"


def _form(teller: "_Teller", differences: Sequence[Difference]) -> tuple[str, str]:
    """Return the first two kinds of difference, and the first difference of each."""
    kinds = [*dict.fromkeys(difference.kind for difference in differences)]
    named = " and ".join(kinds[:_FINDINGS_MAX]) + (" and more" if len(kinds) > _FINDINGS_MAX else "")
    of_kind = [[one for one in differences if one.kind is kind] for kind in kinds[:_FINDINGS_MAX]]
    return named, "; ".join(teller.first_of(some) for some in of_kind)


def _unlike(file: FileBytes, old: str, thought_of: list[int]) -> str:
    """Tell of the nearest place and where it begins to differ in more than form."""
    order = _other_order(file, old)
    nearest = find_nearest(file, old, thought_of)
    if nearest is None:
        bound = "; not all of it could be searched" if file.was_bounded else ""
        return order or f"nothing like it was found in the file{bound}"
    if order:
        return f"{order}; {_nearest(file, nearest)}"
    text = _nearest(file, nearest)
    before = [one for one in nearest.alignment.differences[:-1] if one.kind is nearest.alignment.differences[0].kind]
    is_told = not before or nearest.alignment.differences[-1].kind is not Kind.TEXT
    return text if is_told else f"{text}; before that, {_Teller(file, nearest).first_of(before)}"


def _nearest(file: FileBytes, nearest: Candidate) -> str:
    teller = _Teller(file, nearest)
    differences = nearest.alignment.differences
    if not differences or differences[-1].kind is not Kind.TEXT:
        named, facts = _form(teller, differences)
        form = f", but for {named}: {facts}" if differences else ""
        reach = f"its characters {nearest.same_from + 1} to {nearest.old_at + nearest.alignment.old_end}"
        left_out = "what is before them differs" if nearest.is_match else "the rest was too much to compare"
        return f"{reach} are at {teller.lines}{form}; {left_out}"
    last = differences[-1]
    equal, lines = nearest.equal_lines
    is_block = lines > 1 and nearest.is_whole and nearest.old_at == 0
    place = f", from line {teller.first_line} on ({equal} of {lines} lines match)," if is_block else ""
    if teller.is_at_end(last):
        return f"the nearest place{place} breaks off: {teller.told(last)}"
    return f"the nearest place{place} differs at {teller.told(last)}; the file has there {teller.shown(last)}"


def _other_order(file: FileBytes, old: str) -> str:
    """Tell that a few lines all occur, only not as one block."""
    lines = [line.strip() for line in old.split("\n", _LINES_LOOKED_UP.stop + 2) if line.strip()]
    if len(lines) not in _LINES_LOOKED_UP:
        return ""
    places: list[int] = []
    for line in lines:
        hits = file.hits(line, limit=1)
        if not hits:
            return ""
        places.append(file.line_number(hits[0]))
    return f"each of its lines occurs, but not together in this order (first at lines {_listed(places)})"


def _listed(numbers: Iterable[int]) -> str:
    return ", ".join(map(str, numbers))


class _Teller:
    """Puts the differences at one place into words."""

    def __init__(self, file: FileBytes, place: Candidate) -> None:
        self._file = file
        self._place = place
        self._text = place.passage.text
        self._line_of_start = file.line_number(place.start)

    @property
    def has_several_lines(self) -> bool:
        """Whether the place spans more than one line."""
        return self.line_of(self._last_at) > self.line_of(self._first_at)

    @property
    def lines(self) -> str:
        """The line or the lines of the place."""
        first, last = self.first_line, self.last_line
        return f"lines {first}-{last}" if last > first else f"line {first}"

    @property
    def first_line(self) -> int:
        """The first line of the place."""
        return self.line_of(self._first_at)

    @property
    def last_line(self) -> int:
        """The last line of the place."""
        return self.line_of(self._last_at)

    @property
    def _first_at(self) -> int:
        return len(self._text) - len(self._text.lstrip()) if self._place.old[:1].strip() == "" else 0

    @property
    def _last_at(self) -> int:
        return max(0, len(self._text[: self._place.alignment.file_end].rstrip()) - 1)

    def line_of(self, at: int) -> int:
        """Return the number of the line of a position in the passage."""
        return self._line_of_start + self._text.count("\n", 0, at)

    def first_of(self, differences: Sequence[Difference]) -> str:
        """Tell the first one, and how many are like it."""
        more = len(differences) - 1
        return self.told(differences[0]) + (f" (and {more} more like it)" if more else "")

    def told(self, difference: Difference) -> str:
        """Tell one difference with its place; the line is left out if the whole place is one line."""
        line = f"line {self.line_of(difference.file_at)}"
        column = f"column {self._column(difference.file_at)}"
        there, sought = difference.file_text, difference.old_text
        match difference.kind:
            case Kind.FINAL_NEWLINE:
                return "the file ends without a newline, old_string goes on after one"
            case Kind.INDENTATION | Kind.TRAILING_SPACE:
                where, words = line, (named_all(there) or "none", named_all(sought) or "none")
            case Kind.LINE_BREAKS:
                where, words = f"after {line}", (_line_breaks(there), _line_breaks(sought))
            case Kind.NORMAL_FORM:
                where, words = f"{line}, {column}", (_with_form(there), _with_form(sought))
            case _ if self.is_at_end(difference):
                line = f"line {self.line_of(difference.file_at - 1)}"
                return f"the file ends after {line}, old_string goes on with {named_all(sought)}"
            case _:
                where, words = f"{line}, {column}", (named_all(there) or "nothing", named_all(sought) or "nothing")
        told = f"the file has {words[0]}, old_string has {words[1]}"
        where = (
            where if self.has_several_lines or not self._place.is_match else where.removeprefix(line).removeprefix(", ")
        )
        return f"{where}: {told}" if where else told

    def is_at_end(self, difference: Difference) -> bool:
        """Whether the file has nothing more where the difference is."""
        return difference.file_at == len(self._text) > 0 and self._place.passage.is_last

    def shown(self, difference: Difference) -> str:
        """Quote the line of a difference, or the part of it around there."""
        start = self._text.rfind("\n", 0, difference.file_at) + 1
        line = self._text[max(start, difference.file_at - _BEFORE_CHARS_SHOWN) :].partition("\n")[0]
        return quoted(line) if line and not is_space(line) else "a blank line"

    def _column(self, at: int) -> int:
        start = self._text.rfind("\n", 0, at) + 1
        return at - start + (1 if start else self._file.column(self._place.start))


def _line_breaks(text: str) -> str:
    count = text.count("\n")
    return "1 line break" if count == 1 else f"{count or 'no'} line breaks"


def _with_form(text: str) -> str:
    forms = [form for form in ("NFC", "NFD") if is_normalized(form, text)]
    return f"{named_all(text)} ({' and '.join(forms) or 'neither NFC nor NFD'})"
