"""Projections of tools to the formats of vendors and MCP, and the refusal of what they would refuse."""

import json
from collections.abc import Callable, Sequence
from typing import Any

import pytest
from mcp import types

from progressive.formats import (
    UnsupportedToolError,
    anthropic_tools,
    mcp_tools,
    openai_chat_tools,
    openai_responses_tools,
)
from tool_runtime import JsonObject, ToolAnnotations, ToolSchema

Projection = Callable[[Sequence[ToolSchema]], Sequence[Any]]

PARAMETERS: JsonObject = {
    "properties": {"path": {"type": "string", "description": "Where."}, "n": {"anyOf": [{"type": "integer"}]}},
    "required": ["path"],
    "type": "object",
}
OUTPUT: JsonObject = {"type": "object", "properties": {"size": {"type": "integer"}}}
PARAMETERS_TEXT = (
    '{"type": "object", "properties": {"path": {"type": "string", "description": "Where."}, '
    '"n": {"anyOf": [{"type": "integer"}]}}, "required": ["path"]}'
)


def schema(name: str = "read", *, parameters: JsonObject = PARAMETERS, output: JsonObject = OUTPUT) -> ToolSchema:
    return ToolSchema(
        name=name,
        description="Reads.",
        parameters=parameters,
        output=output,
        annotations=ToolAnnotations(read_only=True, destructive=False, idempotent=True, open_world=False),
    )


def mcp_default(schemas: Sequence[ToolSchema]) -> Sequence[Any]:
    return mcp_tools(schemas)


@pytest.mark.parametrize(
    ("projection", "expected"),
    [
        pytest.param(
            anthropic_tools,
            f'[{{"name": "read", "description": "Reads.", "input_schema": {PARAMETERS_TEXT}}}]',
            id="anthropic",
        ),
        pytest.param(
            openai_responses_tools,
            f'[{{"type": "function", "name": "read", "description": "Reads.", "parameters": {PARAMETERS_TEXT}, '
            '"strict": false}]',
            id="openai-responses",
        ),
        pytest.param(
            openai_chat_tools,
            '[{"type": "function", "function": {"name": "read", "description": "Reads.", '
            f'"parameters": {PARAMETERS_TEXT}, "strict": false}}}}]',
            id="openai-chat",
        ),
        pytest.param(
            mcp_default,
            f'[{{"name": "read", "description": "Reads.", "inputSchema": {PARAMETERS_TEXT}, "annotations": '
            '{"readOnlyHint": true, "destructiveHint": false, "idempotentHint": true, "openWorldHint": false}}]',
            id="mcp",
        ),
    ],
)
def test_projection_has_this_text(projection: Projection, expected: str) -> None:
    assert json.dumps(projection([schema()])) == expected


ALL = [
    pytest.param(anthropic_tools, id="anthropic"),
    pytest.param(openai_responses_tools, id="openai-responses"),
    pytest.param(openai_chat_tools, id="openai-chat"),
    pytest.param(mcp_default, id="mcp"),
]
VENDORS = ALL[:3]
OPENAI = ALL[1:3]


@pytest.mark.parametrize("projection", ALL)
def test_projection_keeps_the_order_of_the_tools(projection: Projection) -> None:
    text = json.dumps(projection([schema("zeta"), schema("alpha"), schema("mid")]))
    assert text.index("zeta") < text.index("alpha") < text.index("mid")


@pytest.mark.parametrize("projection", ALL)
def test_projection_of_no_tools_is_empty(projection: Projection) -> None:
    assert projection([]) == []


@pytest.mark.parametrize("projection", ALL)
def test_parameters_that_name_no_type_are_said_to_be_an_object(projection: Projection) -> None:
    tool = schema(parameters={"properties": {}})
    assert '{"type": "object", "properties": {}}' in json.dumps(projection([tool]))
    assert tool.parameters == {"properties": {}}


@pytest.mark.parametrize("projection", ALL)
def test_parameters_that_need_not_be_an_object_are_refused(projection: Projection) -> None:
    with pytest.raises(UnsupportedToolError, match=r"refuses the tool 'read': the type of its parameters must be"):
        projection([schema(parameters={"type": ["object", "null"]})])


@pytest.mark.parametrize("projection", ALL)
def test_two_tools_of_one_name_are_refused(projection: Projection) -> None:
    with pytest.raises(UnsupportedToolError, match=r"refuses the tool 'read': every name stands once"):
        projection([schema("read"), schema("write"), schema("read")])


@pytest.mark.parametrize("name", ["", "my-tool.v2", "查询日历", "a b", "a/b", "read\n", "é"])
@pytest.mark.parametrize("projection", VENDORS)
def test_name_that_a_vendor_refuses_is_refused_with_the_rule(projection: Projection, name: str) -> None:
    with pytest.raises(UnsupportedToolError) as caught:
        projection([schema("fine"), schema(name)])
    assert caught.value.tool == name
    assert "characters out of a-z, A-Z, 0-9, _ and -" in caught.value.rule
    assert caught.value.api in str(caught.value)
    assert repr(name) in str(caught.value)


@pytest.mark.parametrize(
    ("projection", "chars_max"),
    [
        pytest.param(anthropic_tools, 128, id="anthropic"),
        pytest.param(openai_responses_tools, 64, id="openai-responses"),
        pytest.param(openai_chat_tools, 64, id="openai-chat"),
    ],
)
def test_longest_name_passes_and_a_longer_one_is_refused(projection: Projection, chars_max: int) -> None:
    assert len(projection([schema("x" * chars_max)])) == 1
    with pytest.raises(UnsupportedToolError, match=f"1 to {chars_max} characters"):
        projection([schema("x" * (chars_max + 1))])


@pytest.mark.parametrize("keyword", ["allOf", "anyOf", "oneOf"])
@pytest.mark.parametrize("projection", VENDORS)
def test_alternatives_at_the_top_are_refused(projection: Projection, keyword: str) -> None:
    with pytest.raises(UnsupportedToolError, match=f"its parameters must not have {keyword} at the top level"):
        projection([schema(parameters={"type": "object", keyword: [{"required": ["a"]}]})])


@pytest.mark.parametrize("keyword", ["enum", "not"])
@pytest.mark.parametrize("projection", OPENAI)
def test_enum_and_not_at_the_top_are_refused_by_openai_alone(projection: Projection, keyword: str) -> None:
    tool = schema(parameters={"type": "object", keyword: []})
    with pytest.raises(UnsupportedToolError, match=f"must not have {keyword} at the top level"):
        projection([tool])
    assert len(anthropic_tools([tool])) == 1


@pytest.mark.parametrize("key", ["filter[id]", "", "x" * 65, "值"])
def test_key_that_anthropic_refuses_is_refused_at_the_top_level_only(key: str) -> None:
    inner: JsonObject = {"type": "object", "properties": {key: {"type": "string"}}}
    with pytest.raises(UnsupportedToolError, match=r"of its parameters does not match \^\[a-zA-Z0-9_\.-\]\{1,64\}\$"):
        anthropic_tools([schema(parameters=inner)])
    assert len(anthropic_tools([schema(parameters={"type": "object", "properties": {"a.b-c_1": inner}})])) == 1
    assert len(openai_chat_tools([schema(parameters=inner)])) == 1


@pytest.mark.parametrize("projection", OPENAI)
def test_openai_is_told_of_properties_where_there_are_none(projection: Projection) -> None:
    tool = schema(parameters={"additionalProperties": False})
    expected = '{"type": "object", "additionalProperties": false, "properties": {}}'
    assert expected in json.dumps(projection([tool]))
    assert tool.parameters == {"additionalProperties": False}


@pytest.mark.parametrize(
    "inner",
    [
        pytest.param({"type": "array"}, id="property"),
        pytest.param({"type": ["null", "array"]}, id="one-of-several-types"),
        pytest.param({"type": "array", "items": {"type": "array"}}, id="items"),
        pytest.param({"anyOf": [{"type": "array"}, {"type": "null"}]}, id="alternative"),
        pytest.param({"type": "object", "additionalProperties": {"type": "array"}}, id="deep"),
        pytest.param({"type": "object", "properties": {"default": {"type": "array"}}}, id="name-of-a-keyword"),
    ],
)
def test_array_without_items_is_refused_by_openai_alone(inner: JsonObject) -> None:
    tool = schema(parameters={"properties": {"x": inner}})
    for projection in (openai_responses_tools, openai_chat_tools):
        with pytest.raises(UnsupportedToolError, match="every array in its parameters must say what its items are"):
            projection([tool])
    assert len(anthropic_tools([tool])) == len(mcp_tools([tool])) == 1


@pytest.mark.parametrize(
    "inner",
    [
        pytest.param({"type": "array", "items": {}}, id="anything"),
        pytest.param({"type": "array", "prefixItems": [{"type": "string"}]}, id="tuple"),
        pytest.param({"default": {"type": "array"}, "enum": [{"type": "array"}]}, id="data"),
    ],
)
def test_what_only_looks_like_an_array_without_items_passes(inner: JsonObject) -> None:
    assert len(openai_responses_tools([schema(parameters={"properties": {"x": inner}})])) == 1


def test_each_part_of_a_deep_schema_is_looked_at_once() -> None:
    inner: JsonObject = {"type": "string"}
    for _ in range(90):
        inner = {"type": "object", "properties": {"x": inner}}
    # Looking twice at each level would not end.
    assert len(openai_responses_tools([schema(parameters=inner)])) == 1


def test_mcp_takes_any_name_and_any_keyword() -> None:
    tools = [schema("my-tool.v2"), schema("查询日历", parameters={"type": "object", "anyOf": [{"required": ["a"]}]})]
    assert [tool["name"] for tool in mcp_tools(tools)] == ["my-tool.v2", "查询日历"]


def test_mcp_marks_only_the_tools_that_are_always_loaded() -> None:
    hot, cold = mcp_tools([schema("hot"), schema("cold")], always_loaded={"hot", "gone"})
    assert hot.get("_meta") == {"anthropic/alwaysLoad": True}
    assert "_meta" not in cold


def test_mcp_announces_the_schema_of_a_value_when_asked_and_only_of_an_object() -> None:
    tools = [schema("object"), schema("text", output={"type": "string"}), schema("any", output={})]
    assert [tool.get("outputSchema") for tool in mcp_tools(tools, structured=True)] == [OUTPUT, None, None]
    assert [tool.get("outputSchema") for tool in mcp_tools(tools)] == [None, None, None]


def test_mcp_entry_is_what_the_sdk_reads_and_writes() -> None:
    for entry in mcp_tools([schema("hot"), schema("cold")], always_loaded={"hot"}, structured=True):
        read = types.Tool.model_validate(entry)
        assert read.model_dump(mode="json", by_alias=True, exclude_none=True) == entry
