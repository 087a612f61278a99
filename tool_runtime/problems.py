"""What is wrong with a value, in words that a model can act on."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from tool_runtime.payload import path_text

__all__ = ["MismatchError", "Path", "Problem", "cut", "json_text", "shown", "unknown_key"]

Path = tuple[str | int, ...]

_SHOWN_CHARS_MAX = 60
_PATH_CHARS_MAX = 200
_CLAUSE_CHARS_MAX = 1_000
_PROBLEMS_TOLD_MAX = 20
_TEXT_CHARS_MAX = 4_000
_NAMES_TOLD_MAX = 50
_NAME_CHARS_MAX = 60
# That of the names leaves room for how many there are.
_NAMES_CHARS_MAX = 850


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
        """Return one line of at most 1,200 characters or so."""
        clause = cut(self.message, _CLAUSE_CHARS_MAX)
        return f"{cut(path_text(self.path), _PATH_CHARS_MAX)}: {clause}" if self.path else clause


class MismatchError(ValueError):
    """Raised when a value does not match its schema.

    The text tells the first problems, in 4,000 characters or so, and how many there are more.

    Attributes:
        problems: All that were found.
    """

    def __init__(self, problems: Iterable[Problem]) -> None:
        self.problems = tuple(problems)
        told: list[str] = []
        chars_left = _TEXT_CHARS_MAX
        for text in map(str, self.problems[:_PROBLEMS_TOLD_MAX]):
            chars_left -= len(text)
            if chars_left < 0:
                break
            told.append(text)
        if len(told) < len(self.problems):
            told.append(f"and {len(self.problems) - len(told)} more")
        super().__init__("; ".join(told))


def cut(text: str, chars_max: int) -> str:
    """Return `text`, shortened if it is longer than `chars_max`."""
    return text if len(text) <= chars_max else f"{text[:chars_max]}..."


def unknown_key(known: Sequence[str]) -> str:
    """Return the clause for a key that nothing declares, with the first of those that are declared."""
    told: list[str] = []
    chars_left = _NAMES_CHARS_MAX
    for name in known[:_NAMES_TOLD_MAX]:
        told.append(cut(name, _NAME_CHARS_MAX))
        chars_left -= len(f"{told[-1]}, ")
        if chars_left < 0:
            break
    if len(told) < len(known):
        told.append(f"and {len(known) - len(told)} more")
    return f"unknown key, known: {', '.join(told)}" if told else "unknown key, none is known here"


def shown(value: object) -> str:
    """Return a short, one-line form of a value for a message."""
    if isinstance(value, str) and len(value) > _SHOWN_CHARS_MAX:
        return f"a string of {len(value)} characters"
    if isinstance(value, dict):
        return "an object"
    if isinstance(value, list):
        return "an array"
    return json_text(value) if isinstance(value, str) else cut(json_text(value), _SHOWN_CHARS_MAX)


def json_text(value: object) -> str:
    """Return a JSON value in one line of printable characters."""
    text = json.dumps(value, ensure_ascii=False, default=str)
    return text if text.isprintable() else json.dumps(value, default=str)
