"""What a query gives to each tool, by BM25F: first for its own terms, then for terms near them.

Whatever the query and however many tools there are, the work is bounded. The bounds count what the caller sees and
nothing else: an order among terms is one of their gains or of their spelling, and both are the same whichever other
tools the index holds and in whatever order they came.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from heapq import nsmallest
from typing import Final

from progressive._query import Wanted
from progressive._vocabulary import PIECE_CHARS_MIN, Vocabulary

__all__ = ["Scores", "Shown", "scored"]

# A posting is one tool that holds one term. These many are as 10 terms that all of 10,000 tools hold. The terms that
# count most come first, so what is left out tells the tools apart the least.
_POSTINGS_MAX: Final = 100_000

# Near terms: of so many terms of a query, so many for each, and so many postings for all of them, which only the first
# near term of a wanted one may exceed.
_NEAR_WANTED_MAX: Final = 32
_NEAR_TERMS_MAX: Final = 16
_NEAR_POSTINGS_MAX: Final = 30_000
# What a near term counts, in relation to the wanted one: if no tool has that, and if some tool has.
_NEAR_UNKNOWN: Final = 0.5
_NEAR_KNOWN: Final = 0.1
# By how much a near term must be longer than a wanted one that some tool has: `car` is near `carpark`, not `card`.
_NEAR_KNOWN_LONGER_MIN: Final = 3
# The shortest term that is looked for inside a wanted one.
_INNER_CHARS_MIN: Final = 4


@dataclass(frozen=True, slots=True, kw_only=True)
class Shown:
    """The part of an index that a caller sees; a tool is its number there.

    Attributes:
        impacts: What each term counts in each tool of the whole index that holds it.
        vocabulary: The same terms.
        visible: The tools that the caller sees, all of which the index holds.
        is_all: Whether the index holds no others.
    """

    impacts: Mapping[str, Mapping[int, float]]
    vocabulary: Vocabulary
    visible: AbstractSet[int]
    is_all: bool

    def has(self, term: str) -> bool:
        """Return whether a visible tool holds a term."""
        impacts = self.impacts.get(term)
        return impacts is not None and (self.is_all or not impacts.keys().isdisjoint(self.visible))

    def holders(self, term: str) -> int:
        """Return how many visible tools hold a term."""
        impacts = self.impacts.get(term, {})
        if self.is_all:
            return len(impacts)
        # Counting does not copy: a query may have far more terms than are scored in the end.
        smaller, larger = sorted((impacts.keys(), self.visible), key=len)
        return sum(map(larger.__contains__, smaller))

    def impacts_of(self, term: str) -> Mapping[int, float]:
        """Return what a term counts in the visible tools that hold it."""
        impacts = self.impacts.get(term, {})
        if self.is_all:
            return impacts
        if len(self.visible) < len(impacts):
            return {tool: impacts[tool] for tool in self.visible if tool in impacts}
        return {tool: impact for tool, impact in impacts.items() if tool in self.visible}

    def rarity(self, holders: int) -> float:
        """Return how much a term tells that so many visible tools hold."""
        return math.log1p((len(self.visible) - holders + 0.5) / (holders + 0.5))


@dataclass(frozen=True, slots=True)
class Scores:
    """What a query gives.

    Attributes:
        by_tool: To each visible tool that holds one of the terms that were looked at.
        gains: For each of its own terms that a visible tool has, by which a tool's impact is multiplied; the greatest
            first, equal ones in the order of the query.
    """

    by_tool: dict[int, float]
    gains: dict[str, float]


def scored(wanted: Iterable[Wanted], shown: Shown) -> Scores:
    """Score the visible tools for the terms of a query."""
    wanted = tuple(wanted)
    holders = {one.term: shown.holders(one.term) for one in wanted}
    gains = {one.term: one.weight * shown.rarity(holders[one.term]) for one in wanted if holders[one.term]}
    gains = {term: gains[term] for term in sorted(gains, key=gains.__getitem__, reverse=True)}
    scores = Scores({}, gains)
    postings = 0
    for term, gain in gains.items():
        postings += holders[term]
        if postings > _POSTINGS_MAX and scores.by_tool:
            break
        _add(scores.by_tool, shown.impacts_of(term), gain)
    _add_near(scores, wanted, shown)
    return scores


def _add_near(scores: Scores, wanted: Iterable[Wanted], shown: Shown) -> None:
    postings_left = _NEAR_POSTINGS_MAX
    for one in _worth_extending(wanted, scores.gains):
        if postings_left <= 0:
            return
        is_known = one.term in scores.gains
        near: dict[int, float] = {}
        for share, term in _near_terms(one.piece, shown, is_known=is_known):
            impacts = shown.impacts_of(term)
            # The nearest is always looked at.
            if near and len(impacts) > postings_left:
                break
            postings_left -= len(impacts)
            for tool, impact in impacts.items():
                near[tool] = max(near.get(tool, 0.0), share * impact)
        if near:
            part = _NEAR_KNOWN if is_known else _NEAR_UNKNOWN
            _add(scores.by_tool, near, part * one.weight * shown.rarity(len(near)))


def _worth_extending(wanted: Iterable[Wanted], gains: Mapping[str, float]) -> list[Wanted]:
    """Return the terms whose near ones are looked for: those no visible tool has, then those that count most."""
    long_enough = {one.term: one for one in wanted if len(one.piece) >= PIECE_CHARS_MIN}
    unknown = [one for one in long_enough.values() if one.term not in gains]
    known = [long_enough[term] for term in gains if term in long_enough and long_enough[term].weight == 1]
    return [*unknown, *known][:_NEAR_WANTED_MAX]


def _near_terms(piece: str, shown: Shown, *, is_known: bool) -> list[tuple[float, str]]:
    """Return the terms that hold a piece or, if it is not known, that it begins or ends with; the nearest first.

    With each stands how much of the longer of the two the shorter one is.
    """
    longer_by_min = _NEAR_KNOWN_LONGER_MIN if is_known else 1
    outer = shown.vocabulary.containing(piece, longer_by_min=longer_by_min)
    if not shown.is_all:
        outer = [term for term in outer if shown.has(term)]
    nearest = nsmallest(_NEAR_TERMS_MAX, outer, key=lambda term: (len(term), term))
    near = [(len(piece) / len(term), term) for term in nearest]
    if not is_known:
        sizes = range(_INNER_CHARS_MIN, len(piece))
        inner = {term for size in sizes for term in (piece[:size], piece[-size:]) if shown.has(term)}
        near += [(len(term) / len(piece), term) for term in inner]
    return sorted(near, key=lambda pair: (-pair[0], pair[1]))[:_NEAR_TERMS_MAX]


def _add(scores: dict[int, float], impacts: Mapping[int, float], gain: float) -> None:
    score = scores.get
    for tool, impact in impacts.items():
        scores[tool] = score(tool, 0.0) + gain * impact
