"""What a query asks for: its terms, what each of them counts, and which of them follow each other."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from typing import Final

from progressive.words import FUNCTION_WORDS, REQUEST_WORDS, stem, words

__all__ = ["Query", "Wanted", "parsed"]

# Several times the 500 graphemes of a query: one of them may be made of any number of code points.
_CHARS_MAX: Final = 4_000
# Over twice the words of English that 500 graphemes hold.
_WORDS_MAX: Final = 200
_REQUEST_WEIGHT: Final = 0.3


@dataclass(frozen=True, slots=True)
class Wanted:
    """One term that a query asks for.

    Attributes:
        term: As the index spells it: `citi` for `cities`.
        weight: 1, or less for a word by which people ask for anything.
        piece: What longer terms are searched for: as much of the term as its word begins with (`cit` for `city`), so
            that half a word finds the whole. Empty for a function word.
    """

    term: str
    weight: float
    piece: str


@dataclass(frozen=True, slots=True)
class Query:
    """A query as the ranking takes it.

    Attributes:
        wanted: Its different terms, in order.
        pairs: Terms that follow each other, each pair once, in order.
    """

    wanted: tuple[Wanted, ...]
    pairs: tuple[tuple[str, str], ...]


def parsed(text: str) -> Query:
    """Return what a text asks for; its first 4,000 code points count, and of those the first 200 words."""
    found = words(text, chars_max=_CHARS_MAX)
    # A query of function words alone may name a tool: they count if there is nothing else.
    telling = ([word for word in found if word not in FUNCTION_WORDS] or found)[:_WORDS_MAX]
    wanted: dict[str, Wanted] = {}
    for word in telling:
        one = _wanted(word)
        if one.term not in wanted or wanted[one.term].weight < one.weight:
            wanted[one.term] = one
    return Query(tuple(wanted.values()), tuple(dict.fromkeys(pairwise(map(stem, telling)))))


def _wanted(word: str) -> Wanted:
    term = stem(word)
    piece = "" if word in FUNCTION_WORDS else _shared_beginning(term, word)
    return Wanted(term, _REQUEST_WEIGHT if word in REQUEST_WORDS else 1.0, piece)


def _shared_beginning(term: str, word: str) -> str:
    for at, (a, b) in enumerate(zip(term, word, strict=False)):
        if a != b:
            return term[:at]
    return min(term, word, key=len)
