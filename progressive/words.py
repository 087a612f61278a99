"""Words of a text as search terms: pure, deterministic, and linear in what it is given."""

from __future__ import annotations

import re
import unicodedata
from functools import lru_cache
from sys import intern
from typing import Final, Protocol, cast

import regex
from snowballstemmer.english_stemmer import EnglishStemmer

__all__ = ["FUNCTION_WORDS", "REQUEST_WORDS", "is_unspaced", "normalized", "spelling", "stem", "words"]

_FUNCTION_WORDS: Final = """
a about am an and any are as at be been being but by can could d did do does doing don for from had has have having
he her here hers him his how i if in into is it its itself just ll m may me might must my myself no not of on or
our ours out s shall she should so some such t than that the their theirs them then there these they this those to
too us ve very was we were what when where which while who whom whose why will with would you your yours yourself
aren couldn didn doesn hadn hasn haven isn shouldn wasn weren won wouldn
"""
FUNCTION_WORDS: Final = frozenset(_FUNCTION_WORDS.split())
"""English words, and what an apostrophe leaves of them, that carry grammar and no subject."""

_REQUEST_WORDS: Final = """
able access according all also always another anyone anything ask asking assist assistance available based because
before after best better between both certain check come comprehensive concerning consider current currently day
detail detailed details different during each easily easy etc even every everything explain feel few find first
found get getting give given gives giving go going good got great hello help helpful helping helps hey hi high hope
however idea include includes including information interested kind know last latest learn let like likes looking
look lot lots low made make makes making many more most much need needed needs new next now number off offer
offered offering offers one only other over own particular people please popular possible provide provided provides
providing put question questions quick quickly quite really recent recently recommend recommendation
recommendations recommended regarding related request requesting requests see set show simple since someone
something sort specific specifically start still suggest suggestion suggestions sure take tell thank thanks thing
things think through time times today tool tools top try trying two type types under understand up use used useful
user users using various via view want wanted wants way ways well within without wondering work working works
"""
REQUEST_WORDS: Final = frozenset(_REQUEST_WORDS.split())
"""Common English words by which people ask, whatever it is they ask for. They count for less in a query."""

# What is longer is data, such as base64: nobody types it.
_WORD_CHARS_MAX: Final = 64
# No English word is longer, and the time to stem one grows with its length.
_STEMMED_CHARS_MAX: Final = 32
# The distinct words of a large catalog; about 10 MB when full.
_STEMS_KEPT_MAX: Final = 65_536
# The characters that scripts without spaces have in use, about.
_CHARACTERS_KEPT_MAX: Final = 8_192

# As many as Unicode allows in a row in a "stream-safe" text (UAX 15, section 13): to put marks in their canonical
# order takes time in proportion to the square of their number.
_MARKS_MAX: Final = 30
_MARKS_BEYOND: Final = regex.compile(rf"(\p{{M}}{{{_MARKS_MAX}}})\p{{M}}+")

# Scripts written without spaces, and Korean, whose endings stand without a space.
_UNSPACED: Final = r"\p{Han}\p{Hiragana}\p{Katakana}ー\p{Hangul}\p{Thai}\p{Lao}\p{Khmer}\p{Myanmar}"
_UNSPACED_RUN: Final = regex.compile(rf"[{_UNSPACED}]+")
_RUN: Final = regex.compile(rf"([{_UNSPACED}]+)|([[\p{{L}}\p{{M}}\p{{N}}]--[{_UNSPACED}]]+)", regex.VERSION1)
_ASCII_RUN: Final = re.compile(r"[A-Za-z0-9]+")
# Capitals with a plural `s`; an acronym, up to the capital that starts the next word; a word; digits.
_PART: Final = regex.compile(
    r"\p{Lu}{2,}s(?![\p{L}\p{M}])|\p{Lu}+(?![\p{Ll}\p{M}])|\p{Lu}?[\p{L}\p{M}--\p{Lu}]+|\p{N}+", regex.VERSION1
)
_SEPARATORS: Final = regex.compile(r"[^\p{L}\p{M}\p{N}]+")
# The endings at which the stemmer may change a word: to find that there is none is far cheaper than to run it.
_ENDING: Final = re.compile(r"(?:s|e|y|ed|ing|l|ic|ism|ion|er|or|t|i)$")


class _Stemmer(Protocol):
    def stemWord(self, word: str) -> str: ...  # noqa: N802 - the library's name


_ENGLISH: Final = cast("_Stemmer", EnglishStemmer())


def normalized(text: str, *, chars_max: int) -> str:
    """Return at most so many characters of a text in compatibility form (NFKC), their case kept.

    Of more than 30 combining marks in a row, the first 30 are taken.
    """
    # Cut on both sides: one compatibility character may stand for 18 others.
    head = text[:chars_max]
    return head if head.isascii() else unicodedata.normalize("NFKC", _MARKS_BEYOND.sub(r"\1", head))[:chars_max]


def words(text: str, *, chars_max: int) -> list[str]:
    """Return the words of a text in order, case-folded.

    An identifier gives its parts, as does a word of mixed case, which then follows joined: `readFile` is `read`,
    `file`, `readfile`. A word with letters and digits stays whole beside its parts of letters: `PDF2Text` is `pdf`,
    `text`, `pdf2text`. Scripts without spaces give overlapping pairs of characters.

    Args:
        text: Anything.
        chars_max: How much of it is looked at.
    """
    text = normalized(text, chars_max=chars_max)
    found: list[str] = []
    if text.isascii():
        for run in _ASCII_RUN.findall(text):
            found += _parts(run)
        return found
    for unspaced, spaced in _RUN.findall(text):
        found += _pairs(unspaced.casefold()) if unspaced else _parts(spaced)
    return found


@lru_cache(maxsize=_CHARACTERS_KEPT_MAX)
def is_unspaced(word: str) -> bool:
    """Return whether a word, or a character, is of a script that stands without spaces, such as Chinese."""
    return _UNSPACED_RUN.fullmatch(word) is not None


def spelling(text: str, *, chars_max: int) -> str:
    """Return what an identifier is without regard to case and separators; empty if it has no letters and digits."""
    return _SEPARATORS.sub("", normalized(text, chars_max=chars_max).casefold())


@lru_cache(maxsize=_STEMS_KEPT_MAX)
def stem(word: str) -> str:
    """Return the term of a case-folded word: its English stem if it is of at most 32 ASCII letters, else itself."""
    is_english = word.isascii() and word.isalpha() and len(word) <= _STEMMED_CHARS_MAX
    return intern(_ENGLISH.stemWord(word) if is_english and _ENDING.search(word) else word)


def _pairs(run: str) -> list[str]:
    return [run[at : at + 2] for at in range(len(run) - 1)] or [run]


def _parts(word: str) -> list[str]:
    word = word[:_WORD_CHARS_MAX]
    whole = word.casefold()
    # Most words are of one part, which this tells sooner than the pattern does.
    if word.isalpha() and (len(word) == 1 or word[1:].islower()):
        return [whole]
    parts = [part.casefold() for part in _PART.findall(word)]
    if len(parts) <= 1:
        return [whole]
    # A digit or a letter cut off says nothing alone: `s3`, `2d`, `mp3`, `eMail`.
    return [*(part for part in parts if len(part) > 1 and not part.isnumeric()), whole]
