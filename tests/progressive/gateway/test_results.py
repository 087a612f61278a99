"""What a call of a mounted tool comes back with."""

from typing import Any

import pytest
from mcp import types
from pydantic import JsonValue

from progressive.gateway import GatewayOptions
from progressive.gateway._definitions import Definition, definition_of
from progressive.gateway._secrets import Secrets
from progressive.gateway._tools import ToolMaker
from tests.progressive.gateway.support import definition
from tool_runtime import (
    JsonObject,
    MediaBlock,
    TextBlock,
    ToolCall,
    ToolFailure,
    ToolResult,
    ToolRuntime,
    ToolSuccess,
)

pytestmark = pytest.mark.anyio

TOTAL = {"type": "object", "properties": {"total": {"type": "integer"}}, "required": ["total"]}


async def outcome(result: dict[str, Any], **more: Any) -> ToolResult:
    async def answer(_definition: Definition, _args: JsonObject) -> types.CallToolResult:
        return types.CallToolResult.model_validate(result)

    options = GatewayOptions(result_bytes_max=1_000)
    maker = ToolMaker(server="s", call=answer, secrets=Secrets(["s3cret-token"]), options=options)
    runtime = ToolRuntime()
    runtime.register(maker.tool("tool", definition_of(definition("tool", **more), options)))
    return await runtime.execute(ToolCall("tool", {}, id="1"))


def text(value: str) -> dict[str, Any]:
    return {"type": "text", "text": value}


IMAGE: dict[str, JsonValue] = {"type": "image", "data": "aGk=", "mimeType": "image/png"}
AUDIO: dict[str, JsonValue] = {"type": "audio", "data": "aGk=", "mimeType": "audio/wav"}
LINK = {"type": "resource_link", "uri": "file:///a", "name": "a", "mimeType": "text/plain", "description": "the a"}
EMBEDDED = {"type": "resource", "resource": {"uri": "file:///b", "text": "of b"}}
BLOB = {"type": "resource", "resource": {"uri": "file:///c", "blob": "aGk=", "mimeType": "image/png"}}


async def test_text_is_joined_and_passes_unchanged() -> None:
    result = await outcome({"content": [text("a\u202e\x07"), text("b")]})
    assert result == ToolSuccess("a\u202e\x07\nb", (TextBlock("a\u202e\x07"), TextBlock("b")))


async def test_structured_content_is_the_value() -> None:
    result = await outcome({"content": [text("three")], "structuredContent": {"total": 3}}, outputSchema=TOTAL)
    assert result == ToolSuccess({"total": 3}, (TextBlock("three"),))


async def test_a_value_without_content_is_shown_as_json() -> None:
    result = await outcome({"content": [], "structuredContent": {"total": 3}})
    assert result == ToolSuccess({"total": 3}, (TextBlock('{"total": 3}'),))


@pytest.mark.parametrize("content", [[], [text("")], [text(""), text("")]])
async def test_nothing_at_all_is_said_to_be_nothing(content: list[dict[str, Any]]) -> None:
    result = await outcome({"content": content})
    assert isinstance(result, ToolSuccess)
    assert result.content == (TextBlock("(no content)"),)
    assert str(result.value).strip() == ""


async def test_a_number_that_json_does_not_know_is_no_matter_of_a_schema() -> None:
    failure = await outcome({"content": [], "structuredContent": {"a": float("nan")}})
    assert isinstance(failure, ToolFailure)
    assert failure.code == "INVALID_TOOL_OUTPUT"
    assert failure.message.startswith("tool ran, but its result cannot be written as JSON: ")
    assert "schema" not in failure.message


async def test_media_are_shown_and_their_blocks_are_the_value() -> None:
    result = await outcome({"content": [text("see"), IMAGE, AUDIO]})
    shown = (TextBlock("see"), MediaBlock("image", "aGk=", "image/png"), MediaBlock("audio", "aGk=", "audio/wav"))
    assert result == ToolSuccess([text("see"), IMAGE, AUDIO], shown)


async def test_links_and_embedded_resources_are_shown_as_text() -> None:
    result = await outcome({"content": [LINK, EMBEDDED, BLOB]})
    assert isinstance(result, ToolSuccess)
    assert result.content == (
        TextBlock("[resource file:///a (text/plain), a: the a]"),
        TextBlock("[resource file:///b]\nof b"),
        TextBlock("[resource file:///c: image/png]"),
    )
    assert result.value == [LINK, EMBEDDED, BLOB]


@pytest.mark.parametrize(
    "result",
    [
        {"content": [], "structuredContent": {"total": "three"}},
        {"content": [text("three")]},
        {"content": [], "structuredContent": [3]},
    ],
)
async def test_a_server_that_breaks_its_output_schema_fails(result: dict[str, Any]) -> None:
    failure = await outcome(result, outputSchema=TOTAL)
    assert isinstance(failure, ToolFailure)
    assert failure.code == "INVALID_TOOL_OUTPUT"
    assert "tool ran, but its result does not match the output schema" in failure.message


@pytest.mark.parametrize(
    "result",
    [
        {"content": [text("x" * 1_001)]},
        {"content": [{**IMAGE, "data": "A" * 1_001}]},
        {"content": [], "structuredContent": {"a": "x" * 1_000}},
        {"content": [text("x" * 1_001)], "isError": True},
    ],
)
async def test_a_result_over_the_bound_fails_with_both_sizes(result: dict[str, Any]) -> None:
    failure = await outcome(result)
    assert isinstance(failure, ToolFailure)
    assert failure.code == "RESULT_TOO_LARGE"
    assert "more than the 1,000" in failure.message
    assert "1,00" in failure.message


async def test_a_failure_says_what_the_server_says_without_secrets() -> None:
    result = await outcome({"content": [text("no access with s3cret-token"), LINK], "isError": True})
    message = "no access with ***\n[resource file:///a (text/plain), a: the a]"
    assert result == ToolFailure("TOOL_FAILED", message)


async def test_a_failure_without_words_says_so() -> None:
    assert await outcome({"content": [], "isError": True}) == ToolFailure(
        "TOOL_FAILED", "tool failed and did not say why"
    )


async def test_a_server_of_this_project_keeps_its_codes() -> None:
    fault = {"code": "STALE", "message": "read it again", "retryable": True}
    result = await outcome({"content": [text("x")], "isError": True, "_meta": {"seamfs/error": fault}})
    assert result == ToolFailure("STALE", "read it again", retryable=True)


@pytest.mark.parametrize(
    "fault",
    [None, "STALE", {"code": "STALE"}, {"code": 5, "message": "m", "retryable": True}, {"code": "", "message": "m"}],
)
async def test_a_fault_of_another_form_is_ignored(fault: object) -> None:
    result = await outcome({"content": [text("x")], "isError": True, "_meta": {"seamfs/error": fault}})
    assert result == ToolFailure("TOOL_FAILED", "x")
