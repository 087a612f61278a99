"""Which names one component of a glob means. Pure.

Every wildcard but `*` is one character, so a `*` takes what is nearest and never gives it back: one pass over a name.
"""

import re
from collections.abc import Sequence
from typing import Final

from fs_core.search._glob_parts import Part, PartKind

__all__ = ["ANY", "NameMatcher", "NamePattern"]

_STAR_KIND: Final = PartKind.STAR


class NamePattern:
    """A pattern of one name.

    Attributes:
        literal: The only name it means, if it has no wildcards.
        suffix: What the names end with, if that is all it says; `""` for any name.
        regex: A regular expression of the whole name.
    """

    __slots__ = ("_match", "literal", "regex", "suffix")

    def __init__(self, parts: Sequence[Part]) -> None:
        kinds = [part.kind for part in parts]
        text = "".join(part.text for part in parts)
        is_plain = PartKind.QUESTION not in kinds and PartKind.SET not in kinds
        stars = len(kinds) - kinds[::-1].index(_STAR_KIND) if _STAR_KIND in kinds else 0
        leads = stars == kinds.count(_STAR_KIND)
        self.literal = text if is_plain and not stars else None
        self.suffix = text[stars:] if is_plain and stars and leads else None
        self.regex = _regex(parts)
        self._match = re.compile(self.regex, re.DOTALL).fullmatch

    def matches(self, name: str) -> bool:
        """Tell whether it means `name`."""
        return name == self.literal if self.literal is not None else self._match(name) is not None


class NameMatcher:
    """Several patterns of one name: which names at least one of them means."""

    __slots__ = ("_literals", "_match", "_suffixes", "is_all")

    def __init__(self, patterns: Sequence[NamePattern]) -> None:
        suffixes = [pattern.suffix for pattern in patterns if pattern.suffix is not None]
        literals = [pattern.literal for pattern in patterns if pattern.literal is not None]
        self.is_all = "" in suffixes
        self._suffixes = tuple(suffixes) if len(suffixes) == len(patterns) else None
        self._literals = frozenset(literals) if len(literals) == len(patterns) else None
        self._match = re.compile("|".join(pattern.regex for pattern in patterns), re.DOTALL).fullmatch

    def meant(self, names: Sequence[str]) -> Sequence[str]:
        """Return those of `names` that are meant, in order."""
        if self.is_all:
            return names
        if self._suffixes is not None:
            suffixes = self._suffixes
            return [name for name in names if name.endswith(suffixes)]
        if self._literals is not None:
            literals = self._literals
            return [name for name in names if name in literals]
        return list(filter(self._match, names))

    def which(self, names: Sequence[str]) -> Sequence[bool]:
        """Return whether each of `names` is meant."""
        meant = self.meant(names)
        if len(meant) == len(names):
            return [True] * len(names)
        chosen = frozenset(meant)
        return [name in chosen for name in names]


def _regex(parts: Sequence[Part]) -> str:
    """Return the expression of a name; all that follows a `*` is found at the first place, but for the end."""
    pieces: list[list[str]] = [[]]
    for part in parts:
        match part.kind:
            case PartKind.STAR:
                pieces.append([])
            case PartKind.QUESTION:
                pieces[-1].append(".")
            case PartKind.SET:
                pieces[-1].append(part.text)
            case _:
                pieces[-1].append(re.escape(part.text))
    first, *others = ["".join(piece) for piece in pieces]
    if not others:
        return first
    *middle, last = others
    return first + "".join(f"(?>.*?{piece})" for piece in middle if piece) + f".*{last}"


ANY: Final = NamePattern([Part(PartKind.STAR, "*", 0)])
"""Any name."""
