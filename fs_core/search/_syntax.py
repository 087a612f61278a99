"""What the parts of a regular expression are, as RE2 reads them, as far as a search must know it. Pure.

Syntax: https://github.com/google/re2/wiki/Syntax. Only of expressions that RE2 accepts are the parts certain.
"""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from enum import Enum, auto
from itertools import pairwise, zip_longest
from typing import Final

__all__ = ["Kind", "Part", "has_case_flag", "literal_text", "parts", "required_text", "unbalanced"]


class Kind(Enum):
    """What a part of an expression is. A FLAGS group holds nothing; SET is for all that stands for one character."""

    LITERAL = auto()
    QUOTED = auto()
    SET = auto()
    LINE_START = auto()
    LINE_END = auto()
    OPEN = auto()
    FLAGS = auto()
    CLOSE = auto()
    OR = auto()
    REPEAT = auto()
    ANY_BYTE = auto()
    OTHER = auto()


@dataclass(frozen=True, slots=True)
class Part:
    """What is `written` from the position `start` on. `text` is what a literal stands for, else about the same."""

    kind: Kind
    start: int
    written: str
    text: str


_PART: Final = re.compile(
    r"""
      \\Q (?P<quoted> .*? ) (?: \\E | \Z )
    | \\x\{ (?P<braced> [0-9A-Fa-f]{1,6} ) \} | \\x (?P<hex> [0-9A-Fa-f]{2} )
    | \\ (?P<octal> 0[0-7]{0,2} | [1-7][0-7]{1,2} )
    | (?P<named_set> \\[pP] (?: \{[^}]*\} | . ) )
    | \\ (?P<escaped> . )
    | (?P<set> \[ \^? \]? (?: \\. | \[:[^\]:]*:\] | [^\]\\] )* \] )
    | (?P<flags> \(\? [A-Za-z]* (?: -[A-Za-z]+ )? \) )
    | (?P<open> \( (?: \? (?: P?<\w*> | [A-Za-z]* (?: -[A-Za-z]+ )? : )? )? )
    | (?P<repeat> [*+?] | \{ \d+ (?: ,\d* )? \} )
    | (?P<single> . )
    """,
    re.VERBOSE | re.DOTALL,
)
_GROUPS: Final = {
    "set": Kind.SET,
    "named_set": Kind.SET,
    "flags": Kind.FLAGS,
    "open": Kind.OPEN,
    "repeat": Kind.REPEAT,
    "quoted": Kind.QUOTED,
}
_SINGLE: Final = {
    "^": Kind.LINE_START,
    "$": Kind.LINE_END,
    ")": Kind.CLOSE,
    "|": Kind.OR,
    ".": Kind.SET,
    # By itself it stands for itself, or is no expression.
    "\\": Kind.OTHER,
    "[": Kind.OTHER,
    "{": Kind.OTHER,
}
_CONTROLS: Final = {"a": "\a", "f": "\f", "n": "\n", "r": "\r", "t": "\t", "v": "\v"}
_ESCAPES: Final = {
    "A": Kind.LINE_START,
    "z": Kind.LINE_END,
    "C": Kind.ANY_BYTE,
    **dict.fromkeys("dDsSwW", Kind.SET),
}
_CODE_POINT_MAX: Final = 0x10FFFF


def parts(pattern: str) -> list[Part]:
    """Return the parts of `pattern`, which cover it."""
    return [_part(match) for match in _PART.finditer(pattern)]


def _part(match: re.Match[str]) -> Part:
    name = match.lastgroup
    assert name is not None  # noqa: S101 - every alternative has a group
    text = match[name]
    match name:
        case "braced" | "hex" | "octal":
            value = int(text, 8 if name == "octal" else 16)
            kind = Kind.LITERAL if value <= _CODE_POINT_MAX else Kind.OTHER
            text = chr(value) if kind is Kind.LITERAL else text
        case "escaped" if text in _CONTROLS:
            kind, text = Kind.LITERAL, _CONTROLS[text]
        case "escaped":
            is_itself = text.isascii() and (not text.isalnum())
            kind = Kind.LITERAL if is_itself else _ESCAPES.get(text, Kind.OTHER)
        case "single":
            kind = _SINGLE.get(text, Kind.LITERAL)
        case _:
            kind = _GROUPS[name]
    return Part(kind, match.start(), match[0], text)


def literal_text(expression: Sequence[Part]) -> str | None:
    """Return the text that an expression of literals alone stands for."""
    if all(part.kind is Kind.LITERAL for part in expression):
        return "".join(part.text for part in expression)
    return None


def required_text(expression: Sequence[Part]) -> str:
    """Return the longest text that certainly stands in everything that an expression matches, or the empty text."""
    if has_case_flag(expression) or _repeats_beyond(expression):
        return ""
    outer = list(_outside_groups(expression))
    if any(part.kind is Kind.OR for part in outer):
        return ""
    return max(_runs(outer), key=len, default="")


def _repeats_beyond(expression: Sequence[Part]) -> bool:
    """Whether a repetition stands behind what holds nothing: it then is one of what stands before that."""
    return any(
        follower.kind is Kind.REPEAT and (part.kind is Kind.FLAGS or (part.kind is Kind.QUOTED and not part.text))
        for part, follower in pairwise(expression)
    )


def _outside_groups(expression: Sequence[Part]) -> Iterator[Part]:
    """Yield the parts that are in no group, and of a group its start."""
    depth = 0
    for part in expression:
        depth -= part.kind is Kind.CLOSE
        if depth == 0 and part.kind is not Kind.CLOSE:
            yield part
        depth += part.kind is Kind.OPEN


def _runs(expression: Sequence[Part]) -> Iterator[str]:
    """Yield the texts of literals that follow upon one another and are there at least once."""
    run = ""
    for part, follower in zip_longest(expression, expression[1:]):
        repeat = follower.text if follower is not None and follower.kind is Kind.REPEAT else ""
        if part.kind is Kind.LITERAL and repeat in {"", "+"}:
            run += part.text
        if part.kind is not Kind.LITERAL or repeat:
            yield run
            run = ""
    yield run


def has_case_flag(expression: Sequence[Part]) -> bool:
    """Whether a flag within the expression makes case no matter."""
    groups = (
        part.text for part in expression if part.kind in {Kind.FLAGS, Kind.OPEN} and part.text.endswith((")", ":"))
    )
    return any("i" in group for group in groups)


def unbalanced(expression: Sequence[Part]) -> int | None:
    """Return the position of the first `)` that closes nothing, or else of the last `(` that nothing closes."""
    open_at: list[int] = []
    for part in expression:
        if part.kind is Kind.OPEN:
            open_at.append(part.start)
        elif part.kind is Kind.CLOSE:
            if not open_at:
                return part.start
            open_at.pop()
    return open_at[-1] if open_at else None
