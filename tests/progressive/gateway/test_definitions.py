"""What a server says of a tool."""

from typing import Any, cast

import pytest
from pydantic import JsonValue

from progressive.gateway import GatewayOptions
from progressive.gateway._definitions import UnusableToolError, definition_of, fingerprint
from tests.progressive.gateway.support import definition
from tool_runtime import JsonObject, ToolAnnotations

OPTIONS = GatewayOptions(description_chars_max=40, schema_bytes_max=2_000, schema_depth_max=10)


def nested(levels: int) -> JsonObject:
    schema: JsonObject = {"type": "object"}
    for _ in range(levels):
        schema = {"type": "object", "properties": {"a": schema}}
    return schema


def test_a_description_is_cleaned_and_bounded() -> None:
    raw = definition("t", description="Reads\u202e a file.\x00 " + "x" * 100)
    assert definition_of(raw, OPTIONS).description == f"Reads a file. {'x' * 25}…"


@pytest.mark.parametrize(
    ("more", "shown"),
    [
        ({"title": "A title"}, "A title"),
        ({"description": " \u200b", "title": "A title"}, "A title"),
        ({"annotations": {"title": "Inner"}}, "Inner"),
        ({"description": 5, "title": None}, ""),
        ({}, ""),
    ],
)
def test_a_title_stands_in_for_a_missing_description(more: dict[str, Any], shown: str) -> None:
    assert definition_of(definition("t", **more), OPTIONS).description == shown


@pytest.mark.parametrize("schema", [None, "x", [], {}, {"type": "string"}, {"type": ["object"]}])
def test_parameters_that_are_no_schema_of_an_object_are_unusable(schema: JsonValue) -> None:
    with pytest.raises(UnusableToolError, match="not a schema of an object"):
        definition_of({"name": "t", "inputSchema": schema}, OPTIONS)


def test_a_tool_that_runs_as_a_task_only_is_unusable() -> None:
    with pytest.raises(UnusableToolError, match="as a task only"):
        definition_of(definition("t", execution={"taskSupport": "required"}), OPTIONS)
    assert definition_of(definition("t", execution={"taskSupport": "optional"}), OPTIONS).tool == "t"


def test_a_large_schema_is_unusable() -> None:
    schema: JsonObject = {"type": "object", "description": "x" * 2_000}
    with pytest.raises(UnusableToolError, match="bytes, more than 2,000"):
        definition_of({"name": "t", "inputSchema": schema}, OPTIONS)


def test_a_deep_schema_is_unusable() -> None:
    assert definition_of({"name": "t", "inputSchema": nested(4)}, OPTIONS).parameters == nested(4)
    with pytest.raises(UnusableToolError, match="deeper than 10 levels"):
        definition_of({"name": "t", "inputSchema": nested(5)}, OPTIONS)


def test_texts_in_a_schema_are_cleaned_and_its_data_stays() -> None:
    inner = {"type": "string", "description": "hid\u200bden", "default": {"description": "a\x07"}, "pattern": "^\x1f$"}
    schema = {"type": "object", "properties": {"description": inner}, "$defs": {"title": {"title": "T\u202e"}}}
    shown = definition_of(definition("t", inputSchema=schema), OPTIONS).parameters
    properties = cast("dict[str, JsonObject]", shown["properties"])
    assert properties["description"] == {**inner, "description": "hidden"}
    assert shown["$defs"] == {"title": {"title": "T"}}


@pytest.mark.parametrize(
    "part",
    [
        {"properties": {"a\u202eb": {}}},
        {"properties": {"a": {"enum": ["x\U000e0041"]}}},
        {"properties": {"a": {"default": "\u200b"}}},
        {"x-note": "\u2066"},
    ],
)
def test_invisible_characters_that_cannot_be_removed_make_a_tool_unusable(part: dict[str, Any]) -> None:
    with pytest.raises(UnusableToolError, match="invisible"):
        definition_of(definition("t", inputSchema={"type": "object", **part}), OPTIONS)


@pytest.mark.parametrize("output", [None, "x", {"type": "object", "description": "x" * 3_000}, nested(20)])
def test_an_output_schema_that_cannot_be_used_is_dropped(output: JsonValue) -> None:
    assert definition_of(definition("t", outputSchema=output), OPTIONS).output == {}


def test_an_output_schema_is_kept() -> None:
    assert definition_of(definition("t", outputSchema=nested(1)), OPTIONS).output == nested(1)


@pytest.mark.parametrize(
    ("claims", "annotations"),
    [
        (None, ToolAnnotations(open_world=True)),
        ({"readOnlyHint": "yes", "idempotentHint": 1}, ToolAnnotations(open_world=True)),
        ({"readOnlyHint": True}, ToolAnnotations(read_only=True, destructive=False, open_world=True)),
        (
            {"destructiveHint": False, "idempotentHint": True, "openWorldHint": False},
            ToolAnnotations(destructive=False, idempotent=True),
        ),
    ],
)
def test_where_a_server_claims_nothing_the_worst_is_assumed(claims: JsonValue, annotations: ToolAnnotations) -> None:
    assert definition_of(definition("t", annotations=claims), OPTIONS).annotations == annotations


def test_a_fingerprint_tells_what_changes_for_a_model_and_nothing_else() -> None:
    first = definition("t", description="d", icons=[{"src": "a"}])
    same = {"icons": [], **dict(reversed(list(definition("t", description="d").items())))}
    assert fingerprint(first) == fingerprint(same)
    assert fingerprint(first) != fingerprint(definition("t", description="e"))
