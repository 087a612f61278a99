"""Messages requests for tests, and the order they come out in."""

import json
from collections.abc import Iterable
from functools import cache
from typing import Any, cast

from anthropic.types import MessageParam, TextBlockParam, ToolParam, ToolUnionParam
from anthropic.types.message_create_params import MessageCreateParamsNonStreaming, MessageCreateParamsStreaming
from pydantic import TypeAdapter

from progressive.native.anthropic import inject
from progressive.native.capability import Capability
from tests.progressive.native.fake_anthropic import check_request
from tool_runtime import JsonObject

__all__ = [
    "CITY",
    "DEFERRED",
    "IMAGE",
    "MARK",
    "TOOLS",
    "TOOLSET",
    "WEATHER",
    "as_the_sdk_reads",
    "assistant",
    "call",
    "describing",
    "entry",
    "injected",
    "loaded",
    "reference",
    "request",
    "result",
    "results",
    "text",
    "tool",
    "user",
]

CITY: JsonObject = {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]}


def tool(name: str, **fields: Any) -> ToolParam:
    made: dict[str, Any] = {"name": name, "description": f"{name}.", "input_schema": {"type": "object"}, **fields}
    return cast("ToolParam", made)


TOOLS: list[ToolUnionParam] = [tool("describe_tools"), tool("eager"), tool("invoke_tool"), tool("search_tools")]


def entry(name: str, parameters: JsonObject = CITY, description: str = "Does it.") -> JsonObject:
    return {"name": name, "description": description, "parameters": parameters, "output": {}}


def describing(*entries: JsonObject, **more: Any) -> str:
    """Return the text of a describe result."""
    return json.dumps({"tools": list(entries), **more})


def call(call_id: str = "1", name: str = "describe_tools") -> dict[str, Any]:
    return {"type": "tool_use", "id": call_id, "name": name, "input": {}}


def text(words: str, **fields: Any) -> TextBlockParam:
    return cast("TextBlockParam", {"type": "text", "text": words, **fields})


def results(*contents: Any, **fields: Any) -> MessageParam:
    """Return a message with results of the calls 1, 2, ..., all with these fields."""
    blocks: list[Any] = [
        {"type": "tool_result", "tool_use_id": str(number), "content": content, **fields}
        for number, content in enumerate(contents, start=1)
    ]
    return {"role": "user", "content": blocks}


def request(*messages: Any, tools: Any = TOOLS, **fields: Any) -> MessageCreateParamsNonStreaming:
    first: MessageParam = {"role": "user", "content": "Do it."}
    made = {"model": "m", "max_tokens": 10, "messages": [first, *messages], "tools": tools, **fields}
    return cast("MessageCreateParamsNonStreaming", made)


def injected(*messages: Any, tools: Any = TOOLS, **fields: Any) -> dict[str, Any]:
    """Inject into a request, check that the API takes what comes out, and return it."""
    found: Any = inject(request(*messages, tools=tools, **fields), Capability.TOOL_REFERENCES)
    check_request(found)
    return found


MARK = {"type": "ephemeral"}
IMAGE = {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": "AAAA"}}
TOOLSET = {"type": "browser_toolset_20260801"}
WEATHER = describing(entry("weather"))
DEFERRED = {"name": "weather", "description": "Does it.", "input_schema": CITY, "defer_loading": True}


def assistant(*blocks: Any) -> dict[str, Any]:
    return {"role": "assistant", "content": list(blocks)}


def user(*blocks: Any) -> dict[str, Any]:
    return {"role": "user", "content": list(blocks)}


def result(call_id: str, content: Any, **fields: Any) -> dict[str, Any]:
    return {"type": "tool_result", "tool_use_id": call_id, "content": content, **fields}


def reference(name: str, **fields: Any) -> dict[str, Any]:
    return {"type": "tool_reference", "tool_name": name, **fields}


def loaded(found: dict[str, Any]) -> list[str]:
    return [each["name"] for each in found["tools"] if each.get("defer_loading")]


def as_the_sdk_reads(body: dict[str, Any]) -> object:
    """Return a request validated by the types of the SDK; keys that they do not know are left out."""
    return _walked(_adapter(is_streaming=bool(body.get("stream"))).validate_python(body))


@cache
def _adapter(*, is_streaming: bool) -> TypeAdapter[Any]:
    return TypeAdapter(MessageCreateParamsStreaming if is_streaming else MessageCreateParamsNonStreaming)


def _walked(value: object) -> object:
    # An iterable is validated while it is walked.
    if isinstance(value, dict):
        return {key: _walked(part) for key, part in cast("dict[str, object]", value).items()}
    if isinstance(value, Iterable) and not isinstance(value, str):
        return [_walked(part) for part in cast("Iterable[object]", value)]
    return value
