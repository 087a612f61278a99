"""What is wrong with a value, in words that a model can act on."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from tool_runtime.payload import path_text

__all__ = ["MismatchError", "Path", "Problem", "shown", "unknown_key"]

Path = tuple[str | int, ...]

_SHOWN_CHARS_MAX = 60


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
        return f"{path_text(self.path)}: {self.message}" if self.path else self.message


class MismatchError(ValueError):
    """Raised when a value does not match its schema; carries every problem."""

    def __init__(self, problems: Iterable[Problem]) -> None:
        self.problems = tuple(problems)
        super().__init__("; ".join(map(str, self.problems)))


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
