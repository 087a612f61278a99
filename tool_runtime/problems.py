"""What is wrong with a value, in words that a model can act on."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from tool_runtime.payload import path_text

__all__ = ["MismatchError", "Path", "Problem", "cut", "shown", "unknown_key"]

Path = tuple[str | int, ...]

_SHOWN_CHARS_MAX = 60
_PATH_CHARS_MAX = 200
_PROBLEMS_TOLD_MAX = 20


@dataclass(frozen=True, slots=True)
class Problem:
    """One thing wrong with a value.

    Attributes:
        path: Where, from the root of the value.
        message: What, as one clause.
        integer_expected: Whether an integer would have been right there.
    """

    path: Path
    message: str
    integer_expected: bool = False

    def __str__(self) -> str:
        return f"{cut(path_text(self.path), _PATH_CHARS_MAX)}: {self.message}" if self.path else self.message


class MismatchError(ValueError):
    """Raised when a value does not match its schema; carries every problem."""

    def __init__(self, problems: Iterable[Problem]) -> None:
        self.problems = tuple(problems)
        told = [str(problem) for problem in self.problems[:_PROBLEMS_TOLD_MAX]]
        if len(self.problems) > _PROBLEMS_TOLD_MAX:
            told.append(f"and {len(self.problems) - _PROBLEMS_TOLD_MAX} more")
        super().__init__("; ".join(told))


def cut(text: str, chars_max: int) -> str:
    """Return `text`, shortened if it is longer than `chars_max`."""
    return text if len(text) <= chars_max else f"{text[:chars_max]}..."


def unknown_key(known: Sequence[str]) -> str:
    """Return the clause for a key that nothing declares."""
    return f"unknown key, known: {', '.join(known)}" if known else "unknown key, none is known here"


def shown(value: object) -> str:
    """Return a short, one-line form of a value for a message."""
    if isinstance(value, str):
        if len(value) > _SHOWN_CHARS_MAX:
            return f"a string of {len(value)} characters"
        return f'"{value}"' if value.isprintable() else ascii(value)
    if isinstance(value, dict):
        return "an object"
    if isinstance(value, list):
        return "an array"
    text = "null" if value is None else str(value)
    return text.lower() if isinstance(value, bool) else text[:_SHOWN_CHARS_MAX]
