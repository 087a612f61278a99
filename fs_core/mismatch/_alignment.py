"""What keeps two texts from being the same, from left to right, as far as it can be named. Pure."""

import re
from dataclasses import dataclass
from enum import StrEnum
from itertools import product
from typing import Final, Literal
from unicodedata import normalize

from fs_core.mismatch._characters import ESCAPES, SPACES, is_invisible, is_space, plain_mark

__all__ = ["Alignment", "Difference", "Kind", "Passage", "align"]

_DIFFERENCES_MAX: Final = 200
_BLOCK: Final = 256
# The longest canonical decomposition has four code points (U+1F82 and its like); three Jamo make one Hangul syllable.
_SIZES: Final = sorted(product(range(1, 5), repeat=2), key=sum)
_UNICODE_ESCAPE: Final = re.compile(r"\\u([0-9a-fA-F]{4})")


class Kind(StrEnum):
    """What a difference is about, in the words it is told in."""

    INDENTATION = "indentation"
    TRAILING_SPACE = "white space at the end of a line"
    INNER_SPACE = "white space"
    LINE_BREAKS = "line breaks"
    FINAL_NEWLINE = "the newline at the end of the file"
    INVISIBLE = "invisible characters"
    ESCAPE = "escaping"
    NORMAL_FORM = "Unicode normalisation"
    PUNCTUATION = "quotes or dashes"
    WIDTH = "full-width or other compatibility characters"
    CASE = "letter case"
    TEXT = "text"


# Canonical forms first: what is the same in them is the same in the compatibility forms too.
_FORMS: Final[tuple[tuple[Kind, Literal["NFD", "NFKD"]], ...]] = (
    (Kind.NORMAL_FORM, "NFD"),
    (Kind.WIDTH, "NFKD"),
)


@dataclass(frozen=True, slots=True)
class Passage:
    """A stretch of the file with LF alone as line break; `is_last` if it reaches the end of the file."""

    text: str
    starts_line: bool
    is_last: bool


@dataclass(frozen=True, slots=True)
class Difference:
    """`file_text` stands at `file_at` of the passage where `old_text` was expected, at `old_at` of the text sought."""

    kind: Kind
    file_at: int
    file_text: str
    old_at: int
    old_text: str


@dataclass(frozen=True, slots=True)
class Alignment:
    """The differences in order, at most one of them `Kind.TEXT`, the last.

    `old_end` is how far the sought text was followed, `file_end` the same in the passage; `is_complete` if to its end.
    """

    differences: tuple[Difference, ...]
    old_end: int
    file_end: int
    is_complete: bool


@dataclass(frozen=True, slots=True)
class _Step:
    """Differences at one place, and where both texts go on after them."""

    differences: tuple[Difference, ...]
    file_end: int
    old_end: int


def align(passage: Passage, old: str) -> Alignment:
    """Follow `old` in `passage` from the start of both, until the first difference that is not only one of form."""
    found: list[Difference] = []
    file_at = old_at = 0
    while True:
        same = _common_length(passage.text, file_at, old, old_at)
        file_at, old_at = file_at + same, old_at + same
        is_cut = file_at == len(passage.text) and not passage.is_last
        if old_at == len(old) or is_cut or len(found) >= _DIFFERENCES_MAX:
            break
        step = _Place(passage, old, file_at, old_at).step()
        found.extend(step.differences)
        if step.differences and step.differences[-1].kind is Kind.TEXT:
            break
        file_at, old_at = step.file_end, step.old_end
    return Alignment(tuple(found), old_end=old_at, file_end=file_at, is_complete=old_at == len(old))


def _common_length(left: str, left_at: int, right: str, right_at: int) -> int:
    common = 0
    while True:
        one = left[left_at + common : left_at + common + _BLOCK]
        other = right[right_at + common : right_at + common + _BLOCK]
        if not one or one != other:
            pairs = zip(one, other, strict=False)
            shorter = min(len(one), len(other))
            return common + next((index for index, (a, b) in enumerate(pairs) if a != b), shorter)
        common += len(one)


class _Place:
    """The place where two texts part: both go on with different characters, or the file ends."""

    def __init__(self, passage: Passage, old: str, file_at: int, old_at: int) -> None:
        self._passage = passage
        self._file = passage.text
        self._old = old
        self._at = (file_at, old_at)

    def step(self) -> _Step:
        """Return the smallest difference of form that explains the place, else one of text."""
        return (
            self._end_of_file()
            or self._invisible()
            or self._escape()
            or self._space()
            or self._form()
            or self._single(Kind.TEXT, 1, 1)
        )

    def _single(self, kind: Kind, file_size: int, old_size: int, *, back: int = 0) -> _Step:
        file_at, old_at = self._at[0] - back, self._at[1] - back
        file_text = self._file[file_at : file_at + file_size]
        old_text = self._old[old_at : old_at + old_size]
        difference = Difference(kind, file_at, file_text, old_at, old_text)
        return _Step((difference,), file_at + len(file_text), old_at + len(old_text))

    def _end_of_file(self) -> _Step | None:
        file_at, old_at = self._at
        rest = self._old[old_at:]
        if file_at < len(self._file) or self._file.endswith("\n") or not is_space(rest) or "\n" not in rest:
            return None
        return self._single(Kind.FINAL_NEWLINE, 0, len(rest))

    def _invisible(self) -> _Step | None:
        file_at, old_at = self._at
        if is_invisible(self._file[file_at : file_at + 1]):
            return self._single(Kind.INVISIBLE, 1, 0)
        if is_invisible(self._old[old_at : old_at + 1]):
            return self._single(Kind.INVISIBLE, 0, 1)
        return None

    def _escape(self) -> _Step | None:
        """Find an escaped character against a real one; the two may begin with the same character."""
        file_at, old_at = self._at
        near = self._file[max(0, file_at - 1) : file_at + 1] + self._old[max(0, old_at - 1) : old_at + 1]
        if "\\" not in near and "&" not in near:
            return None
        for back in (0, 1) if min(file_at, old_at) else (0,):
            for real, escaped in ESCAPES:
                if self._file.startswith(real, file_at - back) and self._old.startswith(escaped, old_at - back):
                    return self._single(Kind.ESCAPE, len(real), len(escaped), back=back)
                if self._file.startswith(escaped, file_at - back) and self._old.startswith(real, old_at - back):
                    return self._single(Kind.ESCAPE, len(escaped), len(real), back=back)
        if _is_code_of(_UNICODE_ESCAPE.match(self._old, old_at), self._file[file_at : file_at + 1]):
            return self._single(Kind.ESCAPE, 1, 6)
        if _is_code_of(_UNICODE_ESCAPE.match(self._file, file_at), self._old[old_at : old_at + 1]):
            return self._single(Kind.ESCAPE, 6, 1)
        return None

    def _form(self) -> _Step | None:
        """Find other forms of one character: letter case, quotes and dashes, normalisation, width."""
        ahead, sought = (text[at : at + 4] for text, at in zip((self._file, self._old), self._at, strict=True))
        if not ahead:
            return None
        if ahead[0].casefold() == sought[0].casefold():
            return self._single(Kind.CASE, 1, 1)
        if plain_mark(ahead[0]) is not None and plain_mark(ahead[0]) == plain_mark(sought[0]):
            return self._single(Kind.PUNCTUATION, 1, 1)
        for (kind, form), (file_size, old_size) in product(_FORMS, _SIZES):
            left, right = ahead[:file_size], sought[:old_size]
            if normalize(form, left) == normalize(form, right):
                return self._single(kind, len(left), len(right))
        return None

    def _space(self) -> _Step | None:
        """Compare the white space around the place, if there is any and what follows it is alike."""
        file_at, old_at = self._at
        back = 0
        while (
            back < min(file_at, old_at)
            and is_space(self._old[old_at - back - 1])
            and (self._old[old_at - back - 1] == self._file[file_at - back - 1])
        ):
            back += 1
        file_start, old_start = file_at - back, old_at - back
        file_end, old_end = _space_end(self._file, file_start), _space_end(self._old, old_start)
        if (file_end, old_end) == self._at or not self._goes_on_alike(file_end, old_end):
            return None
        file_parts = self._file[file_start:file_end].split("\n")
        old_parts = self._old[old_start:old_end].split("\n")
        is_first, is_last = old_start == 0, old_end == len(self._old)
        if is_last:
            # Of the white space after the sought text only as many lines count as it holds itself.
            file_parts = file_parts[: len(old_parts)]
        elif is_first:
            dropped = "\n".join(file_parts[: -len(old_parts)])
            file_start += len(dropped) + (1 if len(file_parts) > len(old_parts) else 0)
            file_parts = file_parts[-len(old_parts) :]
        if len(file_parts) != len(old_parts):
            file_text, old_text = "\n".join(file_parts), "\n".join(old_parts)
            difference = Difference(Kind.LINE_BREAKS, file_start, file_text, old_start, old_text)
            return _Step((difference,), file_end, old_end)
        found: list[Difference] = []
        for index, (file_part, old_part) in enumerate(zip(file_parts, old_parts, strict=True)):
            is_end = index == len(old_parts) - 1
            if not (
                file_part == old_part
                or (is_last and is_end and file_part.startswith(old_part))
                or (is_first and index == 0 and file_part.endswith(old_part))
            ):
                kind = self._kind_of_space(file_start, file_part, is_end=is_end)
                found.append(Difference(kind, file_start, file_part, old_start, old_part))
            file_start += len(file_part) + 1
            old_start += len(old_part) + 1
        return _Step(tuple(found), file_end, old_end)

    def _kind_of_space(self, file_start: int, file_part: str, *, is_end: bool) -> Kind:
        if not is_end or file_start + len(file_part) == len(self._file):
            return Kind.TRAILING_SPACE
        is_line_start = self._passage.starts_line if file_start == 0 else self._file[file_start - 1] == "\n"
        return Kind.INDENTATION if is_line_start else Kind.INNER_SPACE

    def _goes_on_alike(self, file_at: int, old_at: int) -> bool:
        if old_at == len(self._old):
            return True
        if file_at == len(self._file):
            return False
        one, other = self._file[file_at], self._old[old_at]
        if one == other:
            return True
        step = _Place(self._passage, self._old, file_at, old_at)
        return (step._invisible() or step._escape() or step._form()) is not None


def _space_end(text: str, start: int) -> int:
    match = SPACES.match(text, start)
    return start if match is None else match.end()


def _is_code_of(escape: re.Match[str] | None, character: str) -> bool:
    return escape is not None and chr(int(escape[1], 16)) == character
