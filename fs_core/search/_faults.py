"""What is wrong with a regular expression, for whoever wrote it, and where. Pure.

RE2 names a fault and the part that it is about, but not where that stands.
"""

from dataclasses import dataclass
from typing import Final

from fs_core.search._re2 import ExpressionError, check_expression
from fs_core.search._syntax import parts, unbalanced

__all__ = ["TOO_LARGE", "Fault", "explain"]

TOO_LARGE: Final = "it is too large when its repetitions are written out; repeat less, or search for a part of it"


@dataclass(frozen=True, slots=True)
class Fault:
    """A clause that says what is wrong and what to write, and the position of the first character it is about."""

    text: str
    position: int | None


_LOOK_AROUND: Final = (
    "look-around is not supported, since patterns run in linear time; search for the part that has to be there and "
    "leave out the rest by reading the result"
)
_BACK_REFERENCE: Final = "back-references are not supported, since patterns run in linear time; write the text out"
_GROUPS: Final = (
    ("(?=", _LOOK_AROUND),
    ("(?!", _LOOK_AROUND),
    ("(?<=", _LOOK_AROUND),
    ("(?<!", _LOOK_AROUND),
    ("(?P=", _BACK_REFERENCE),
    ("(?P>", "recursion is not supported"),
    ("(?R", "recursion is not supported"),
    ("(?&", "recursion is not supported"),
    ("(?>", "atomic groups are not supported, and not needed in linear time; write (?: instead"),
    ("(?|", "branch reset is not supported; write (?: instead"),
    ("(?#", "comments are not supported; leave it out"),
    ("(?(", "conditions are not supported; write the alternatives out with |"),
    ("(?x", "the flag x is not supported; write the pattern without spaces and comments"),
)
_ESCAPES: Final = (
    (r"\Z", "write $ for the end of a line"),
    (r"\G", "write ^ for the start of a line"),
    (r"\K", "leave it out: whole lines are shown"),
    (r"\R", "write $ for the end of a line"),
    (r"\h", r"write [ \t] for spaces and tabs"),
    (r"\e", r"write \x1b"),
    (r"\u", r"write \x{...} with the code point in hexadecimal"),
    (r"\U", r"write \x{...} with the code point in hexadecimal"),
    (r"\N", r"write \x{...} with the code point in hexadecimal"),
    (r"\k", _BACK_REFERENCE),
    (r"\g", _BACK_REFERENCE),
    *((rf"\{digit}", _BACK_REFERENCE) for digit in range(1, 10)),
)


_CUT_CHARS_MAX: Final = 4

_ESCAPE: Final = r"write \\ for a backslash"

_FAULTS: Final = {
    "missing )": r"this ( is never closed; write \( for the character",
    "unexpected )": r"there is no ( for this ); write \) for the character",
    "missing ]": r"this [ is never closed; write \[ for the character",
    "trailing \\": r"nothing follows this backslash; write \\ for the character",
    "no argument for repetition operator": r"there is nothing that {0} could repeat; write \{0} for the character",
    "bad repetition operator": "{0} repeats a repetition; put what is repeated into (?:...)",
    "invalid repetition size": (
        "{0} is no possible repetition: the lower number comes first, and it is at most 1000 times, counting "
        "repetitions within"
    ),
    "invalid named capture group": "this is no name of a group; write (?P<name>...), or (...) without one",
    "invalid character class range": "the range {0} ends before it begins, or has an end that is no character",
    "pattern too large - compile failed": TOO_LARGE,
    "pattern too large - reverse compile failed": TOO_LARGE,
}


def explain(pattern: str, error: ExpressionError) -> Fault:
    """Return what is wrong with `pattern`, which RE2 refused with `error`."""
    position = _position(pattern, error)
    rest = "" if position is None else pattern[position:]
    return Fault(_text(error, rest), position)


def _text(error: ExpressionError, rest: str) -> str:
    """Say it; `rest` is the pattern from the fault on."""
    fragment = error.fragment if error.fragment.isprintable() else repr(error.fragment)[1:-1]
    match error.fault:
        case "bad repetition operator" if len(fragment) > 1 and fragment.endswith("+"):
            return f"possessive repetition is not supported, and not needed in linear time; write {fragment[:-1]}"
        case "invalid perl operator":
            return _first(_GROUPS, rest) or "this is no kind of group; write \\( for the character"
        case "invalid escape sequence":
            return f"{fragment} is no escape; {_first(_ESCAPES, rest) or _ESCAPE}"
        case "invalid character class range" if fragment.startswith(("\\", "[:")):
            return f"there is no class {fragment}"
        case fault:
            return _FAULTS.get(fault, fault).format(fragment)


def _first(table: tuple[tuple[str, str], ...], rest: str) -> str | None:
    return next((text for start, text in table if rest.startswith(start)), None)


def _position(pattern: str, error: ExpressionError) -> int | None:
    fault, fragment = error.fault, error.fragment
    if fault in {"missing )", "unexpected )"}:
        return unbalanced(parts(pattern))
    if fault == "trailing \\":
        return len(pattern) - 1
    if not fragment:
        return None
    position = pattern.rfind(fragment, 0, _fault_end(pattern, (fault, fragment)))
    return position if position >= 0 else None


def _fault_end(pattern: str, refusal: tuple[str, str]) -> int:
    """Return how many characters it takes until `pattern` is refused like that, whatever follows.

    RE2 reads from left to right and stops at a fault. Of a pattern that is cut off within a group or an escape it may
    say the same, so what is found by halving is wrong if a little more is refused otherwise or not at all.
    """
    low = 0
    while True:
        high = len(pattern)
        while high - low > 1:
            middle = (low + high) // 2
            if _refusal(pattern[:middle]) == refusal:
                high = middle
            else:
                low = middle
        longer = range(high + 1, min(high + _CUT_CHARS_MAX, len(pattern)) + 1)
        others = [length for length in longer if _refusal(pattern[:length]) != refusal]
        if not others:
            return high
        low = others[-1]


def _refusal(pattern: str) -> tuple[str, str] | None:
    try:
        check_expression(pattern)
    except ExpressionError as error:
        return error.fault, error.fragment
    return None
