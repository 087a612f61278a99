"""What counts as a describe result, and which of its tools are to be loaded where."""

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from progressive.names import RESERVED
from progressive.native.disclosures import Definition, Described, Disclosures, described
from tool_runtime import JsonObject

PARAMETERS: JsonObject = {"type": "object", "properties": {"city": {"type": "string"}}}
ENTRY: JsonObject = {"name": "fetch_weather", "description": "Forecast", "parameters": PARAMETERS, "output": {}}


def definition(name: str, description: str = "Does it.") -> Definition:
    return Definition(name, description, PARAMETERS)


def result(*tools: Definition) -> Described:
    return Described(tools, None)


def test_describe_result_is_read_with_its_sdk() -> None:
    text = json.dumps({"tools": [ENTRY], "language": "python", "sdk": "class Tools: ..."})

    assert described(f" {text}\n") == Described(
        (Definition("fetch_weather", "Forecast", PARAMETERS),), "class Tools: ..."
    )


def test_definitions_share_nothing_with_each_other() -> None:
    text = json.dumps({"tools": [ENTRY]})
    first, second = described(text), described(text)

    assert first is not None
    assert second is not None
    assert first == second
    assert first.tools[0].parameters is not second.tools[0].parameters


@pytest.mark.parametrize(
    "text",
    [
        pytest.param("", id="empty"),
        pytest.param("[]", id="array"),
        pytest.param("null", id="null"),
        pytest.param("{}", id="no-tools"),
        pytest.param('{"tools": {}}', id="tools-is-an-object"),
        pytest.param('{"tools":[', id="cut"),
        pytest.param(json.dumps({"tools": [ENTRY]})[:-20], id="cut-in-the-schema"),
        pytest.param(f"Here: {json.dumps({'tools': [ENTRY]})}", id="text-before"),
        pytest.param(f"{json.dumps({'tools': [ENTRY]})} done", id="text-after"),
        pytest.param(json.dumps({"tools": [ENTRY]}) * 2, id="two-objects"),
        pytest.param("\ud800", id="lone-surrogate"),
        pytest.param('{"tools": [{"name": "\\ud800", "description": "", "parameters": {}}]}', id="escaped-surrogate"),
        pytest.param("[" * 1_000, id="deep"),
    ],
)
def test_text_that_is_not_one_object_with_tools_is_no_result(text: str) -> None:
    assert described(text) is None


@pytest.mark.parametrize(
    "entry",
    [
        pytest.param("fetch_weather", id="string"),
        pytest.param({"name": "x", "parameters": {}}, id="no-description"),
        pytest.param({"name": "", "description": "d", "parameters": {}}, id="empty-name"),
        pytest.param({"name": 1, "description": "d", "parameters": {}}, id="name-is-a-number"),
        pytest.param({"name": "x", "description": "d"}, id="no-parameters"),
        pytest.param({"name": "x", "description": "d", "parameters": True}, id="parameters-are-no-object"),
        pytest.param({"name": "x", "description": "d", "parameters": {"type": "nothing"}}, id="no-such-type"),
        pytest.param({"name": "x", "description": "d", "parameters": {"properties": []}}, id="properties-are-a-list"),
    ],
)
def test_one_invalid_entry_makes_the_whole_result_none(entry: Any) -> None:
    assert described(json.dumps({"tools": [ENTRY, entry]})) is None


# A meta-schema looks at a maximum, and lets any default pass.
@pytest.mark.parametrize("keyword", ["maximum", "default"])
@pytest.mark.parametrize("number", ["NaN", "Infinity", "1e999"])
def test_numbers_that_no_request_can_carry_make_it_none(number: str, keyword: str) -> None:
    text = f'{{"tools": [{{"name": "x", "description": "", "parameters": {{"{keyword}": {number}}}}}]}}'

    assert described(text) is None


@pytest.mark.parametrize(
    "parameters",
    [
        pytest.param({}, id="empty"),
        pytest.param({"type": "object", "oneOf": [{"required": ["a"]}]}, id="keyword-that-apis-refuse"),
        pytest.param({"exclusiveMinimum": True, "minimum": 1}, id="draft-4"),
        pytest.param({"$schema": "http://json-schema.org/draft-07/schema#", "type": "object"}, id="names-draft-7"),
        pytest.param({"$schema": "https://example.com/mine", "type": "object"}, id="names-another-dialect"),
    ],
)
def test_whatever_the_runtime_takes_for_a_schema_is_one(parameters: JsonObject) -> None:
    found = described(json.dumps({"tools": [{"name": "x", "description": "", "parameters": parameters}]}))

    assert found is not None
    assert found.tools[0].parameters == parameters


@given(st.text() | st.binary().map(lambda raw: raw.decode("latin-1")))
def test_no_text_raises(text: str) -> None:
    assert described(text) is None or text.strip().startswith("{")


def test_tools_are_taken_in_the_order_of_first_disclosure() -> None:
    disclosures = Disclosures(frozenset())

    assert disclosures.take(result(definition("b"), definition("a"))) == (definition("b"), definition("a"))
    assert disclosures.take(result(definition("c"), definition("a"))) == (definition("c"),)
    assert [each.name for each in disclosures.definitions] == ["b", "a", "c"]


def test_first_definition_of_a_name_holds() -> None:
    disclosures = Disclosures(frozenset())
    disclosures.take(result(definition("a", "First."), definition("a", "Second.")))

    assert disclosures.take(result(definition("a", "Third."))) == ()
    assert disclosures.definitions == (definition("a", "First."),)


@pytest.mark.parametrize("name", sorted(RESERVED))
def test_reserved_name_is_never_taken(name: str) -> None:
    disclosures = Disclosures(frozenset())

    assert disclosures.take(result(definition(name), definition("a"))) == (definition("a"),)


def test_declared_name_is_never_taken() -> None:
    disclosures = Disclosures(frozenset({"eager"}))

    assert disclosures.take(result(definition("eager"))) == ()
    assert disclosures.definitions == ()


def test_open_form_takes_any_arguments_and_tells_the_exact_schema() -> None:
    exact: JsonObject = {"type": "object", "oneOf": [{"required": ["a"]}]}
    opened = Definition("a", "Does it.", exact).opened()

    assert opened.parameters == {"type": "object", "additionalProperties": True}
    assert opened.description.startswith("Does it.\n\n")
    assert json.loads(opened.description.partition("exactly: ")[2]) == exact
    assert opened.parameters is not Definition("b", "", exact).opened().parameters
