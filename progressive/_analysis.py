"""What the ranking knows of a tool: computed once, of the tool alone, so that no change elsewhere makes it stale."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

from progressive._tool_text import text_of
from progressive.names import name_order
from progressive.words import FUNCTION_WORDS, spelling, stem
from tool_runtime import Tool

__all__ = ["Analysis", "analysis_of", "name_spelling"]

# The figures here and in `ranking` were chosen on the tuning halves of `benchmarks.disclosure.retrieval`, where the
# quality changes little around them. This one: how slowly a term's impact saturates when it comes again.
_K1: Final = 1.5
# How many words of a name and a description are kept in their order.
_PHRASE_WORDS_MAX: Final = 120
# As much of a name as is analysed.
_SPELLING_CHARS_MAX: Final = 256


@dataclass(frozen=True, slots=True)
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
        phrases: The terms of name and description in order, a space on both sides of each, fields kept apart.
        order: Where the tool stands among equally good ones.
        spellings: The name, and that of a mounted tool without its server, without regard to case and separators;
            empty if it has neither letters nor digits.
    """

    impacts: Mapping[str, float]
    phrases: str
    order: tuple[str, str]
    spellings: tuple[str, ...]


def analysis_of(tool: Tool[Any]) -> Analysis:
    """Analyse a tool. The cost is bounded, whatever the tool holds."""
    text = text_of(tool)
    # A tool may well be called `now` or `about`: function words count in names.
    name = [stem(word) for word in text.name]
    description = _terms(text.description)
    fields = (
        (_NAME, name),
        (_DESCRIPTION, description),
        (_PARAMETER_NAMES, _terms(text.parameter_names)),
        (_PARAMETER_TEXTS, _terms(text.parameter_texts)),
        (_CHOICES, _terms(text.choices)),
    )
    occurrences: defaultdict[str, float] = defaultdict(float)
    for field, terms in fields:
        for term, times in field.occurrences(terms).items():
            occurrences[term] += times
    spellings = _spellings(tool.name)
    for joined in filter(None, spellings):
        # So it is found by somebody who joins its words, and by the beginning of that.
        occurrences.setdefault(stem(joined), _NAME.weight)
    return Analysis(
        impacts={term: (_K1 + 1) * times / (_K1 + times) for term, times in occurrences.items()},
        phrases=f" {' '.join(name)} | {' '.join(description[:_PHRASE_WORDS_MAX])} ",
        order=name_order(tool),
        spellings=spellings,
    )


def name_spelling(name: str) -> str:
    """Return the spelling under which a tool of that name is found; see `Analysis.spellings`."""
    return spelling(name, chars_max=_SPELLING_CHARS_MAX)


def _terms(words: list[str]) -> list[str]:
    return [stem(word) for word in words if word not in FUNCTION_WORDS]


def _spellings(name: str) -> tuple[str, ...]:
    whole, own = name_spelling(name), name_spelling(name.rpartition("__")[2])
    return (whole, own) if own and own != whole else (whole,)
