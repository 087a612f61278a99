import gc
import time
import weakref
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from random import Random
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import JsonValue

from progressive import _analysis, ranking
from progressive.ranking import ToolIndex
from progressive.words import FUNCTION_WORDS, stem, words
from tests.progressive.toolkit import plain_tool
from tool_runtime import JsonObject, Tool


def parameters(**properties: Mapping[str, JsonValue]) -> JsonObject:
    return {"type": "object", "properties": {name: {**schema} for name, schema in properties.items()}}


def index_of(tools: Sequence[Tool[Any]]) -> ToolIndex:
    index = ToolIndex()
    for tool in tools:
        index.add(tool)
    return index


def found(query: str, tools: Sequence[Tool[Any]]) -> list[str]:
    return [tool.name for tool in index_of(tools).rank(query, frozenset(tools))]


OFFICE = [
    plain_tool(
        "archive_ticket",
        "Close a support ticket and keep a copy.",
        parameters(ticket_id={"type": "string", "description": "Number of the ticket"}),
    ),
    plain_tool("convertCurrency", "Exchange an amount between two currencies.", parameters(amount={"type": "number"})),
    plain_tool(
        "fetch_weather",
        "Current forecast for one city.",
        parameters(
            city={"type": "string", "description": "Place to look up"},
            units={"enum": ["metric", "imperial", 7]},
            range={"anyOf": [{"type": "object", "properties": {"untilDate": {"const": "tomorrow"}}}, {"type": "null"}]},
        ),
    ),
    plain_tool("mcp__mail__send_message", "Deliver a letter to an address."),
    plain_tool("stock_boxes", "Count boxes left in the warehouse."),
    plain_tool("查询日历", "查询日历中的事件"),
    plain_tool("airqualityforecast", "For any zip code."),
    plain_tool("PDF2Text", "Extracts."),
    plain_tool("now", "Clock."),
]


@pytest.mark.parametrize(
    ("query", "first"),
    [
        ("convertCurrency", "convertCurrency"),
        ("convert_currency", "convertCurrency"),
        ("convert currency", "convertCurrency"),
        ("convertcurrency", "convertCurrency"),
        ("please convertcurrency for me", "convertCurrency"),
        ("CONVERTING CURRENCIES", "convertCurrency"),
        ("ｃｏｎｖｅｒｔ", "convertCurrency"),
        ("box", "stock_boxes"),
        ("weath", "fetch_weather"),
        ("warehous", "stock_boxes"),
        ("which cities", "fetch_weather"),
        ("ticket_id", "archive_ticket"),
        ("ticketid", "archive_ticket"),
        ("look up a place", "fetch_weather"),
        ("imperial", "fetch_weather"),
        ("until date", "fetch_weather"),
        ("tomorrow", "fetch_weather"),
        ("sendmessage", "mcp__mail__send_message"),
        ("sendMessage", "mcp__mail__send_message"),
        ("air quality", "airqualityforecast"),
        ("airqualityforecasts", "airqualityforecast"),
        ("pdf to text", "PDF2Text"),
        ("pdf2text", "PDF2Text"),
        ("日历", "查询日历"),
        ("帮我查日历", "查询日历"),
        ("查", "查询日历"),
        ("now", "now"),
        ("what is it now", "now"),
        ("zebra mail", "mcp__mail__send_message"),
    ],
)
def test_query_finds_its_tool_first(query: str, first: str) -> None:
    assert found(query, OFFICE)[:1] == [first]


@pytest.mark.parametrize(
    "query",
    ["", "  ", "*", "zebra", "string", "object properties type", "the of", "ma wi am", "👩‍👩‍👧", "\ud800", "qu"],
)
def test_query_that_says_nothing_of_any_tool_finds_none(query: str) -> None:
    assert found(query, OFFICE) == []


def test_terms_are_alternatives_and_a_name_counts_most() -> None:
    assert found("forecast boxes zebra", OFFICE) == ["stock_boxes", "fetch_weather", "airqualityforecast"]


def test_equally_good_tools_stand_in_the_order_of_names() -> None:
    tools = [plain_tool(name, "Rotate image.") for name in ("zeta_x", "alpha_x", "Beta_x", "mid_x", "beta_x")]
    assert found("image", tools) == ["alpha_x", "Beta_x", "beta_x", "mid_x", "zeta_x"]


def test_exact_name_comes_before_its_other_spellings_and_those_before_better_matches() -> None:
    rich = plain_tool("read_file_read_file", "read file read file", parameters(read_file={"description": "read file"}))
    tools = [plain_tool("ReadFile", "x"), plain_tool("read_file", "x"), plain_tool("READFILE", "x"), rich]
    assert found("READFILE", tools) == ["READFILE", "read_file", "ReadFile", "read_file_read_file"]
    assert found(" read_file ", tools) == ["read_file", "READFILE", "ReadFile", "read_file_read_file"]


def test_name_on_its_server_comes_before_better_matches_and_after_whole_names() -> None:
    rich = plain_tool("read_file_read_file", "read file read file")
    tools = [plain_tool("mcp__b__read_file"), rich, plain_tool("mcp__a__readFile"), plain_tool("Read-File")]
    assert found("read_file", tools) == ["Read-File", "mcp__a__readFile", "mcp__b__read_file", "read_file_read_file"]


def test_name_with_outer_spaces_comes_first_if_the_query_has_them_too() -> None:
    tools = [plain_tool("foo"), plain_tool(" foo "), plain_tool("Foo")]
    assert found(" foo ", tools) == [" foo ", "foo", "Foo"]
    assert found("foo", tools) == ["foo", " foo ", "Foo"]
    assert found("  foo", tools) == ["foo", " foo ", "Foo"]


def test_exact_name_is_found_though_it_holds_no_word() -> None:
    tools = [plain_tool("👩"), plain_tool("++"), plain_tool("plus")]
    assert found("++", tools) == ["++"]


def test_name_of_a_function_word_is_found_by_it_and_descriptions_are_not() -> None:
    assert found("a", [plain_tool("a", "Helper."), plain_tool("b", "A helper.")]) == ["a"]


def test_words_that_follow_each_other_count_more() -> None:
    tools = [plain_tool("a1", "Opens stock bonds price."), plain_tool("b1", "Opens bonds stock price.")]
    assert found("stock price", tools) == ["b1", "a1"]


def test_short_near_words_are_not_taken_for_a_known_one() -> None:
    tools = [plain_tool("wash_car"), plain_tool("print_card"), plain_tool("carpark_finder")]
    assert found("car", tools) == ["wash_car", "carpark_finder"]


def test_rarity_is_counted_over_visible_tools() -> None:
    one, other = plain_tool("pick_red", "x"), plain_tool("pick_blue", "x")
    hidden = [plain_tool(f"paint_red_{number}", "red") for number in range(20)]
    more = [plain_tool(f"paint_blue_{number}", "x") for number in range(3)]
    visible = frozenset([one, other, *more])
    index = index_of([*visible, *hidden])
    assert index.rank("red blue", visible) == index_of([*visible]).rank("red blue", visible)
    assert index.rank("red blue", visible)[0] is one


def test_word_known_only_to_hidden_tools_is_unknown() -> None:
    shown, hidden = plain_tool("fetch_weather"), plain_tool("weath")
    assert index_of([shown, hidden]).rank("weath", frozenset([shown])) == [shown]


def test_nothing_visible_gives_nothing() -> None:
    assert index_of(OFFICE).rank("now", frozenset()) == []


def test_removed_tool_is_not_found_and_comes_back() -> None:
    index = index_of(OFFICE)
    now = OFFICE[-1]
    index.remove(now)
    assert len(index) == len(OFFICE) - 1
    assert index.rank("clock", frozenset(OFFICE[:-1])) == []
    index.add(now)
    assert index.rank("clock", frozenset(OFFICE)) == [now]


def test_adding_twice_is_adding_once() -> None:
    index = index_of([*OFFICE, *OFFICE])
    assert len(index) == len(OFFICE)
    index.remove(OFFICE[0])
    assert index.rank("ticket", frozenset(OFFICE[1:])) == []


def test_removing_what_is_not_there_is_an_error() -> None:
    with pytest.raises(KeyError):
        ToolIndex().remove(OFFICE[0])


def test_tool_is_analysed_once_however_often_it_comes_and_goes(monkeypatch: pytest.MonkeyPatch) -> None:
    analysed: list[str] = []

    def counted(tool: Tool[Any]) -> Any:
        analysed.append(tool.name)
        return real(tool)

    real = ranking.analysis_of
    monkeypatch.setattr(ranking, "analysis_of", counted)
    index = index_of(OFFICE)
    for _ in range(3):
        index.remove(OFFICE[0])
        index.add(OFFICE[0])
    assert analysed == [tool.name for tool in OFFICE]


def test_removed_tool_is_not_kept_alive() -> None:
    index, tool = ToolIndex(), plain_tool("short_lived")
    gone = weakref.ref(tool)
    index.add(tool)
    index.remove(tool)
    del tool
    gc.collect()
    assert gone() is None


PIECES = ["read", "file", "Files", "weather", "air", "quality", "airquality", "日历", "get", "now", "S3", "x"]
PHRASES = st.lists(st.sampled_from(PIECES), min_size=1, max_size=5)
QUERIES = st.one_of(PHRASES.map(" ".join), PHRASES.map("".join), st.text(max_size=20))


def some_tools(random: Random) -> Iterator[Tool[Any]]:
    def phrase(gap: str) -> str:
        return gap.join(random.choices(PIECES, k=random.randint(1, 4)))

    odd = {"++", "a", "É\u0301", "read", " read ", "ﷺ"}
    names = {phrase(random.choice(["_", "", "-", "__"])) for _ in range(60)} | odd
    for name in sorted(names):
        schema = parameters(**{phrase("_"): {"description": phrase(" "), "const": phrase(" ")}})
        yield plain_tool(name, phrase(" "), schema)


# Compiling a schema is slow beside all that is tested here, so that the examples share their tools.
POOL = tuple(some_tools(Random(5)))
TOOLS = st.lists(st.sampled_from(POOL), max_size=12, unique=True)


@given(TOOLS, QUERIES, st.randoms(use_true_random=False))
def test_order_of_adding_changes_nothing(tools: list[Tool[Any]], query: str, random: Any) -> None:
    mixed = random.sample(tools, len(tools))
    assert index_of(tools).rank(query, frozenset(tools)) == index_of(mixed).rank(query, frozenset(mixed))


@given(TOOLS, TOOLS, QUERIES)
def test_hidden_tools_change_nothing(visible: list[Tool[Any]], hidden: list[Tool[Any]], query: str) -> None:
    hidden = [tool for tool in hidden if tool not in visible]
    alone = index_of(visible)
    both = index_of([*hidden, *visible])
    expected = alone.rank(query, frozenset(visible))
    assert both.rank(query, frozenset(visible)) == expected
    for tool in hidden:
        both.remove(tool)
    assert both.rank(query, frozenset(visible)) == expected


@given(TOOLS, QUERIES, st.data())
def test_results_are_visible_and_each_is_there_once(tools: list[Tool[Any]], query: str, data: st.DataObject) -> None:
    visible = frozenset(data.draw(st.lists(st.sampled_from(tools)))) if tools else frozenset[Tool[Any]]()
    ranked = index_of(tools).rank(query, visible)
    assert set(ranked) <= visible
    assert len(set(ranked)) == len(ranked)


@given(TOOLS, QUERIES)
def test_every_tool_with_a_word_of_the_query_is_found(tools: list[Tool[Any]], query: str) -> None:
    wanted = {stem(word) for word in words(query, chars_max=100) if word not in FUNCTION_WORDS}
    ranked = index_of(tools).rank(query, frozenset(tools))
    for tool in tools:
        if wanted & {stem(word) for word in words(f"{tool.name}\n{tool.description}", chars_max=1_000)}:
            assert tool in ranked


@given(TOOLS.filter(bool), st.data())
def test_exact_name_comes_first(tools: list[Tool[Any]], data: st.DataObject) -> None:
    wanted = data.draw(st.sampled_from(tools))
    assert index_of(tools).rank(wanted.name, frozenset(tools))[0] is wanted


@given(TOOLS, TOOLS, QUERIES)
def test_index_after_adding_and_removing_is_as_if_never_touched(
    kept: list[Tool[Any]], passing: list[Tool[Any]], query: str
) -> None:
    index = index_of([*passing, *kept])
    for tool in set(passing):
        index.remove(tool)
    for tool in set(passing) & set(kept):
        index.add(tool)
    never = index_of(kept)
    assert len(index) == len(never)
    assert state(index) == state(never)
    assert index.rank(query, frozenset(kept)) == never.rank(query, frozenset(kept))


def state(index: ToolIndex) -> list[Any]:
    """Return all that an index holds but the analyses it keeps of removed tools, and the numbers it gives to tools."""
    held: dict[str, Any] = vars(index)
    names = {number: tool.name for number, tool in held["_tools"].items()}
    assert held["_numbers"] == {tool: number for number, tool in held["_tools"].items()}
    assert held["_held"].keys() == names.keys()
    impacts = {term: {names[number]: impact for number, impact in of.items()} for term, of in held["_impacts"].items()}
    spellings = {spelling: {names[number] for number in spelt} for spelling, spelt in held["_spellings"].items()}
    return [impacts, spellings, [names[number] for number in held["_by_name"]], vars(held["_vocabulary"])]


def nested(depth: int) -> JsonObject:
    schema: JsonObject = {"description": "innermost"}
    for _ in range(depth):
        schema = {"type": "object", "properties": {"inner": schema}}
    return schema


HOSTILE: list[tuple[str, str, JsonObject]] = [
    ("long_description", "word " * 200_000, parameters()),
    ("distinct_words", " ".join(f"w{number:x}q" for number in range(150_000)), parameters()),
    ("n" * 256, "Long name.", parameters()),
    ("a_" * 128, "Many parts.", parameters()),
    ("one_word", "aB" * 500_000, parameters()),
    ("growing", "ﷺ" * 300_000, parameters()),
    ("marks", "\u0301" * 1_000_000, parameters()),
    ("wide", "Many.", parameters(**{f"p{number}": {"description": f"text {number}"} for number in range(10_000)})),
    ("choices", "Many.", parameters(p={"enum": [f"choice{number}" for number in range(100_000)]})),
    ("deep", "Deep.", nested(60)),
    (
        "recursive",
        "Refers to itself.",
        {
            "type": "object",
            "properties": {"node": {"$ref": "#/$defs/Node"}},
            "$defs": {"Node": {"type": "object", "properties": {"next": {"$ref": "#/$defs/Node"}}}},
        },
    ),
    (
        "numbers",
        "Odd.",
        {"type": "object", "properties": {"x": True, "y": {"const": 1, "enum": [None, 1, [], {}]}}},
    ),
]


@pytest.mark.parametrize(("name", "description", "schema"), HOSTILE, ids=[f"{name[:16]!a}" for name, _, _ in HOSTILE])
def test_hostile_tool_costs_a_bounded_effort(name: str, description: str, schema: JsonObject) -> None:
    tool = plain_tool(name, description, schema)
    started = time.thread_time()
    index = index_of([tool])
    # Some 0.1 s at worst; without the bounds it is seconds.
    assert time.thread_time() - started < 2
    assert index.rank(name, frozenset([tool])) == [tool]


def random_words(random: Random, *, chars: int, ending: str) -> str:
    words = ("".join(random.choices("abcdefghijklmnopqrstuvwxyz", k=5)) + ending for _ in range(chars // 6))
    return " ".join(words)[:chars]


@pytest.mark.parametrize("ending", ["", "ing", "ations"])
def test_tool_of_words_nobody_else_has_is_analysed_at_a_bounded_cost(
    ending: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    stemmed: list[str] = []

    def counted(word: str) -> str:
        stemmed.append(word)
        return real(word)

    real = _analysis.stem
    monkeypatch.setattr(_analysis, "stem", counted)
    random = Random(ending)
    text = partial(random_words, random, ending=ending)
    properties: dict[str, Mapping[str, JsonValue]] = {
        f"{text(chars=6)}{n}": {"description": text(chars=300), "enum": [text(chars=300)]} for n in range(700)
    }
    tool = plain_tool("hostile", text(chars=4_000), parameters(**properties))
    started_s = time.thread_time()
    analysis = _analysis.analysis_of(tool)
    # Some 0.03 s at worst; without the bounds it was ten times as much.
    assert time.thread_time() - started_s < 1
    # The words, and the name without separators.
    assert len(stemmed) == 401
    assert len(analysis.impacts) <= 401


def test_long_description_does_not_keep_parameters_from_being_found() -> None:
    text = random_words(Random(1), chars=4_000, ending="")
    tools = [plain_tool("long", text, parameters(postcode={"type": "string"}))]
    assert found("postcode", tools) == ["long"]


def test_chinese_tool_has_a_bounded_number_of_terms() -> None:
    text = "".join(map(chr, range(0x4E00, 0x4E00 + 4_000)))
    assert len(_analysis.analysis_of(plain_tool("han", text)).impacts) <= 802


def test_single_character_finds_every_place_and_its_own_word_best() -> None:
    tools = [plain_tool("a1", "查询日历"), plain_tool("a2", "检查"), plain_tool("b1", "查"), plain_tool("c1", "日历")]
    assert found("查", tools) == ["b1", "a2", "a1"]


HAN = [chr(0x4E00 + number) for number in range(250)]
COMMON = [
    f"{first}{second}" for first in ("read", "send", "make", "stock") for second in ("er", "file", "mail", "page")
]
HEAVY_QUERIES = {
    "characters": " ".join(HAN),
    "run of characters": "".join(HAN * 2),
    "common words": " ".join(COMMON * 4),
    "beginnings": " ".join(sorted({word[:size] for word in COMMON for size in range(3, 7)})),
    "words around known ones": " ".join(f"{word}zz" for word in COMMON),
    "name of the server": "mcp",
}


@pytest.fixture(scope="module")
def heavy() -> tuple[ToolIndex, frozenset[Tool[Any]]]:
    random = Random(8)
    base = plain_tool("base")

    def text() -> str:
        return " ".join(random.choices(COMMON, k=30)) + "".join(random.choices(HAN, k=300))

    tools = frozenset(replace(base, name=f"mcp_{random.choice(COMMON)}_{n}", description=text()) for n in range(2_000))
    return index_of([*tools]), tools


@pytest.mark.timeout(600)  # making the index takes a busy machine its time
@pytest.mark.parametrize("query", HEAVY_QUERIES.values(), ids=HEAVY_QUERIES.keys())
@pytest.mark.parametrize("hidden", [0, 1, 1_000])
def test_heavy_query_over_many_tools_costs_a_bounded_effort(
    heavy: tuple[ToolIndex, frozenset[Tool[Any]]], query: str, hidden: int
) -> None:
    index, tools = heavy
    visible = frozenset([*tools][hidden:])
    started_s = time.thread_time()
    ranked = index.rank(query, visible)
    # Some 0.05 s at worst; the characters alone took 1 s and more without the bounds.
    assert time.thread_time() - started_s < 0.9
    assert ranked
    assert visible.issuperset(ranked)


def test_innermost_parameter_is_found() -> None:
    assert found("innermost", [plain_tool("deep", "x", nested(60))]) == ["deep"]


@pytest.mark.parametrize(
    "query",
    ["".join(chr(0x4E00 + number) for number in range(20_000)), "abc " * 50_000, "x" * 200_000, "e\u0301" * 99_999],
)
def test_hostile_query_costs_a_bounded_effort(query: str) -> None:
    index = index_of(OFFICE)
    started = time.thread_time()
    index.rank(query, frozenset(OFFICE))
    assert time.thread_time() - started < 2
