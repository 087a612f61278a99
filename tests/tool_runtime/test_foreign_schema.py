"""Tools whose parameters come as a bare JSON Schema."""

import subprocess
import sys
from pathlib import Path
from typing import cast

import pytest
from pydantic import JsonValue

from tool_runtime import TextBlock, Tool, ToolCall, ToolContext, ToolFailure, ToolRuntime, ToolSuccess
from tool_runtime.arguments import check_arguments
from tool_runtime.checks import checker_for
from tool_runtime.payload import JsonObject, encode
from tool_runtime.problems import MismatchError

ROOT = Path(__file__).parents[2]

SCHEMA: JsonObject = {
    "type": "object",
    "properties": {
        "path": {"type": "string"},
        "limit": {"type": "integer", "minimum": 1},
        "maybe": {"anyOf": [{"type": "integer"}, {"type": "null"}]},
        "either": {"type": ["integer", "null"]},
        "kind": {"enum": ["a", "b"]},
        "inner": {"type": "object", "required": ["x", "y"], "properties": {"x": {"type": "boolean"}}},
    },
    "patternProperties": {"^x-": {}},
    "required": ["path"],
    "additionalProperties": False,
}


def parsed(arguments: JsonValue) -> JsonValue:
    value, _payload = check_arguments(checker_for(SCHEMA), encode(arguments))
    return value


@pytest.mark.parametrize(
    ("arguments", "value"),
    [
        ({"path": "p", "limit": 3}, {"path": "p", "limit": 3}),
        ({"path": "p", "limit": "3"}, {"path": "p", "limit": 3}),
        ({"path": "p", "maybe": "3"}, {"path": "p", "maybe": 3}),
        ({"path": "p", "either": "3"}, {"path": "p", "either": 3}),
        ({"path": "p", "limit": 3.0}, {"path": "p", "limit": 3}),
        ({"path": "12"}, {"path": "12"}),
        ({"path": "p", "x-free": [1]}, {"path": "p", "x-free": [1]}),
    ],
)
def test_right_arguments_arrive_as_plain_values(arguments: JsonValue, value: JsonValue) -> None:
    assert parsed(arguments) == value


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({}, "path: is required"),
        ({"path": 1}, "path: must be of type string, got 1"),
        ({"path": "p", "limit": True}, "limit: must be of type integer, got true"),
        ({"path": "p", "limit": 1.5}, "limit: must be of type integer, got 1.5"),
        ({"path": "p", "limit": "1.5"}, 'limit: must be of type integer, got "1.5"'),
        ({"path": "p", "limit": "0"}, "limit: must match minimum 1, got 0"),
        ({"path": "p", "kind": "c"}, 'kind: must match enum ["a", "b"], got "c"'),
        ({"path": "p", "maybe": "x"}, 'maybe: must be of type integer or must be of type null, got "x"'),
        (
            {"path": "p", "colour": 1},
            "colour: unknown key, known: path, limit, maybe, either, kind, inner",
        ),
        ({"path": "p", "inner": {}}, "inner.x: is required; inner.y: is required"),
        ([], "must be of type object, got an array"),
    ],
)
def test_wrong_arguments_are_refused_with_path_and_reason(arguments: JsonValue, message: str) -> None:
    with pytest.raises(MismatchError) as caught:
        parsed(arguments)
    assert str(caught.value) == message


def test_every_offending_path_is_listed_at_once() -> None:
    with pytest.raises(MismatchError) as caught:
        parsed({"limit": "x", "colour": 1})
    assert {str(problem).split(":")[0] for problem in caught.value.problems} == {"path", "limit", "colour"}


@pytest.mark.parametrize(
    ("schema", "value", "message"),
    [
        ({"const": None}, 1, "must match const null, got 1"),
        ({"const": True}, "a", 'must match const true, got "a"'),
        ({"uniqueItems": True}, [1, 1], "must match uniqueItems true, got an array"),
        ({"const": "a\u202eb"}, 'a"b', 'must match const "a\\u202eb", got "a\\"b"'),
        ({"dependentRequired": {"a": ["b"]}}, {"a": 1}, 'must match dependentRequired {"a": ["b"]}, got an object'),
    ],
)
def test_refusals_speak_json(schema: JsonObject, value: JsonValue, message: str) -> None:
    with pytest.raises(MismatchError) as caught:
        checker_for(schema).parse(encode(value))
    assert str(caught.value) == message


@pytest.mark.parametrize(
    ("schema", "arguments", "payload"),
    [
        (SCHEMA, {"path": "p", "limit": 12.0}, b'{"path":"p","limit":12}'),
        (SCHEMA, {"path": "p", "maybe": -0.0}, b'{"path":"p","maybe":0}'),
        (SCHEMA, {"path": "p", "limit": "3", "either": 4.0}, b'{"path":"p","limit":3,"either":4}'),
        (SCHEMA, {"path": "p", "x-free": 12.0}, b'{"path":"p","x-free":12.0}'),
        ({"properties": {"a": {"type": ["number", "integer"]}}}, {"a": 12.0}, b'{"a":12.0}'),
        ({"properties": {"a": {"type": "integer"}}}, {"a": 1e300}, b'{"a":1e+300}'),
        ({}, {"a": 12.0}, b'{"a":12.0}'),
    ],
)
def test_a_whole_number_is_sent_as_an_integer_where_one_is_expected(
    schema: JsonObject, arguments: JsonObject, payload: bytes
) -> None:
    value, sent = check_arguments(checker_for(schema), encode(arguments))
    assert sent == payload
    assert encode(value) == payload


KINDS: JsonObject = {
    "oneOf": [
        {"properties": {"kind": {"const": "a"}, "n": {"type": "integer"}}, "required": ["kind", "n"]},
        {"properties": {"kind": {"enum": ["b"]}, "s": {"type": "string"}}, "required": ["kind", "s"]},
    ]
}


@pytest.mark.parametrize(
    ("schema", "arguments", "value"),
    [
        (KINDS, {"kind": "a", "n": "12"}, {"kind": "a", "n": 12}),
        (
            {"anyOf": [{"properties": {"n": {"type": "integer"}}, "required": ["n"]}, {"required": ["s"]}]},
            {"n": "12"},
            {"n": 12},
        ),
        (
            {"properties": {"n": {"$ref": "#count"}}, "$defs": {"c": {"$anchor": "count", "type": "integer"}}},
            {"n": "12"},
            {"n": 12},
        ),
        (
            {
                "$id": "https://example.org/root.json",
                "properties": {"n": {"$ref": "item.json#/$defs/c"}, "m": {"$ref": "/item.json"}},
                "$defs": {
                    "item": {
                        "$id": "item.json",
                        "$ref": "#/$defs/c",
                        "$defs": {"c": {"type": "integer"}},
                    }
                },
            },
            {"n": "12", "m": "13"},
            {"n": 12, "m": 13},
        ),
        (
            {
                "$schema": "http://json-schema.org/draft-07/schema#",
                "properties": {"n": {"$ref": "#count"}},
                "definitions": {"c": {"$id": "#count", "type": "integer"}},
            },
            {"n": "12"},
            {"n": 12},
        ),
        (
            {
                "$schema": "http://json-schema.org/draft-04/schema#",
                "id": "urn:example:root",
                "properties": {"n": {"$ref": "#/definitions/c"}},
                "definitions": {"c": {"type": "integer", "minimum": 0, "exclusiveMinimum": True}},
            },
            {"n": "12"},
            {"n": 12},
        ),
    ],
)
def test_integers_are_mended_behind_names_and_in_unions(
    schema: JsonObject, arguments: JsonObject, value: JsonObject
) -> None:
    assert check_arguments(checker_for(schema), encode(arguments))[0] == value


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"kind": "a", "n": "x"}, 'n: must be of type integer, got "x"'),
        ({"kind": "b"}, "s: is required"),
        (
            {"kind": "c"},
            'n is required or kind must match const "a" or s is required or kind must match enum ["b"], got an object',
        ),
    ],
)
def test_a_union_of_kinds_tells_what_is_wrong_with_the_kind_that_is_meant(arguments: JsonObject, message: str) -> None:
    with pytest.raises(MismatchError) as caught:
        check_arguments(checker_for(KINDS), encode(arguments))
    assert str(caught.value) == message


@pytest.mark.parametrize(
    ("schema", "value", "message"),
    [
        (
            {"properties": {"a": {"type": "integer", "minimum": 0, "exclusiveMinimum": True}}},
            {"a": 0},
            "a: must match minimum 0, exclusiveMinimum true, got 0",
        ),
        (
            {"properties": {"a": {"items": [{"type": "string"}, {"type": "null"}]}}},
            {"a": ["x", 1]},
            "a[1]: must be of type null, got 1",
        ),
    ],
)
@pytest.mark.parametrize("draft", [{}, {"$schema": "https://example.org/unknown"}])
def test_a_schema_of_an_older_draft_that_does_not_say_so_is_read_under_that(
    draft: JsonObject, schema: JsonObject, value: JsonValue, message: str
) -> None:
    with pytest.raises(MismatchError) as caught:
        checker_for({**draft, **schema}).parse(encode(value))
    assert str(caught.value) == message


def test_a_schema_that_names_a_draft_is_read_under_no_other() -> None:
    draft = "https://json-schema.org/draft/2020-12/schema"
    with pytest.raises(ValueError, match="not a valid JSON Schema: exclusiveMinimum: true is not of type"):
        checker_for({"$schema": draft, "minimum": 0, "exclusiveMinimum": True})


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"a": 0}, "a: must match minimum 0, exclusiveMinimum true, got 0"),
        ({"a": 9}, "a: must match maximum 9, exclusiveMaximum true, got 9"),
        ({"a": 10}, "a: must match maximum 9, exclusiveMaximum true, got 10"),
        ({"a": "x"}, 'a: must be of type integer, got "x"'),
    ],
)
def test_limits_of_draft_4_are_explained_and_integers_mended(arguments: JsonObject, message: str) -> None:
    limits: JsonObject = {"minimum": 0, "exclusiveMinimum": True, "maximum": 9, "exclusiveMaximum": True}
    checker = checker_for(
        {
            "$schema": "http://json-schema.org/draft-04/schema#",
            "properties": {"a": {"type": "integer", **limits}},
        }
    )
    assert check_arguments(checker, b'{"a":"5"}') == ({"a": 5}, b'{"a":5}')
    with pytest.raises(MismatchError) as caught:
        check_arguments(checker, encode(arguments))
    assert str(caught.value) == message


def test_an_embedded_schema_of_an_older_draft_is_enforced_if_not_explained() -> None:
    older: JsonObject = {"$id": "older", "$schema": "http://json-schema.org/draft-04/schema#"}
    newest: JsonObject = {"$schema": "https://json-schema.org/draft/2020-12/schema"}
    checker = checker_for({**newest, "properties": {"a": {**older, "minimum": 0, "exclusiveMinimum": True}}})
    assert checker.parse(b'{"a":1}') == {"a": 1}
    with pytest.raises(MismatchError, match="no single place is at fault"):
        checker.parse(b'{"a":0}')


@pytest.mark.parametrize("value", [{"x": {"y": 1}, "z": "text"}, {"x": 1}])
def test_a_pointer_may_lead_through_a_reference_with_siblings(value: JsonObject) -> None:
    schema: JsonObject = {
        "properties": {
            "x": {"$ref": "#/$defs/B", "properties": {"y": {"type": "integer"}}, "allOf": [{"type": "object"}]},
            "z": {"$ref": "#/properties/x/properties/y"},
            "w": {"$ref": "#/properties/x/allOf/0"},
        },
        "$defs": {"B": {}},
    }
    with pytest.raises(MismatchError, match=r"must be of type (integer|object)"):
        checker_for(schema).parse(encode(value))


@pytest.mark.parametrize(
    "data", [{"$ref": "#/$defs/a"}, {"pattern": "(?=a)"}, {"unevaluatedItems": False}, {"$id": "http://["}]
)
def test_data_that_look_like_a_schema_are_data(data: JsonObject) -> None:
    reference: JsonObject = {"pattern": "(?=a)", "$ref": "#/$defs/a"}
    properties: JsonObject = {"a": {"const": data}, "b": {"enum": [data]}, "c": reference}
    value: JsonObject = {"a": data, "b": data}
    checker = checker_for({"properties": properties, "$defs": {"a": {"maxLength": 1}}})
    assert checker.parse(encode(value)) == value
    with pytest.raises(MismatchError, match=r"^c: must match maxLength 1, got "):
        checker.parse(encode({**value, "c": "aa"}))


def test_a_long_limit_is_shortened() -> None:
    with pytest.raises(MismatchError) as caught:
        checker_for({"enum": ["x" * 1000]}).parse(b"1")
    assert len(str(caught.value)) < 200


def test_a_text_nested_too_deep_is_refused() -> None:
    with pytest.raises(MismatchError, match="recursion limit"):
        checker_for({}).parse(b"[" * 500 + b"]" * 500)


def test_an_invalid_schema_is_refused_when_compiled() -> None:
    with pytest.raises(ValueError, match="not a valid JSON Schema"):
        checker_for({"type": "nonsense"})


def test_the_schema_is_copied_when_compiled() -> None:
    source = cast("JsonObject", {"type": "object", "properties": {"a": {"type": "string"}}})
    checker = checker_for(source)
    cast("JsonObject", source["properties"]).clear()
    with pytest.raises(MismatchError):
        checker.parse(b'{"a": 1}')


def mounted(parameters: JsonObject) -> ToolRuntime:
    async def body(args: JsonObject, ctx: ToolContext) -> JsonValue:
        return args

    runtime = ToolRuntime()
    runtime.register(
        Tool[JsonObject](
            name="mcp__files__read",
            description="",
            parameters=parameters,
            output={},
            execute=body,
            render=lambda _args, value: [TextBlock(str(value))],
        )
    )
    return runtime


@pytest.mark.anyio
async def test_a_mounted_tool_gets_a_dict_and_refuses_with_its_keys() -> None:
    runtime = mounted(SCHEMA)
    right = await runtime.execute(ToolCall("mcp__files__read", {"path": "p", "limit": "3"}, id="c"))
    assert right == ToolSuccess({"path": "p", "limit": 3}, (TextBlock("{'path': 'p', 'limit': 3}"),))
    wrong = await runtime.execute(ToolCall("mcp__files__read", {"limit": 1}, id="c"))
    assert isinstance(wrong, ToolFailure)
    assert (wrong.code, wrong.message) == (
        "INVALID_ARGS",
        "mcp__files__read: path: is required. It takes: path (required), limit, maybe, either, kind, inner",
    )


def test_a_mounted_tool_whose_schema_cannot_be_resolved_is_refused() -> None:
    with pytest.raises(ValueError, match=r"mcp__files__read: not a valid JSON Schema: .*/missing"):
        mounted({"properties": {"a": {"$ref": "#/missing"}}})


@pytest.mark.parametrize("made", ["kit.echo_tool()", "kit.echo_tool(output={})"])
def test_neither_a_model_nor_an_empty_schema_loads_the_json_schema_library(made: str) -> None:
    program = f"import sys, tests.tool_runtime.toolkit as kit; {made}; print('jsonschema_rs' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True, cwd=ROOT)
    assert done.stdout == "False\n"
