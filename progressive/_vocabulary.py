"""Terms that contain a piece of text, found without looking at every term."""

from __future__ import annotations

from typing import Final

__all__ = ["PIECE_CHARS_MIN", "Vocabulary"]

PIECE_CHARS_MIN: Final = 3
"""A shorter piece stands in too many terms by accident, and is looked for in none."""

_NO_TERMS: Final = frozenset[str]()


class Vocabulary:
    """A set of terms, indexed by their trigrams."""

    def __init__(self) -> None:
        self._terms_by_gram: dict[str, set[str]] = {}

    def add(self, term: str) -> None:
        """Add a term that is not there."""
        for gram in _grams(term):
            self._terms_by_gram.setdefault(gram, set()).add(term)

    def remove(self, term: str) -> None:
        """Remove a term that is there."""
        for gram in _grams(term):
            terms = self._terms_by_gram[gram]
            terms.remove(term)
            if not terms:
                del self._terms_by_gram[gram]

    def containing(self, piece: str, *, longer_by_min: int) -> list[str]:
        """Return the terms that hold a piece and have at least so many characters more, in no order.

        A piece of 3 characters must be their beginning, and a shorter one is held by none.
        """
        sets = [self._terms_by_gram.get(gram, _NO_TERMS) for gram in _grams(piece)]
        chars_min = len(piece) + longer_by_min
        candidates = [term for term in min(sets, key=len, default=_NO_TERMS) if len(term) >= chars_min]
        if len(piece) == PIECE_CHARS_MIN:
            return [term for term in candidates if term.startswith(piece)]
        return [term for term in candidates if piece in term]


def _grams(term: str) -> set[str]:
    return {term[at : at + PIECE_CHARS_MIN] for at in range(len(term) - PIECE_CHARS_MIN + 1)}
