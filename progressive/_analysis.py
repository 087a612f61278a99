"""What the ranking knows of a tool: computed once, of the tool alone, so that no change elsewhere makes it stale."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Mapping
from dataclasses import dataclass
from itertools import chain, islice
from typing import Any, Final

from progressive._tool_text import ToolText, text_of
from progressive.names import name_order
from progressive.words import FUNCTION_WORDS, is_unspaced, spelling, stem
from tool_runtime import Tool

__all__ = ["Analysis", "analysis_of", "name_spelling"]

# The figures here and in `_query`, `_scoring` and `ranking` were chosen on the tuning halves of
# `benchmarks.disclosure.retrieval`, where the quality changes little around them.

# How slowly a term's impact saturates when it comes again.
_K1: Final = 1.5
# How many different words of a tool are taken, which bounds what one costs to analyse, to keep and to find: to find the
# stem of a word takes some 40 microseconds. A tool of LiveMCPBench has at most 365.
_WORDS_MAX: Final = 400
# How many words of a name and a description are kept in their order.
_PHRASE_WORDS_MAX: Final = 120
# Impacts are rounded to one in so many of an occurrence, and equal ones are one object: with millions of them, that
# saves memory, and time where adding them up waits for memory.
_IMPACT_STEPS: Final = 1_000
_IMPACTS: Final = tuple(step / _IMPACT_STEPS for step in range(int((_K1 + 1) * _IMPACT_STEPS) + 1))
_FIELD_END: Final = "|"
# What a character counts beside the pair in which it stands.
_CHARACTER_SHARE: Final = 0.25
# As much of a name as is analysed.
_SPELLING_CHARS_MAX: Final = 256


@dataclass(frozen=True, slots=True, kw_only=True)
class _Field:
    """How a field counts.

    Attributes:
        weight: Of one occurrence, in occurrences in a description.
        length: Words of a usual field. It is fixed, so that no other tool has a say in a tool's impacts.
        leaning: How much a longer field discounts an occurrence: 0 not at all, 1 in proportion.
    """

    weight: float
    length: float
    leaning: float

    def occurrences(self, terms: list[str]) -> dict[str, float]:
        """Return the weighted number of occurrences of each term of such a field."""
        one = self.weight / (1 - self.leaning + self.leaning * len(terms) / self.length)
        return {term: one * times for term, times in Counter(terms).items()}


_NAME: Final = _Field(weight=4.0, length=3, leaning=0.3)
_DESCRIPTION: Final = _Field(weight=1.0, length=20, leaning=0.35)
_PARAMETER_NAMES: Final = _Field(weight=0.5, length=4, leaning=0.5)
_PARAMETER_TEXTS: Final = _Field(weight=0.3, length=30, leaning=0.5)
_CHOICES: Final = _Field(weight=0.3, length=10, leaning=0.5)


@dataclass(frozen=True, slots=True, kw_only=True)
class Analysis:
    """The terms of one tool.

    Attributes:
        impacts: How much each term counts: the part of BM25F that depends on this tool alone, between 0 and k1 + 1.
        phrases: The terms of name and description in order, with something between the two that is no term.
        order: Where the tool stands among equally good ones.
        spellings: The name, and that of a mounted tool without its server, without regard to case and separators;
            empty if it has neither letters nor digits.
    """

    impacts: Mapping[str, float]
    phrases: tuple[str, ...]
    order: tuple[str, str]
    spellings: tuple[str, ...]


def analysis_of(tool: Tool[Any]) -> Analysis:
    """Analyse a tool. The cost is bounded, whatever the tool holds."""
    text = text_of(tool)
    stems = _stems(text)
    name = [stems[word] for word in text.name if word in stems]
    description = _terms(text.description, stems)
    fields = (
        (_NAME, name),
        (_DESCRIPTION, description),
        (_PARAMETER_NAMES, _terms(text.parameter_names, stems)),
        (_PARAMETER_TEXTS, _terms(text.parameter_texts, stems)),
        (_CHOICES, _terms(text.choices, stems)),
    )
    occurrences: defaultdict[str, float] = defaultdict(float)
    for field, terms in fields:
        for term, times in field.occurrences(terms).items():
            occurrences[term] += times
    _add_characters(occurrences)
    spellings = _spellings(tool.name)
    if joined := spellings[-1]:
        # So it is found by somebody who joins its words, and by the beginning of that.
        occurrences.setdefault(stem(joined), _NAME.weight)
    impacts = {times: _impact(times) for times in set(occurrences.values())}
    return Analysis(
        impacts={term: impacts[times] for term, times in occurrences.items()},
        phrases=(*name, _FIELD_END, *description[:_PHRASE_WORDS_MAX]),
        order=name_order(tool),
        spellings=spellings,
    )


def _impact(occurrences: float) -> float:
    return _IMPACTS[round((_K1 + 1) * occurrences / (_K1 + occurrences) * _IMPACT_STEPS)]


def name_spelling(name: str) -> str:
    """Return the spelling under which a tool of that name is found; see `Analysis.spellings`."""
    return spelling(name, chars_max=_SPELLING_CHARS_MAX)


def _stems(text: ToolText) -> dict[str, str]:
    """Return the term of every word that is taken; what says most of the tool comes first, if they are too many."""
    others = chain(text.parameter_names, text.description, text.parameter_texts, text.choices)
    # A tool may well be called `now` or `about`: function words count in names.
    taken = dict.fromkeys([*text.name, *(word for word in others if word not in FUNCTION_WORDS)])
    return {word: stem(word) for word in islice(taken, _WORDS_MAX)}


def _terms(words: list[str], stems: Mapping[str, str]) -> list[str]:
    return [stems[word] for word in words if word in stems and word not in FUNCTION_WORDS]


def _add_characters(occurrences: dict[str, float]) -> None:
    """Add the characters of the pairs that a script without spaces gives, so that a single one finds its tools."""
    # A word has characters of such scripts only, or none.
    for pair in [term for term in occurrences if len(term) > 1 and not term.isascii() and is_unspaced(term[0])]:
        part = _CHARACTER_SHARE * occurrences[pair]
        for character in pair:
            if occurrences.get(character, 0.0) < part:
                occurrences[character] = part


def _spellings(name: str) -> tuple[str, ...]:
    whole, own = name_spelling(name), name_spelling(name.rpartition("__")[2])
    return (whole, own) if own and own != whole else (whole,)
