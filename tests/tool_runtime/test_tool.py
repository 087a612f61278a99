import dataclasses

import pytest
from pydantic import JsonValue

from tests.tool_runtime.toolkit import Echo, Echoed, echo, echo_tool, show
from tool_runtime import JsonObject, Tool, ToolAnnotations, ToolCall, ToolContext


def test_defaults_assume_the_worst() -> None:
    tool = Tool(name="t", description="", parameters=Echo, output=Echoed, execute=echo, render=show)
    assert tool.annotations == ToolAnnotations(read_only=False, destructive=True, idempotent=False, open_world=False)
    assert tool.concurrency_safe(Echo()) is False
    assert tool.concurrency_key(Echo()) is None
    assert tool.delegates_to(Echo()) is None
    assert tool.timeout_s is None


def test_a_tool_cannot_be_changed() -> None:
    tool = echo_tool()
    with pytest.raises(dataclasses.FrozenInstanceError):
        tool.name = "other"  # pyright: ignore[reportAttributeAccessIssue] # what is tested


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"name": ""}, "a tool needs a name"),
        ({"timeout_s": 0}, "echo: timeout_s must be positive, got 0"),
        ({"example": {"times": "x"}}, 'echo: the example is not a right call: times: must be a valid integer, got "x"'),
        ({"example": {"colour": 1}}, "echo: the example is not a right call: colour: unknown key, known: text, times"),
        ({"example": {"text": "\ud800"}}, "echo: text: holds a lone surrogate, which is not Unicode text"),
        (
            {"output": {"minLength": "x"}},
            'echo: not a valid JSON Schema: minLength: "x" is not of type "integer"',
        ),
    ],
)
def test_a_wrong_definition_is_refused_on_construction(change: dict[str, object], message: str) -> None:
    with pytest.raises(ValueError, match=r"\w") as caught:
        dataclasses.replace(echo_tool(), **change)
    assert str(caught.value) == message


def test_the_schema_tells_name_description_parameters_output_and_annotations() -> None:
    schema = echo_tool(annotations=ToolAnnotations(read_only=True)).schema()
    assert dataclasses.asdict(schema) == {
        "name": "echo",
        "description": "Repeats a text.",
        "parameters": {
            "type": "object",
            "properties": {"text": {"type": "string", "default": "hello"}, "times": {"type": "integer", "default": 1}},
            "additionalProperties": False,
        },
        "output": {
            "type": "object",
            "properties": {"text": {"type": "string"}},
            "required": ["text"],
            "additionalProperties": False,
        },
        "annotations": {"read_only": True, "destructive": True, "idempotent": False, "open_world": False},
    }


def test_usage_shows_the_example() -> None:
    assert echo_tool().usage() == 'A right call: echo({"text":"hi","times":2})'


def test_usage_without_example_lists_the_keys() -> None:
    parameters: JsonObject = {"type": "object", "properties": {"a": {}, "b": {}}, "required": ["b"]}
    tool = dataclasses.replace(echo_tool(), parameters=parameters, example=None)
    assert tool.usage() == "It takes: a, b (required)"
    assert dataclasses.replace(tool, parameters={}).usage() == "It takes: no arguments"


def test_a_call_has_no_parent_unless_told() -> None:
    assert ToolCall("a", {}, "1").parent_id is None


@pytest.mark.parametrize(
    ("name", "description", "reason"),
    [
        ("", "", "a tool needs a name"),
        ("x" * 257, "", "at most 256 characters, this has 257"),
        ("a\nb", "", "only printable characters"),
        ("a\u202eb", "", "only printable characters"),
        ("a\ud800", "", "only printable characters"),
        ("a", "lone \ud800", "a: the description is no Unicode text"),
    ],
)
def test_a_tool_that_could_not_be_listed_beside_others_is_refused(name: str, description: str, reason: str) -> None:
    with pytest.raises(ValueError, match=reason):
        echo_tool(name, description=description)


async def echo_nothing(_arguments: JsonObject, _context: ToolContext) -> JsonValue:
    return None


def test_a_usage_of_very_many_keys_is_told_in_part() -> None:
    properties: JsonObject = {f"key_{number}_{'x' * 100}": {} for number in range(1_000)}
    tool = Tool[JsonObject](
        name="many",
        description="",
        parameters={"type": "object", "properties": properties},
        output={},
        execute=echo_nothing,
        render=show,
    )
    assert len(tool.usage()) < 3_000
    assert tool.usage().endswith(" and 970 more")
