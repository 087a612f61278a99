"""The lexical ranking of tools: BM25F over name, description and parameters; no model, no randomness."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from itertools import groupby, pairwise
from typing import Any, Final
from weakref import WeakKeyDictionary

from progressive._analysis import Analysis, analysis_of, name_spelling
from progressive._vocabulary import Vocabulary
from progressive.words import FUNCTION_WORDS, REQUEST_WORDS, stem, words
from tool_runtime import Tool

__all__ = ["ToolIndex"]

# Several times the 500 graphemes of a query: one of them may be made of any number of code points.
_QUERY_CHARS_MAX: Final = 4_000
_REQUEST_WEIGHT: Final = 0.3
# What a term counts that only contains the query's, or is contained in it: if no tool has the query's own, and else.
_NEAR_UNKNOWN: Final = 0.5
_NEAR_KNOWN: Final = 0.1
# The shortest term that is looked for inside a longer one of the query, and how much longer a near term must be if
# the query's own is known: `car` is near `carpark`, not `card`.
_INNER_CHARS_MIN: Final = 4
_OUTER_EXTRA_CHARS_MIN: Final = 3
# What two terms count that follow each other in the query and in the tool, and for how many of the best this is done.
_PHRASE_WEIGHT: Final = 0.6
_PHRASE_TOOLS_MAX: Final = 50


@dataclass(frozen=True, slots=True)
class _Wanted:
    """A term of a query.

    Attributes:
        term: It.
        weight: How much it counts.
        piece: The beginning that it shares with its word, which other words may hold too; empty for none.
    """

    term: str
    weight: float
    piece: str


@dataclass(frozen=True, slots=True)
class _Asked:
    """A query.

    Attributes:
        wanted: Its terms.
        pairs: Its terms that follow each other.
    """

    wanted: tuple[_Wanted, ...]
    pairs: tuple[tuple[str, str], ...]


class ToolIndex:
    """An inverted index of tools; one serves all scopes.

    What a tool counts for a term is computed of the tool alone, when it is added; how rare a term is, of the tools
    that are visible, when they are ranked. So a change of one tool touches nothing but its own terms, and a tool that
    is not visible has no influence.
    """

    def __init__(self) -> None:
        self._tools: dict[Tool[Any], Analysis] = {}
        # A tool keeps its name, description and schema, so its analysis outlives its removal.
        self._analyses = WeakKeyDictionary[Tool[Any], Analysis]()
        self._impacts: dict[str, dict[Tool[Any], float]] = {}
        self._spellings: dict[str, dict[Tool[Any], None]] = {}
        self._vocabulary = Vocabulary()

    def __len__(self) -> int:
        return len(self._tools)

    def add(self, tool: Tool[Any]) -> None:
        """Add a tool; nothing happens if it is there. A tool that was there before is not analysed again."""
        if tool in self._tools:
            return
        analysis = self._analyses.get(tool)
        if analysis is None:
            analysis = self._analyses[tool] = analysis_of(tool)
        self._tools[tool] = analysis
        for term, impact in analysis.impacts.items():
            if term not in self._impacts:
                self._impacts[term] = {}
                self._vocabulary.add(term)
            self._impacts[term][tool] = impact
        for spelling in analysis.spellings:
            self._spellings.setdefault(spelling, {})[tool] = None

    def remove(self, tool: Tool[Any]) -> None:
        """Remove a tool.

        Raises:
            KeyError: It is not there.
        """
        analysis = self._tools.pop(tool)
        for term in analysis.impacts:
            impacts = self._impacts[term]
            del impacts[tool]
            if not impacts:
                del self._impacts[term]
                self._vocabulary.remove(term)
        for spelling in analysis.spellings:
            spelt = self._spellings[spelling]
            del spelt[tool]
            if not spelt:
                del self._spellings[spelling]

    def rank(self, query: str, visible: AbstractSet[Tool[Any]]) -> list[Tool[Any]]:
        """Return the tools that match a query, best first, equally good ones in the order of names.

        A tool whose name is the query comes first, then those whose name is it but for case and separators, then
        those of mounted servers for which it is the name there. The answer depends on the query and the visible tools
        alone.

        Args:
            query: Anything; its first 4,000 code points count.
            visible: The tools to choose from, all of which were added.

        Returns:
            The visible tools that match at least one term of the query; empty if there is none.
        """
        asked = _asked(query)
        scores: dict[Tool[Any], float] = {}
        gains: dict[str, float] = {}
        for each in asked.wanted:
            impacts = self._of_term(each.term, visible)
            if impacts:
                gains[each.term] = each.weight * _rarity(len(impacts), len(visible))
                _add(scores, impacts, gains[each.term])
            near = self._near(each, visible, known=bool(impacts))
            if near:
                share = _NEAR_KNOWN if impacts else _NEAR_UNKNOWN
                _add(scores, near, share * each.weight * _rarity(len(near), len(visible)))
        ranked = self._in_order(scores)
        phrases = {f" {a} {b} ": min(gains[a], gains[b]) for a, b in asked.pairs if a in gains and b in gains}
        if phrases:
            best = {tool: scores[tool] + self._phrase_gain(tool, phrases) for tool in ranked[:_PHRASE_TOOLS_MAX]}
            ranked[:_PHRASE_TOOLS_MAX] = self._in_order(best)
        named = self._named(query, visible)
        return list(dict.fromkeys([*named, *ranked])) if named else ranked

    def _of_term(self, term: str, visible: AbstractSet[Tool[Any]]) -> Mapping[Tool[Any], float]:
        impacts = self._impacts.get(term, {})
        if len(visible) == len(self._tools):
            return impacts
        if len(visible) < len(impacts):
            return {tool: impacts[tool] for tool in visible if tool in impacts}
        return {tool: impact for tool, impact in impacts.items() if tool in visible}

    def _near(self, wanted: _Wanted, visible: AbstractSet[Tool[Any]], *, known: bool) -> Mapping[Tool[Any], float]:
        """Return impacts of the terms that hold a wanted one or are held in it, by the share of it they have."""
        if known and wanted.weight < 1:
            return {}
        near: dict[Tool[Any], float] = {}
        for term, share in self._near_terms(wanted, known=known):
            for tool, impact in self._of_term(term, visible).items():
                near[tool] = max(near.get(tool, 0.0), share * impact)
        return near

    def _near_terms(self, wanted: _Wanted, *, known: bool) -> Iterator[tuple[str, float]]:
        piece = wanted.piece
        extra_min = _OUTER_EXTRA_CHARS_MIN if known else 1
        for term in self._vocabulary.containing(piece):
            if len(term) - len(piece) >= extra_min:
                yield term, len(piece) / len(term)
        if not known:
            for size in range(_INNER_CHARS_MIN, len(piece)):
                for term in {piece[:size], piece[-size:]} & self._impacts.keys():
                    yield term, size / len(piece)

    def _in_order(self, scores: Mapping[Tool[Any], float]) -> list[Tool[Any]]:
        # Sorting by the number alone, and then the few that are equal by name, is several times as fast as by both.
        ranked: list[Tool[Any]] = []
        for _, equal in groupby(sorted(scores, key=scores.__getitem__, reverse=True), key=scores.__getitem__):
            ranked += sorted(equal, key=self._order)
        return ranked

    def _order(self, tool: Tool[Any]) -> tuple[str, str]:
        return self._tools[tool].order

    def _phrase_gain(self, tool: Tool[Any], phrases: Mapping[str, float]) -> float:
        text = self._tools[tool].phrases
        return _PHRASE_WEIGHT * sum(gain for phrase, gain in phrases.items() if phrase in text)

    def _named(self, query: str, visible: AbstractSet[Tool[Any]]) -> list[Tool[Any]]:
        """Return the tools that a query names: exactly, but for case and separators, or but for the server as well."""
        spelling = name_spelling(query)
        named = sorted((tool for tool in self._spellings.get(spelling, ()) if tool in visible), key=self._order)
        exact = [tool for tool in named if tool.name in {query, query.strip()}]
        alike = [tool for tool in named if self._tools[tool].spellings[0] == spelling]
        return list(dict.fromkeys([*exact, *alike, *named] if spelling else exact))


def _asked(query: str) -> _Asked:
    found = words(query, chars_max=_QUERY_CHARS_MAX)
    # A query of function words alone may name a tool: they count if there is nothing else.
    telling = [word for word in found if word not in FUNCTION_WORDS] or found
    wanted: dict[str, _Wanted] = {}
    for word in telling:
        term, weight = stem(word), _REQUEST_WEIGHT if word in REQUEST_WORDS else 1.0
        if term not in wanted or wanted[term].weight < weight:
            piece = "" if word in FUNCTION_WORDS else _shared_beginning(term, word)
            wanted[term] = _Wanted(term, weight, piece)
    return _Asked(tuple(wanted.values()), tuple(dict.fromkeys(pairwise(map(stem, telling)))))


def _shared_beginning(term: str, word: str) -> str:
    for at, (a, b) in enumerate(zip(term, word, strict=False)):
        if a != b:
            return term[:at]
    return min(term, word, key=len)


def _rarity(holders: int, tools: int) -> float:
    return math.log1p((tools - holders + 0.5) / (holders + 0.5))


def _add(scores: dict[Tool[Any], float], impacts: Mapping[Tool[Any], float], gain: float) -> None:
    score = scores.get
    for tool, impact in impacts.items():
        scores[tool] = score(tool, 0.0) + gain * impact
