from collections import UserDict
from collections.abc import Generator, ItemsView, Iterable
from contextlib import contextmanager
from random import Random
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from progressive import _scoring
from progressive._query import Wanted, parsed
from progressive._scoring import Shown, scored
from progressive._vocabulary import Vocabulary
from progressive.ranking import ToolIndex
from tests.progressive.toolkit import plain_tool
from tool_runtime import Tool


class Counted(UserDict[int, float]):
    """Impacts that note how many of them were gone through."""

    visited = 0

    def items(self) -> ItemsView[int, float]:
        self.visited += len(self)
        return super().items()


def shown_of(impacts: dict[str, Counted], visible: frozenset[int] | None = None) -> Shown:
    vocabulary = Vocabulary()
    for term in impacts:
        vocabulary.add(term)
    tools = frozenset(tool for held in impacts.values() for tool in held)
    return Shown(impacts=impacts, vocabulary=vocabulary, visible=visible or tools, is_all=visible is None)


def held_by(tools: Iterable[int]) -> Counted:
    return Counted((tool, 1.0) for tool in tools)


def visited(shown: Shown) -> int:
    return sum(impacts.visited for impacts in shown.impacts.values() if isinstance(impacts, Counted))


def wanted(*terms: str) -> list[Wanted]:
    return [Wanted(term, 1.0, term) for term in terms]


def test_terms_that_all_tools_have_are_left_out_beyond_the_bound_and_the_rare_ones_are_not() -> None:
    impacts = {f"w{number}": held_by(range(5_000)) for number in range(100)} | {"rare": held_by(range(7, 8))}
    shown = shown_of(impacts)
    scores = scored(wanted(*impacts), shown)
    assert visited(shown) <= 100_000
    assert impacts["rare"].visited == 1
    assert max(scores.by_tool, key=scores.by_tool.__getitem__) == 7
    assert len(scores.gains) == 101


def test_of_equally_rare_terms_the_first_of_the_query_are_looked_at() -> None:
    impacts = {f"w{number}": held_by(range(number, number + 9_000)) for number in range(20)}
    scored(wanted(*reversed(impacts)), shown_of(impacts))
    assert [term for term, held in impacts.items() if held.visited] == [f"w{number}" for number in range(9, 20)]


def test_term_that_is_alone_is_looked_at_however_many_tools_have_it() -> None:
    shown = shown_of({"common": held_by(range(150_000))})
    assert len(scored(wanted("common"), shown).by_tool) == 150_000


def test_near_terms_are_bounded_in_number_and_in_tools() -> None:
    impacts = {f"prefix{number:03}": held_by(range(400)) for number in range(500)}
    shown = shown_of(impacts)
    scored(wanted("prefix"), shown)
    assert [term for term, held in impacts.items() if held.visited] == [f"prefix{number:03}" for number in range(16)]
    shown = shown_of({f"{piece}xyz{number}": held_by(range(900)) for piece in "abcdefghi" for number in range(9)})
    scored(wanted(*(f"{piece}xyz" for piece in "abcdefghi")), shown)
    assert 29_000 < visited(shown) < 31_000


def test_nearest_term_is_looked_at_however_many_tools_have_it() -> None:
    impacts = {"weather": held_by(range(40_000)), "weathers": held_by(range(50_000))}
    assert len(scored(wanted("weath"), shown_of(impacts)).by_tool) == 40_000
    impacts = {"weather": held_by(range(20_000)), "weathers": held_by(range(50_000))}
    assert len(scored(wanted("weath"), shown_of(impacts)).by_tool) == 20_000


def test_near_terms_are_looked_for_a_bounded_number_of_times(monkeypatch: pytest.MonkeyPatch) -> None:
    looked_for: list[str] = []

    def counted(self: Vocabulary, piece: str, *, longer_by_min: int) -> list[str]:
        looked_for.append(piece)
        return real(self, piece, longer_by_min=longer_by_min)

    real = Vocabulary.containing
    monkeypatch.setattr(Vocabulary, "containing", counted)
    terms = [f"term{number}" for number in range(100)]
    scored(wanted("known", *terms), shown_of({"known": held_by(range(3))}))
    assert looked_for == terms[:32]


def test_hidden_tools_take_no_place_among_near_terms() -> None:
    impacts = {f"weath{number:02}": held_by(range(100, 200)) for number in range(50)}
    impacts["weatherforecasting"] = held_by(range(1))
    assert scored(wanted("weath"), shown_of(impacts, frozenset({0}))).by_tool.keys() == {0}


@pytest.mark.parametrize("visible", [range(3), range(50), range(99)])
def test_part_of_an_index_is_scored_as_if_there_were_no_other(visible: range) -> None:
    random = Random(4)
    words = ["read", "reader", "file", "files", "write", "rewrite", "mail"]
    held = {word: random.sample(range(100), random.randint(5, 80)) for word in words}
    part = {word: [tool for tool in tools if tool in visible] for word, tools in held.items()}
    query = parsed("read file write emails").wanted
    whole = shown_of({word: held_by(tools) for word, tools in held.items()}, frozenset(visible))
    alone = shown_of({word: held_by(tools) for word, tools in part.items() if tools}, frozenset(visible))
    assert scored(query, whole) == scored(query, alone)


@contextmanager
def tight_bounds() -> Generator[None]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(_scoring, "_POSTINGS_MAX", 12)
        patch.setattr(_scoring, "_NEAR_WANTED_MAX", 2)
        patch.setattr(_scoring, "_NEAR_TERMS_MAX", 2)
        patch.setattr(_scoring, "_NEAR_POSTINGS_MAX", 6)
        yield


def index_of(tools: list[Tool[Any]]) -> ToolIndex:
    index = ToolIndex()
    for tool in tools:
        index.add(tool)
    return index


PIECES = [
    "read",
    "reader",
    "file",
    "files",
    "profile",
    "mail",
    "email",
    "日历",
    "历",
    "日程",
    "get",
    "write",
    "rewrite",
]
RANDOM = Random(6)
POOL = [plain_tool(f"t{number}", " ".join(RANDOM.choices(PIECES, k=RANDOM.randint(1, 6)))) for number in range(60)]
TOOLS = st.lists(st.sampled_from(POOL), max_size=25, unique=True)
QUERIES = st.lists(st.sampled_from([*PIECES, "rea", "fil", "mai", "日", "writ"]), min_size=1, max_size=9).map(" ".join)


@given(TOOLS, TOOLS, QUERIES, st.randoms(use_true_random=False))
def test_what_a_bound_leaves_out_does_not_depend_on_hidden_tools_or_the_order_of_adding(
    visible: list[Tool[Any]], others: list[Tool[Any]], query: str, random: Any
) -> None:
    mixed = random.sample([*{*visible, *others}], len({*visible, *others}))
    with tight_bounds():
        alone = index_of(visible).rank(query, frozenset(visible))
        assert index_of(mixed).rank(query, frozenset(visible)) == alone
