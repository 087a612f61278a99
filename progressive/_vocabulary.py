"""Terms that contain a piece of text, found without looking at every term."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from progressive.words import is_unspaced

__all__ = ["Vocabulary"]

_GRAM_CHARS: Final = 3


class Vocabulary:
    """A set of terms, indexed by their trigrams, and pairs of characters of scripts without spaces by those."""

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

    def containing(self, piece: str) -> Iterator[str]:
        """Yield the longer terms that hold a piece.

        A piece of 3 characters must be their beginning, and a shorter one is held by none, except that one character
        of a script without spaces is held by pairs of such.
        """
        rarest = min((self._terms_by_gram.get(gram, set[str]()) for gram in _grams(piece)), key=len, default=set[str]())
        beginning = len(piece) == _GRAM_CHARS and not is_unspaced(piece)
        for term in rarest:
            if len(term) > len(piece) and (term.startswith(piece) if beginning else piece in term):
                yield term


def _grams(term: str) -> set[str]:
    if is_unspaced(term):
        return set(term)
    return {term[at : at + _GRAM_CHARS] for at in range(len(term) - _GRAM_CHARS + 1)}
