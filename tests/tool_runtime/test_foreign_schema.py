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
        ({"path": "p", "kind": "c"}, "kind: must match enum ['a', 'b'], got \"c\""),
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


def test_the_json_schema_library_is_loaded_for_mounted_tools_only() -> None:
    program = "import sys, tests.tool_runtime.toolkit as kit; kit.echo_tool(); print('jsonschema_rs' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True, cwd=ROOT)
    assert done.stdout == "False\n"
