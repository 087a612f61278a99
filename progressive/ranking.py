"""The lexical ranking of tools: BM25F over name, description and parameters; no model, no randomness.

How it works, from a tool to a place: `_tool_text` takes the words of a tool, `_analysis` makes terms of them and says
what each counts there, and the index below files the tool under its terms. A query becomes terms in `_query`, and
`_scoring` adds up what they count in each tool. What is left for the index is to move up tools in which terms follow
each other as they do in the query, and those that the query names.
"""

from __future__ import annotations

from bisect import bisect_left, insort
from collections.abc import Mapping
from collections.abc import Set as AbstractSet
from itertools import count, pairwise
from typing import Any, Final
from weakref import WeakKeyDictionary

from progressive._analysis import Analysis, analysis_of, name_spelling
from progressive._query import Query, parsed
from progressive._scoring import Scores, Shown, scored
from progressive._vocabulary import Vocabulary
from tool_runtime import Tool

__all__ = ["ToolIndex"]

# What two terms count that follow each other in the query and in the tool, and for how many of the best this is done.
_PHRASE_WEIGHT: Final = 0.6
_PHRASE_TOOLS_MAX: Final = 50
# Tools are sorted by name, rather than found in a list that is, if they are fewer than one in so many.
_FEW_OF: Final = 8


class ToolIndex:
    """An inverted index of tools; one serves all scopes.

    What a tool counts for a term is computed of the tool alone, when it is added; how rare a term is, of the tools
    that are visible, when they are ranked. So a change of one tool touches nothing but its own terms, and a tool that
    is not visible has no influence.
    """

    def __init__(self) -> None:
        # Inside, a tool is a number: millions of look-ups of small numbers wait for memory far less than of objects.
        self._unused = count()
        self._numbers: dict[Tool[Any], int] = {}
        self._tools: dict[int, Tool[Any]] = {}
        self._held: dict[int, Analysis] = {}
        # A tool keeps its name, description and schema, so its analysis outlives its removal.
        self._analyses = WeakKeyDictionary[Tool[Any], Analysis]()
        self._impacts: dict[str, dict[int, float]] = {}
        self._vocabulary = Vocabulary()
        self._spellings: dict[str, set[int]] = {}
        self._by_name: list[int] = []

    def __len__(self) -> int:
        return len(self._tools)

    def add(self, tool: Tool[Any]) -> None:
        """Add a tool; nothing happens if it is there. A tool that was there before is not analysed again."""
        if tool in self._numbers:
            return
        analysis = self._analyses.get(tool)
        if analysis is None:
            analysis = self._analyses[tool] = analysis_of(tool)
        number = self._numbers[tool] = next(self._unused)
        self._tools[number] = tool
        self._held[number] = analysis
        for term, impact in analysis.impacts.items():
            impacts = self._impacts.get(term)
            if impacts is None:
                impacts = self._impacts[term] = {}
                self._vocabulary.add(term)
            impacts[number] = impact
        for spelling in analysis.spellings:
            self._spellings.setdefault(spelling, set()).add(number)
        insort(self._by_name, number, key=self._order)

    def remove(self, tool: Tool[Any]) -> None:
        """Remove a tool.

        Raises:
            KeyError: It is not there.
        """
        number = self._numbers.pop(tool)
        analysis = self._held[number]
        # Tools of different scopes may have the same name.
        place = self._by_name.index(number, bisect_left(self._by_name, analysis.order, key=self._order))
        del self._by_name[place], self._held[number], self._tools[number]
        for term in analysis.impacts:
            impacts = self._impacts[term]
            del impacts[number]
            if not impacts:
                del self._impacts[term]
                self._vocabulary.remove(term)
        for spelling in analysis.spellings:
            spelt = self._spellings[spelling]
            spelt.remove(number)
            if not spelt:
                del self._spellings[spelling]

    def rank(self, query: str, visible: AbstractSet[Tool[Any]]) -> list[Tool[Any]]:
        """Return the tools that match a query, best first, equally good ones in the order of names.

        A tool whose name is the query comes first, then those whose name is it but for case and separators, then
        those of mounted servers for which it is the name there. The answer depends on the query and the visible tools
        alone.

        Args:
            query: Anything. Its first 4,000 code points and 200 words count. Of terms that together stand in more than
                100,000 places, those that most tools have are left out.
            visible: The tools to choose from, all of which were added.

        Returns:
            The visible tools that match at least one term of the query; empty if there is none.
        """
        asked = parsed(query)
        shown = self._shown(visible)
        scores = scored(asked.wanted, shown)
        ranked = self._with_phrases(self._in_order(scores.by_tool), asked, scores)
        named = self._named(query, shown)
        return [self._tools[number] for number in (dict.fromkeys([*named, *ranked]) if named else ranked)]

    def _shown(self, visible: AbstractSet[Tool[Any]]) -> Shown:
        is_all = len(visible) == len(self)
        numbers = self._tools.keys() if is_all else frozenset(map(self._numbers.__getitem__, visible))
        return Shown(impacts=self._impacts, vocabulary=self._vocabulary, visible=numbers, is_all=is_all)

    def _in_order(self, scores: Mapping[int, float]) -> list[int]:
        """Return the tools, the best first, and equally good ones in the order of names."""
        if len(scores) * _FEW_OF < len(self):
            by_name = sorted(scores, key=self._order)
        else:
            by_name = [number for number in self._by_name if number in scores]
        # This keeps the order of those that are equal.
        return sorted(by_name, key=scores.__getitem__, reverse=True)

    def _with_phrases(self, ranked: list[int], asked: Query, scores: Scores) -> list[int]:
        """Rank the best anew, with what they gain by pairs of terms that follow each other as they do in the query."""
        gains = scores.gains
        pairs = {(a, b): min(gains[a], gains[b]) for a, b in asked.pairs if a in gains and b in gains}
        if not pairs:
            return ranked
        best = {
            number: scores.by_tool[number] + _PHRASE_WEIGHT * self._pairs_gain(number, pairs)
            for number in ranked[:_PHRASE_TOOLS_MAX]
        }
        return [*self._in_order(best), *ranked[_PHRASE_TOOLS_MAX:]]

    def _pairs_gain(self, number: int, pairs: Mapping[tuple[str, str], float]) -> float:
        held = set(pairwise(self._held[number].phrases))
        return sum(gain for pair, gain in pairs.items() if pair in held)

    def _named(self, query: str, shown: Shown) -> list[int]:
        """Return the tools that a query names: exactly, but for case and separators, or but for the server as well."""
        spelling = name_spelling(query)
        alike = self._spellings.get(spelling, set[int]()) & shown.visible
        exact = [number for name in (query, query.strip()) for number in alike if self._tools[number].name == name]
        if not spelling:
            return exact
        in_order = sorted(alike, key=self._order)
        whole = [number for number in in_order if self._held[number].spellings[0] == spelling]
        return [*exact, *whole, *in_order]

    def _order(self, number: int) -> tuple[str, str]:
        return self._held[number].order
