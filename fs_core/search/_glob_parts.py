"""The parts of a glob, with where each of them stands, and its alternatives. Pure."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from enum import Enum, auto
from typing import Final

from fs_core.search.pattern import PatternError

__all__ = ["Part", "PartKind", "alternatives", "parts_of"]

GLOB_CHARS_MAX: Final = 4_096
ALTERNATIVES_MAX: Final = 256
BRACES_DEPTH_MAX: Final = 8
PARTS_MAX: Final = 65_536
"""Parts of all alternatives together."""

_SURROGATE: Final = re.compile("[\ud800-\udfff]")


class PartKind(Enum):
    """What a part of a glob stands for."""

    CHARACTER = auto()
    STAR = auto()
    QUESTION = auto()
    SET = auto()
    SLASH = auto()
    OPEN = auto()
    COMMA = auto()
    CLOSE = auto()


_KINDS: Final = {
    "*": PartKind.STAR,
    "?": PartKind.QUESTION,
    "/": PartKind.SLASH,
    "{": PartKind.OPEN,
    "}": PartKind.CLOSE,
}


@dataclass(frozen=True, slots=True)
class Part:
    """One part. `text` is the character itself, or a regular expression of a set of characters."""

    kind: PartKind
    text: str
    position: int


def parts_of(pattern: str) -> Sequence[Part]:
    """Return the parts of a pattern, with all braces closed.

    Raises:
        PatternError: the pattern is blank, too long, or something in it is not closed.
    """
    if not pattern.strip():
        raise PatternError("glob: the pattern is blank; * means all names, ** all files at any depth")
    if len(pattern) > GLOB_CHARS_MAX:
        raise PatternError(f"glob: the pattern has {len(pattern)} characters; at most {GLOB_CHARS_MAX} are used")
    if "\0" in pattern:
        raise _fault("a NUL character is in no name", pattern.index("\0"))
    if not pattern.isascii() and (surrogate := _SURROGATE.search(pattern)) is not None:
        raise _fault("a lone surrogate is in no name", surrogate.start())
    if pattern.startswith("!"):
        raise _fault("a pattern cannot exclude; write \\! for a name that begins with !", 0)
    parts = list(_scanned(pattern))
    _refuse_braces_left_open(parts)
    return parts


def _scanned(pattern: str) -> Iterator[Part]:
    depth = position = 0
    while position < len(pattern):
        character, start = pattern[position], position
        position += 1
        if character == "\\":
            if position == len(pattern):
                raise _fault("nothing follows the \\ at the end", start)
            yield Part(PartKind.CHARACTER, pattern[position], start)
            position += 1
        elif character == "[":
            position = _end_of_set(pattern, start)
            yield Part(PartKind.SET, _set_regex(pattern[start + 1 : position - 1], start), start)
        else:
            kind = _KINDS.get(character, PartKind.CHARACTER)
            if character == "," and depth > 0:
                kind = PartKind.COMMA
            elif character == "}" and depth == 0:
                raise _fault("} closes no {; write \\} for the character itself", start)
            depth += (kind is PartKind.OPEN) - (kind is PartKind.CLOSE)
            if depth > BRACES_DEPTH_MAX:
                raise _fault(f"more than {BRACES_DEPTH_MAX} braces in each other", start)
            yield Part(kind, character, start)


def _end_of_set(pattern: str, start: int) -> int:
    """Return the position behind the `]` that closes the set; one that comes first belongs to it."""
    first = start + 1
    if pattern[first : first + 1] in {"!", "^"}:
        first += 1
    end = pattern.find("]", first + 1)
    if end < 0 or "/" in pattern[start:end]:
        raise _fault("[ is not closed by ]; write \\[ for the character itself", start)
    return end + 1


def _set_regex(inner: str, start: int) -> str:
    """Return a regular expression of a set of characters; the inner text is not empty."""
    negates = inner[0] in "!^"
    members, position = inner[negates:], 0
    ranges: list[str] = []
    while position < len(members):
        if members[position + 1 : position + 2] == "-" and position + 2 < len(members):
            low, high = members[position], members[position + 2]
            if low > high:
                raise _fault(f"the range {low}-{high} runs backwards", start + 1 + negates + position)
            ranges.append(f"{re.escape(low)}-{re.escape(high)}")
            position += 3
        else:
            ranges.append(re.escape(members[position]))
            position += 1
    return f"[{'^' if negates else ''}{''.join(ranges)}]"


def _refuse_braces_left_open(parts: Sequence[Part]) -> None:
    opened: list[int] = []
    for part in parts:
        if part.kind is PartKind.OPEN:
            opened.append(part.position)
        elif part.kind is PartKind.CLOSE:
            opened.pop()
    if opened:
        raise _fault("{ is not closed by }; write \\{ for the character itself", opened[-1])


def alternatives(parts: Sequence[Part]) -> Sequence[Sequence[Part]]:
    """Return all spellings that the braces in `parts` stand for, in order and without braces.

    Raises:
        PatternError: there are too many.
    """
    done: list[Sequence[Part]] = []
    waiting = [parts]
    size = 0
    while waiting:
        present = waiting.pop()
        opening = next((index for index, part in enumerate(present) if part.kind is PartKind.OPEN), None)
        if opening is None:
            done.append(present)
            size += len(present)
        else:
            choices, closing = _choices(present, opening)
            waiting.extend([*present[:opening], *choice, *present[closing + 1 :]] for choice in reversed(choices))
        if len(done) + len(waiting) > ALTERNATIVES_MAX or size > PARTS_MAX:
            raise PatternError(
                f"glob: the braces stand for more than {ALTERNATIVES_MAX} patterns, or for very long ones"
            )
    return done


def _choices(parts: Sequence[Part], opening: int) -> tuple[list[Sequence[Part]], int]:
    """Return what stands between the brace at `opening`, its commas and its end, and where that end is."""
    choices: list[Sequence[Part]] = []
    depth, start = 0, opening + 1
    for index in range(opening, len(parts)):
        kind = parts[index].kind
        depth += (kind is PartKind.OPEN) - (kind is PartKind.CLOSE)
        if depth == 0 or (depth == 1 and kind is PartKind.COMMA):
            choices.append(parts[start:index])
            start = index + 1
        if depth == 0:
            return choices, index
    raise AssertionError("every brace is closed")


def _fault(what: str, position: int) -> PatternError:
    return PatternError(f"glob: {what}, at position {position}", position=position)
