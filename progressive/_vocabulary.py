"""Terms that contain a piece of text, found without looking at every term."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

__all__ = ["Vocabulary"]

_GRAM_CHARS: Final = 3
# A shorter piece stands inside too many words by chance.
_INFIX_CHARS_MIN: Final = 4


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

    def containing(self, piece: str) -> Iterator[str]:
        """Yield the longer terms that start with a piece of at least 3 characters, or hold one of at least 4."""
        rarest = min((self._terms_by_gram.get(gram, set[str]()) for gram in _grams(piece)), key=len, default=set[str]())
        infix = len(piece) >= _INFIX_CHARS_MIN
        for term in rarest:
            if len(term) > len(piece) and (piece in term if infix else term.startswith(piece)):
                yield term


def _grams(term: str) -> set[str]:
    return {term[at : at + _GRAM_CHARS] for at in range(len(term) - _GRAM_CHARS + 1)}
