"""What the ranking is measured against."""

import json
import math
import re
from collections import Counter
from collections.abc import Sequence
from typing import Any

from progressive.names import name_order
from tool_runtime import Tool

_BM25_WORD = re.compile(r"\w+")
_IDENTIFIER_PART = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[^\W\d_A-Z]+|\d+")


class PlainBm25:
    """BM25 over name and description: lower-case words, no stemming, k1 1.2, b 0.75."""

    _K1 = 1.2
    _B = 0.75

    def __init__(self, tools: Sequence[Tool[Any]]) -> None:
        self._tools = tools
        self._counts = [Counter(_BM25_WORD.findall(f"{tool.name} {tool.description}".lower())) for tool in tools]
        self._holders = Counter(word for counts in self._counts for word in counts)
        self._mean_length = sum(counts.total() for counts in self._counts) / len(tools)

    def rank(self, query: str) -> list[Tool[Any]]:
        words = _BM25_WORD.findall(query.lower())
        return _best_first(self._tools, [self._score(words, counts) for counts in self._counts])

    def _score(self, words: Sequence[str], counts: Counter[str]) -> float:
        damping = self._K1 * (1 - self._B + self._B * counts.total() / self._mean_length)
        return sum(
            self._rarity(word) * counts[word] * (self._K1 + 1) / (counts[word] + damping)
            for word in words
            if word in counts
        )

    def _rarity(self, word: str) -> float:
        holders = self._holders[word]
        return math.log(1 + (len(self._tools) - holders + 0.5) / (holders + 0.5))


class TermMatching:
    """The original's scoring: every term of the query counts 100 in a name, 30 in a description, 8 in a schema.

    Identifiers are split and plurals made singular; a term of more than 2 characters may also stand inside a word.
    """

    _WEIGHTS = (100, 30, 8)

    def __init__(self, tools: Sequence[Tool[Any]]) -> None:
        self._tools = tools
        self._fields = [
            tuple(map(_words_apart, (tool.name, tool.description, json.dumps(tool.accepts.schema)))) for tool in tools
        ]

    def rank(self, query: str) -> list[Tool[Any]]:
        terms = set(_singular_terms(query))
        return _best_first(self._tools, [self._score(terms, fields) for fields in self._fields])

    def _score(self, terms: set[str], fields: tuple[str, ...]) -> int:
        return sum(
            weight
            for weight, text in zip(self._WEIGHTS, fields, strict=True)
            for term in terms
            if (term if len(term) > 2 else f" {term} ") in text
        )


def _words_apart(text: str) -> str:
    return f" {' '.join(_singular_terms(text))} "


def _singular_terms(text: str) -> list[str]:
    return [_singular(part.lower()) for part in _IDENTIFIER_PART.findall(text)]


def _singular(word: str) -> str:
    if len(word) > 4 and word.endswith("ies"):
        return f"{word[:-3]}y"
    if len(word) > 4 and word.endswith(("ses", "xes", "ches", "shes")):
        return word[:-2]
    if len(word) > 3 and word.endswith("s") and not word.endswith("ss"):
        return word[:-1]
    return word


def _best_first(tools: Sequence[Tool[Any]], scores: Sequence[float]) -> list[Tool[Any]]:
    scored = [(score, tool) for score, tool in zip(scores, tools, strict=True) if score > 0]
    return [tool for _, tool in sorted(scored, key=lambda pair: (-pair[0], name_order(pair[1])))]
