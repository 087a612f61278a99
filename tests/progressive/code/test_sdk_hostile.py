"""Foreign text stays text, and foreign schemas cost little: stubs are valid Python whatever a tool brings."""

import ast
import json
import keyword
import time
from collections.abc import Sequence
from typing import Any

import pytest
import regex
from hypothesis import given
from hypothesis import strategies as st

from progressive.code.sdk import checker_text, sdk_text, stubs
from tests.progressive.code.stub_tools import declared, methods, tool
from tool_runtime import JsonObject, ToolSchema

ANYTHING: JsonObject = {}
NEVER_DRAWN = regex.compile(r"\p{Default_Ignorable_Code_Point}")

HOSTILE = [
    pytest.param('ends """\nimport os\n"""', id="triple-quotes"),
    pytest.param('quoted "', id="quote-at-the-end"),
    *(pytest.param('"' * count, id=f"{count}-quotes") for count in range(1, 9)),
    pytest.param('back \\"', id="backslash-and-quote-at-the-end"),
    pytest.param("back \\", id="backslash-at-the-end"),
    pytest.param('\\"""\\N{BULLET}\\x', id="escapes"),
    pytest.param("one\r\n\r\ntwo\rthree\x0cfour\x0bfive\u2028six\u2029seven\x85eight\x1cnine", id="line-breaks"),
    pytest.param("nul \x00 bell \x07 escape \x1b[31m", id="control-characters"),
    pytest.param("\u202eevil\u2066 \ufeff\u200b\U000e0041", id="bidi-and-invisible"),
    pytest.param("lone \ud800 surrogate", id="lone-surrogate"),
    pytest.param("\tindented\n\t\tmore", id="tabs"),
    pytest.param("# coding: latin-1", id="coding-cookie"),
    pytest.param("👩\u200d👩\u200d👧\u200d👦 می\u200cخواهم", id="joiners"),
]


@pytest.mark.parametrize("text", HOSTILE)
def test_hostile_description_stays_inside_its_docstring_and_comment(text: str) -> None:
    schema: JsonObject = {"type": "object", "properties": {"a": {"type": "string", "description": text}}}
    made = stubs([tool(description=text, parameters=schema)])
    made.encode()
    assert declared(made) == ["ProbeArgs", "ProbeResult", "Tools"]
    assert not {character for character in made if not character.isprintable()} - set("\n\u200c\u200d")
    assert len(next(node for node in ast.parse(made).body if isinstance(node, ast.ClassDef)).body) == 1


def nested(levels: int) -> JsonObject:
    schema: JsonObject = {"type": "string"}
    for _ in range(levels):
        schema = {"type": "array", "items": schema}
    return schema


def with_keys(count: int, schema: JsonObject) -> JsonObject:
    return {"type": "object", "properties": {f"k{index}": schema for index in range(count)}}


def doubling(levels: int) -> JsonObject:
    defs: JsonObject = {"d0": {"type": "string"}}
    for level in range(1, levels):
        ref: JsonObject = {"$ref": f"#/$defs/d{level - 1}"}
        defs[f"d{level}"] = {
            "anyOf": [{"type": "array", "items": ref}, {"type": "object", "additionalProperties": ref}]
        }
    return {"$ref": f"#/$defs/d{levels - 1}", "$defs": defs}


def spreading(levels: int) -> JsonObject:
    defs: JsonObject = {}
    for level in range(levels):
        ref: JsonObject = {"$ref": f"#/$defs/d{(level + 1) % levels}", "required": [f"k{level}"]}
        defs[f"d{level}"] = {"type": "object", "properties": dict.fromkeys("abcdef", ref), "allOf": [ref, ref]}
    return {"$ref": "#/$defs/d0", "$defs": defs}


@pytest.mark.parametrize(
    "schema",
    [
        pytest.param(nested(190), id="deep"),
        pytest.param(doubling(60), id="doubling-text"),
        pytest.param(spreading(12), id="every-key-expands-every-other"),
        pytest.param(with_keys(50_000, ANYTHING), id="many-keys"),
        pytest.param(with_keys(150, with_keys(150, ANYTHING)), id="many-objects"),
        pytest.param({"anyOf": [{"const": f"value {index}"} for index in range(50_000)]}, id="wide-union"),
        pytest.param({"allOf": [with_keys(3, ANYTHING) for _ in range(50_000)]}, id="wide-all-of"),
        pytest.param(with_keys(50_000, ANYTHING) | {"anyOf": [with_keys(2, ANYTHING)] * 60}, id="many-keys-repeated"),
        pytest.param({"enum": [f"value {index}" for index in range(50_000)]}, id="long-enum"),
        pytest.param({"enum": ["x" * 1_000_000]}, id="long-enum-value"),
        pytest.param({"properties": {"x" * 100_000: with_keys(1, ANYTHING)}}, id="long-key"),
    ],
)
def test_hostile_schema_gives_bounded_text_soon(schema: JsonObject) -> None:
    started_s = time.thread_time()
    text = stubs([tool(output=schema)])
    assert time.thread_time() - started_s < 5
    assert len(text) < 100_000
    assert declared(text)[-2:] == ["ProbeResult", "Tools"]


KEYWORDS = (
    "$ref", "allOf", "anyOf", "oneOf", "type", "properties", "required", "additionalProperties", "patternProperties",
    "items", "prefixItems", "enum", "const", "description", "$defs", "not", "format",
)  # fmt: skip
TYPES = ("object", "array", "string", "integer", "number", "boolean", "null", "vector")
REFS = ("#", "#/", "#/$defs/a", "#/$defs/b", "#/properties/a", "#/anyOf/0", "https://example.org", "#anchor", "")
KEYS = st.sampled_from(["a", "b", "class", "a-b", "str", "ProbeArgs", "__x"]) | st.text(max_size=8)

scalars = st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=8)
values: st.SearchStrategy[Any] = st.recursive(
    scalars, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(KEYS, inner, max_size=3)
)


def typed(type_: str) -> JsonObject:
    return {"type": type_}


def objects(inner: st.SearchStrategy[Any]) -> st.SearchStrategy[JsonObject]:
    right: dict[str, st.SearchStrategy[Any]] = {
        "$ref": st.sampled_from(REFS),
        "type": st.sampled_from(TYPES) | st.lists(st.sampled_from(TYPES), max_size=3),
        "properties": st.dictionaries(KEYS, inner, max_size=4),
        "required": st.lists(KEYS, max_size=3),
        "additionalProperties": inner,
        "patternProperties": st.dictionaries(KEYS, inner, max_size=2),
        "items": inner | st.lists(inner, max_size=2),
        "prefixItems": st.lists(inner, max_size=3),
        "enum": st.lists(values, max_size=4),
        "const": values,
        "description": st.text(max_size=20),
        "$defs": st.dictionaries(st.sampled_from(["a", "b"]), inner, max_size=2),
        **{key: st.lists(inner, max_size=3) for key in ("allOf", "anyOf", "oneOf")},
    }
    keywords = st.lists(st.sampled_from(sorted(right)), max_size=4, unique=True)
    return keywords.flatmap(lambda chosen: st.fixed_dictionaries({key: right[key] for key in chosen}))


wrong: st.SearchStrategy[Any] = st.dictionaries(st.sampled_from(KEYWORDS), values, max_size=2)
leaves: st.SearchStrategy[Any] = st.booleans() | st.builds(typed, st.sampled_from(TYPES)) | wrong
schemas: st.SearchStrategy[Any] = st.recursive(leaves, objects, max_leaves=6)
object_schemas = objects(schemas)


@given(names=st.lists(KEYS, max_size=3, unique=True), parameters=object_schemas, output=schemas, description=st.text())
def test_any_schema_and_any_text_give_valid_python_that_declares_only_what_is_ours(
    names: Sequence[str], parameters: Any, output: Any, description: str
) -> None:
    tools = [tool(name, description=description, parameters=parameters, output=output) for name in names]
    for made in (stubs(tools), sdk_text(tools), checker_text(tools)):
        made.encode()
        found = declared(made)
        assert len(found) == len(set(found))
        assert not any(keyword.iskeyword(name) for name in found)
        assert set(methods(made)) <= {*names, "__getitem__"}
    assert stubs(tools) == stubs(json_copy(tools))


def json_copy(tools: Sequence[ToolSchema]) -> list[ToolSchema]:
    return [
        tool(
            each.name,
            description=each.description,
            parameters=json.loads(json.dumps(each.parameters)),
            output=json.loads(json.dumps(each.output)),
        )
        for each in tools
    ]


@given(st.text() | st.text("a\u034f\u115f\u3164\ufe00\ufe0f\u200d\U000e0100 "))
def test_all_that_is_visible_of_any_description_is_read_back_from_its_docstring(description: str) -> None:
    shown = methods(stubs([tool(description=description)]))["probe"] or ""
    assert visible(shown) == visible(description)


def visible(text: str) -> str:
    # Some letters and accents are never drawn: U+034F, the Hangul fillers, the variation selectors.
    return "".join(
        character
        for character in text
        if character.isprintable() and not character.isspace() and NEVER_DRAWN.match(character) is None
    )
