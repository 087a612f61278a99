"""A conversation as a request of an API, injected into, and taken apart in the order in which a model reads it."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, cast

from anthropic.types import MessageParam, ToolParam
from anthropic.types.message_create_params import MessageCreateParamsNonStreaming
from openai.types.responses import FunctionToolParam, ResponseInputItemParam
from openai.types.responses.response_create_params import ResponseCreateParamsNonStreaming

from progressive.formats import anthropic_tools, openai_responses_tools
from progressive.native import anthropic, openai
from progressive.native.capability import Capability
from tool_runtime import JsonObject, ToolSchema

__all__ = ["Call", "Read", "as_json", "read_messages", "read_responses"]

_QUESTION: Final = "Plan the day as we discussed, with what the tools say, and tell me the result in three sentences."


@dataclass(frozen=True, slots=True)
class Call:
    """A call that the model made, and the text that came back."""

    name: str
    arguments: JsonObject
    result: str


@dataclass(frozen=True, slots=True)
class Read:
    """A request as a model reads it: what stands before the first message, and the messages."""

    prefix: str
    turns: tuple[str, ...]


def read_messages(capability: Capability, tools: Sequence[ToolSchema], prompt: str, calls: Sequence[Call]) -> Read:
    messages: list[MessageParam] = [{"role": "user", "content": _QUESTION}]
    for number, call in enumerate(calls):
        use = {"type": "tool_use", "id": f"toolu_{number:04}", "name": call.name, "input": call.arguments}
        result = {
            "type": "tool_result",
            "tool_use_id": f"toolu_{number:04}",
            "content": [{"type": "text", "text": call.result}],
        }
        messages.append(cast("MessageParam", {"role": "assistant", "content": [use]}))
        messages.append(cast("MessageParam", {"role": "user", "content": [result]}))
    request: MessageCreateParamsNonStreaming = {
        "model": "claude-opus-5",
        "max_tokens": 1_000,
        "system": prompt,
        "messages": messages,
        "tools": cast("list[ToolParam]", anthropic_tools(tools)),
    }
    made = cast("dict[str, Any]", anthropic.inject(request, capability))
    own, deferred = _split(made["tools"])
    turns = [as_json(_expanded(message, deferred)) for message in made["messages"]]
    return Read(as_json([own, made["system"]]), tuple(turns))


def _split(tools: Sequence[dict[str, Any]]) -> tuple[list[dict[str, Any]], dict[str, dict[str, Any]]]:
    """Return the tools that the model reads first, and those that it reads where they are referred to."""
    deferred = {tool["name"]: tool for tool in tools if tool.get("defer_loading")}
    return [tool for tool in tools if tool["name"] not in deferred], deferred


def _expanded(value: object, deferred: Mapping[str, dict[str, Any]]) -> object:
    """Return a message in which every reference is the definition, as the API shows it to the model."""
    match value:
        case {"type": "tool_reference", "tool_name": str(name)}:
            return {key: part for key, part in deferred[name].items() if key != "defer_loading"}
        case dict():
            return {key: _expanded(part, deferred) for key, part in cast("dict[str, Any]", value).items()}
        case list():
            return [_expanded(part, deferred) for part in cast("list[Any]", value)]
        case _:
            return value


def read_responses(capability: Capability, tools: Sequence[ToolSchema], prompt: str, calls: Sequence[Call]) -> Read:
    items: list[ResponseInputItemParam] = [{"role": "user", "content": _QUESTION}]
    for number, call in enumerate(calls):
        call_id = f"call_{number:04}"
        items.append(
            {"type": "function_call", "call_id": call_id, "name": call.name, "arguments": as_json(call.arguments)}
        )
        items.append({"type": "function_call_output", "call_id": call_id, "output": call.result})
    request: ResponseCreateParamsNonStreaming = {
        "model": "gpt-6-sol",
        "instructions": prompt,
        "input": items,
        "tools": cast("list[FunctionToolParam]", openai_responses_tools(tools)),
    }
    made = cast("dict[str, Any]", openai.inject(request, capability))
    return Read(as_json([made["tools"], made["instructions"]]), tuple(map(as_json, made["input"])))


def as_json(value: object) -> str:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))
