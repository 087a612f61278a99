"""Places of a file that are like a text that does not occur: those that differ in form only, or the nearest. Pure.

Everything is bounded: how many places are looked at, how much of each, and the work of searching for them.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from difflib import SequenceMatcher
from html import escape, unescape
from itertools import chain
from typing import Final
from unicodedata import normalize

from fs_core.mismatch._alignment import Alignment, Passage, align
from fs_core.mismatch._characters import INVISIBLE
from fs_core.mismatch._places import FileBytes, skeleton

__all__ = ["COMPARED_CHARS_MAX", "PLACES_MAX", "Candidate", "find_matches", "find_nearest"]

COMPARED_CHARS_MAX: Final = 16_384
"""How much of the sought text is compared at one place, counted from where it begins to differ if it is longer."""

PLACES_MAX: Final = 12
_PLACES_OF_LONG_MAX: Final = 2
_PART_PLACES_MAX: Final = 6
_VARIED_LINES_MAX: Final = 3
_UTF8_BYTES_MAX: Final = 4
_SLACK_BYTES: Final = 1024
_LEAD_CHARS_MAX: Final = 1024
_ANCHOR_BYTES_MIN: Final = 6
_ANCHOR_LINES_MAX: Final = 5
_RATIO_CHARS_MAX: Final = 80
_RATIO_MIN: Final = 0.6
_RATIOS_MAX: Final = 8
_TELLING_CHARS_MIN: Final = 4

# White space, what shows nothing, combining marks of the commoner scripts, and the backslash of an escape.
_UNSEEN: Final = (
    rf"\s\\{INVISIBLE.pattern[1:-1]}\u0300-\u036f\u0483-\u0487\u0591-\u05bd\u064b-\u065f\u3099\u309a"
    r"\u1ab0-\u1aff\u1dc0-\u1dff\u20d0-\u20ff\ufe20-\ufe2f"
)
_UNCOUNTED: Final = re.compile(f"[{_UNSEEN}]")
_COUNTED: Final = re.compile(f"[^{_UNSEEN}]")
_WORD: Final = re.compile("[0-9A-Za-z_]")
_MARK: Final = re.compile(r"[^\s\\]")
_FOREIGN_WORD: Final = re.compile(r"[^\W\x00-\x7f]+")


@dataclass(frozen=True, slots=True)
class Candidate:
    """A place at raw position `start`, where `old`, the sought text from its character `old_at` on, was followed.

    From `same_from` to `old_at` it is the same.
    """

    start: int
    same_from: int
    old_at: int
    passage: Passage
    old: str
    alignment: Alignment
    is_whole: bool

    @property
    def is_match(self) -> bool:
        """Whether the whole text is there but for its form."""
        return self.is_whole and self.alignment.is_complete

    @property
    def equal_lines(self) -> tuple[int, int]:
        """How many of the lines of `old` that are not blank stand here, and how many there are."""
        pairs = self._line_pairs()
        return sum(is_equal for _, is_equal in pairs), len(pairs)

    @property
    def has_telling_line(self) -> bool:
        """Whether one of the equal lines is more than a bracket."""
        return any(is_equal and len(line.strip()) >= _TELLING_CHARS_MIN for line, is_equal in self._line_pairs())

    def _line_pairs(self) -> list[tuple[str, bool]]:
        sought = self.old.split("\n")
        there = self.passage.text.split("\n", len(sought))
        there += [""] * (len(sought) - len(there))
        last = len(sought) - 1
        return [
            (line, file_line == line or (index == last and file_line.startswith(line)))
            for index, (line, file_line) in enumerate(zip(sought, there, strict=False))
            if line.strip()
        ]

    def likeness(self) -> float:
        """Return how like the first lines are, from 0 to 1."""
        sought = self.old.lstrip().partition("\n")[0][:_RATIO_CHARS_MAX]
        there = self.passage.text.lstrip().partition("\n")[0][: len(sought) + 1]
        return SequenceMatcher(None, there, sought, autojunk=False).ratio() if sought else 0.0


def find_matches(file: FileBytes, old: str) -> tuple[list[Candidate], list[int]]:
    """Return the places that differ from `old` in form only, in the order of the file, the first few.

    If there are none, the starts of places that were thought of are returned beside, for `find_nearest`.
    """
    thought_of: list[int] = []
    for starts in _starts_by_form(file, old):
        candidates = [_candidate(file, start, old) for start in dict.fromkeys(starts)]
        if matches := [candidate for candidate in candidates if candidate.is_match]:
            return matches, []
        thought_of.extend(starts)
    return [], thought_of[:PLACES_MAX]


def find_nearest(file: FileBytes, old: str, thought_of: list[int]) -> Candidate | None:
    """Return the place that has most of `old`, `None` if none was found that is like it."""
    head = old[:COMPARED_CHARS_MAX]
    starts = chain(_starts_by_lines(file, head), ((start, 0) for start in thought_of))
    return _nearest_of(file, old, starts) or _nearest_of(file, old, _starts_by_parts(file, head))


def _nearest_of(file: FileBytes, old: str, starts: Iterator[tuple[int, int]]) -> Candidate | None:
    best: tuple[tuple[int, int, int, float], Candidate] | None = None
    for index, (start, old_at) in enumerate(dict.fromkeys(starts)):
        candidate = _candidate(file, start, old, old_at=old_at)
        ratio = candidate.likeness() if index < _RATIOS_MAX else 0.0
        if ratio < _RATIO_MIN and not candidate.has_telling_line:
            continue
        score = (-old_at, candidate.equal_lines[0], candidate.alignment.old_end, ratio)
        if best is None or score > best[0]:
            best = score, candidate
    return None if best is None else best[1]


def _candidate(file: FileBytes, start: int, old: str, *, old_at: int = 0) -> Candidate:
    same_from = old_at
    if len(old) - old_at > COMPARED_CHARS_MAX:
        start, old_at = file.follow(start, old, old_at)
    rest = old[old_at : old_at + COMPARED_CHARS_MAX]
    passage = file.passage(start, bytes_max=len(rest) * _UTF8_BYTES_MAX + _SLACK_BYTES)
    is_whole = old_at + len(rest) == len(old)
    alignment = align(passage, rest)
    return Candidate(
        start=start,
        same_from=same_from,
        old_at=old_at,
        passage=passage,
        old=rest,
        alignment=alignment,
        is_whole=is_whole,
    )


def _starts_by_form(file: FileBytes, old: str) -> Iterator[list[int]]:
    """Yield starts of places where `old` may stand in another form, the cheapest and surest first."""
    limit = PLACES_MAX if len(old) <= COMPARED_CHARS_MAX else _PLACES_OF_LONG_MAX
    variants = [variant for variant in dict.fromkeys(_variants(old)) if variant != old]
    for variant in variants:
        yield file.hits(variant, limit=limit)
    keys: set[bytes] = set()
    for text in (old, *variants):
        head = text[:COMPARED_CHARS_MAX]
        word, key = _WORD.search(head, 0, _LEAD_CHARS_MAX), skeleton(head)
        if word and key not in keys:
            keys.add(key)
            yield _starts_before(file, file.skeleton_hits(key, limit=limit), head[: word.start()])
    lead = old[:_LEAD_CHARS_MAX]
    # Without letters and digits, the first mark has to do.
    anchor = max(_stable_words(lead), key=lambda match: len(match[0]), default=None)
    if anchor is None and not _WORD.search(lead):
        anchor = _MARK.search(lead)
    if anchor:
        yield _starts_before(file, file.hits(anchor[0], limit=limit), lead[: anchor.start()])


def _starts_before(file: FileBytes, hits: list[int], lead: str) -> list[int]:
    # The file may have one line break more.
    return [_start_before(file, hit, lead, line_breaks_max=lead.count("\n") + 1) for hit in hits]


def _variants(old: str) -> Iterator[str]:
    """Yield other ways of writing `old`, unless it is too long to be compared as a whole."""
    if len(old) > COMPARED_CHARS_MAX:
        return
    if "\\" in old:
        yield _unescaped(old)
    # A string literal of many lines, or many lines of wide characters, would cost a search that others need more.
    is_short = old.count("\n") <= _VARIED_LINES_MAX
    if is_short and ('"' in old or "\n" in old or "\t" in old):
        yield _escaped(old)
    if "&" in old:
        yield unescape(old)
    if "<" in old or "&" in old:
        yield escape(old, quote=False)
    if not old.isascii():
        yield from (normalize("NFC", old), normalize("NFD", old), normalize("NFKC", old))
    if is_short:
        yield old.translate(_WIDE)


_WIDE: Final = {code: code + 0xFEE0 for code in range(ord("!"), ord("~") + 1)}
_BACKSLASHED: Final = re.compile(r"""\\(?:r\\n|u([0-9a-fA-F]{4})|([nt"'\\/`$]))""")


def _unescaped(text: str) -> str:
    def real(match: re.Match[str]) -> str:
        if match[1]:
            return chr(int(match[1], 16))
        return {"n": "\n", "t": "\t", None: "\n"}.get(match[2], match[2])

    return _BACKSLASHED.sub(real, text)


def _escaped(text: str) -> str:
    return text.replace("\n", "\\n").replace("\t", "\\t").replace('"', '\\"')


def _stable_words(text: str) -> Iterator[re.Match[str]]:
    """Yield words beyond ASCII that are written in one way only."""
    return (word for word in _FOREIGN_WORD.finditer(text) if normalize("NFKD", word[0]) == word[0].casefold())


def _start_before(file: FileBytes, hit: int, lead: str, *, line_breaks_max: int) -> int:
    """Return where the text begins whose part after `lead` is at `hit`: as many characters before it as `lead` has.

    White space and what else may be there on one side only is not counted, and taken in if `lead` begins with it.
    """
    before = file.before(hit, bytes_max=len(lead) * _UTF8_BYTES_MAX + _SLACK_BYTES)
    before = "\n".join(before.split("\n")[-line_breaks_max - 1 :])
    counted = len(_UNCOUNTED.sub("", lead))
    places = [match.start() for match in _COUNTED.finditer(before)] if counted else []
    at = len(before) if not counted else places[-counted] if counted <= len(places) else 0
    if _UNCOUNTED.match(lead):
        line_breaks = lead[: len(lead) - len(lead.lstrip())].count("\n")
        while at and _UNCOUNTED.match(before, at - 1) and (before[at - 1] != "\n" or line_breaks):
            at -= 1
            line_breaks -= before[at] == "\n"
    return hit - len(before[at:].encode())


def _starts_by_lines(file: FileBytes, old: str) -> Iterator[tuple[int, int]]:
    """Yield where `old` would start if one of its lines is where that line occurs, and 0."""
    lines = [(number, line) for number, line in enumerate(old.split("\n")) if line.strip()]
    if len(lines) > 1:
        longest = sorted(lines, key=lambda item: len(item[1].strip()), reverse=True)
        for number, line in dict.fromkeys((lines[0], lines[-1], *longest[: _ANCHOR_LINES_MAX - 2])):
            yield from _starts_by_line(file, old, number, line)


def _starts_by_parts(file: FileBytes, old: str) -> Iterator[tuple[int, int]]:
    """Yield where the longest line of `old` would start if a part of it occurs, and which character it begins with."""
    line = max(old.split("\n"), key=lambda text: len(text.strip()))
    at = old.index(line)
    for part_at, part in _parts(line):
        lead = line[max(0, part_at - _LEAD_CHARS_MAX) : part_at]
        for hit in _part_hits(file, part):
            yield _start_before(file, hit, lead, line_breaks_max=0), at + part_at - len(lead)


def _starts_by_line(file: FileBytes, old: str, number: int, line: str) -> Iterator[tuple[int, int]]:
    first = old.partition("\n")[0]
    for hit in _part_hits(file, line.strip()):
        if number == 0:
            yield (
                _start_before(file, hit, line[: len(line) - len(line.lstrip())][-_LEAD_CHARS_MAX:], line_breaks_max=0),
                0,
            )
            continue
        start = file.line_start(hit, lines_back=number)
        if start is None:
            continue
        there = file.passage(start, bytes_max=COMPARED_CHARS_MAX).text.partition("\n")[0]
        # The sought text may begin in the middle of its first line.
        lead = there[: len(there) - len(first)] if there.endswith(first) else ""
        yield start + len(lead.encode()), 0


def _part_hits(file: FileBytes, part: str) -> list[int]:
    key = skeleton(part)
    word = _WORD.search(part)
    if word and word.start() == 0 and len(key) >= _ANCHOR_BYTES_MIN:
        return file.skeleton_hits(key, limit=_PART_PLACES_MAX)
    return file.hits(part, limit=_PART_PLACES_MAX)


def _parts(line: str) -> Iterator[tuple[int, str]]:
    """Yield halves and quarters of what a line holds, with where they begin."""
    start, end = len(line) - len(line.lstrip()), len(line.rstrip())
    for count in (2, 4):
        size = (end - start) // count
        if size:
            for at in range(start, start + size * count, size):
                part = line[at : at + size]
                yield at + len(part) - len(part.lstrip()), part.strip()
