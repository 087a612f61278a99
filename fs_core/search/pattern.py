"""Patterns that lines are searched for, and what is wrong with one. No I/O.

A pattern is a regular expression of RE2 that is matched with each line by itself, as `read` shows it: `^` and `$` are
its ends, and nothing in it matches a newline. Whatever the pattern, the time is linear in the text.
"""

from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import Final

from fs_core._bytes_search import find
from fs_core.search._faults import TOO_LARGE, explain
from fs_core.search._re2 import Expression, ExpressionError, check_expression, compile_expression
from fs_core.search._syntax import Kind, Part, literal_text, parts, required_text

__all__ = ["PATTERN_CHARS_MAX", "LinePattern", "PatternError", "line_pattern"]

PATTERN_CHARS_MAX: Final = 2_048
_PROGRAM_MAX: Final = 20_000
_SHOWN_CHARS_MAX: Final = 40

_BRIEF_COST: Final = 5_000_000
_STEP_COST: Final = 100_000_000
_LINE_COST: Final = 2_000_000_000
"""How many bytes are searched at once on an event loop, in one go, and of one line, for an expression of one
instruction. An expression takes at most about 2 ns for one byte and instruction, and mostly far less."""

_STEP_BYTES_MAX: Final = 1 << 20
_LINE_BYTES_MAX: Final = 16 << 20

_REQUIRED_CHARS_MIN: Final = 2


class PatternError(ValueError):
    """A pattern or glob that cannot be used, in one line.

    Attributes:
        position: Where in the pattern the fault begins, in characters counted from 0, if it is at one place.
    """

    def __init__(self, message: str, *, position: int | None = None) -> None:
        super().__init__(message)
        self.position = position


class LinePattern(ABC):
    """What lines are searched for. May be used by several threads.

    Attributes:
        minds_cr: Whether a CR before an LF, which is not part of a line, has to be removed before a text is searched.
        brief_bytes: How much text takes at most about ten milliseconds.
        step_bytes: How much text is searched in one go, so that a search can be given up in between.
        line_bytes_max: Longer lines are not searched.
    """

    def __init__(self, *, minds_cr: bool, cost: int) -> None:
        """Set what follows from `cost`, the number of instructions that a byte may take."""
        self.minds_cr = minds_cr
        self.brief_bytes = _BRIEF_COST // cost
        self.step_bytes = min(_STEP_COST // cost, _STEP_BYTES_MAX)
        self.line_bytes_max = min(_LINE_COST // cost, _LINE_BYTES_MAX)

    @abstractmethod
    def is_possible(self, text: bytes) -> bool:
        """Tell quickly whether a line of `text` may match; false is certain."""

    @abstractmethod
    def find(self, text: bytes, start: int, end: int) -> tuple[int, int] | None:
        """Return where the first match lies, which is within a line; `start` and `end` are those of lines."""


class _Literal(LinePattern):
    """Text that stands for itself."""

    def __init__(self, text: str) -> None:
        super().__init__(minds_cr="\r" in text, cost=1)
        self._needle = text.encode()

    def is_possible(self, text: bytes) -> bool:
        return find(text, self._needle) >= 0

    def find(self, text: bytes, start: int, end: int) -> tuple[int, int] | None:
        position = find(text, self._needle, start)
        stop = position + len(self._needle)
        return (position, stop) if position >= 0 and stop <= end else None


class _Expression(LinePattern):
    """A regular expression, and a text that stands in everything that it matches, if one is known."""

    def __init__(self, expression: Expression, required: str) -> None:
        super().__init__(minds_cr=True, cost=expression.programsize)
        self._expression = expression
        self._required = required.encode() if len(required) >= _REQUIRED_CHARS_MIN else b""

    def is_possible(self, text: bytes) -> bool:
        return not self._required or find(text, self._required) >= 0

    def find(self, text: bytes, start: int, end: int) -> tuple[int, int] | None:
        if self._required:
            position = find(text, self._required, start)
            if position < 0 or position >= end:
                return None
            start = max(start, text.rfind(b"\n", start, position) + 1)
        match = self._expression.search(text, start, end)
        return None if match is None else match.span()


def line_pattern(pattern: str, *, ignore_case: bool = False) -> LinePattern:
    """Return what finds the lines that `pattern` matches.

    Raises:
        PatternError: it is no regular expression, asks for what takes more than linear time, names a newline, or is
            larger than is searched for.
    """
    if len(pattern) > PATTERN_CHARS_MAX:
        raise PatternError(f"the pattern has {len(pattern)} characters; at most {PATTERN_CHARS_MAX} are searched for")
    try:
        pattern.encode()
    except UnicodeEncodeError as error:
        raise _refusal(pattern, "half a surrogate pair is no character", error.start) from error
    _check(pattern)  # before its parts are relied on
    all_parts = parts(pattern)
    _refuse_what_ends_a_line(pattern, all_parts)
    literal = literal_text(all_parts)
    if literal and (not ignore_case or literal.lower() == literal.upper()):
        return _Literal(literal)
    try:
        expression = compile_expression("".join(map(_per_line, all_parts)), ignore_case=ignore_case)
    except ExpressionError as error:
        raise _refusal(pattern, TOO_LARGE, None) from error
    if expression.programsize > _PROGRAM_MAX:
        raise _refusal(pattern, TOO_LARGE, None)
    return _Expression(expression, "" if ignore_case else required_text(all_parts))


def _check(pattern: str) -> None:
    try:
        check_expression(pattern)
    except ExpressionError as error:
        fault = explain(pattern, error)
        raise _refusal(pattern, fault.text, fault.position) from error


def _per_line(part: Part) -> str:
    """Return the part of a pattern so that the ends of a text are those of a line, whatever flags say."""
    match part.kind:
        case Kind.LINE_START:
            return "(?m:^)"
        case Kind.LINE_END:
            return "(?m:$)"
        case _:
            return part.written


def _refuse_what_ends_a_line(pattern: str, all_parts: Sequence[Part]) -> None:
    for part in all_parts:
        if part.kind in {Kind.LITERAL, Kind.QUOTED} and "\n" in part.text:
            fault = "lines are matched one by one, so no newline ever matches; write $ for the end of a line"
            raise _refusal(pattern, fault, part.start)
        if part.kind is Kind.ANY_BYTE:
            raise _refusal(pattern, r"\C matches a part of a character; write . for any character", part.start)


def _refusal(pattern: str, fault: str, position: int | None) -> PatternError:
    where = "" if position is None else f" at position {position}, {_shown(pattern[position:])}"
    return PatternError(f"bad pattern{where}: {fault}", position=position)


def _shown(text: str) -> str:
    shown = text if len(text) <= _SHOWN_CHARS_MAX else f"{text[:_SHOWN_CHARS_MAX]}..."
    return f"`{shown}`" if shown.isprintable() else repr(shown)
