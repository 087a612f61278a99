"""Given histories as real requests of both SDKs, and what of a request that has been injected into a model sees."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, cast

from anthropic.types import MessageParam, ToolParam, ToolResultBlockParam, ToolUseBlockParam
from anthropic.types.message_create_params import MessageCreateParamsNonStreaming
from openai.types.responses import FunctionToolParam, ResponseInputItemParam
from openai.types.responses.response_create_params import ResponseCreateParamsNonStreaming

from progressive.native import anthropic, openai
from progressive.native.capability import Api, Capability, capability_for
from tool_runtime import JsonObject, RuntimeCode

__all__ = ["Seen", "capabilities_of", "see"]

_HOME: Final = {"anthropic": "https://api.anthropic.com", "openai": "https://api.openai.com/v1"}
_API: Final = {
    "anthropic-messages": Api.ANTHROPIC_MESSAGES,
    "openai-responses": Api.OPENAI_RESPONSES,
    "openai-codex-responses": Api.OPENAI_RESPONSES,
    "openai-completions": Api.OPENAI_CHAT_COMPLETIONS,
}
_FLAG: Final = {
    Api.ANTHROPIC_MESSAGES: ("supportsToolReferences", (Capability.TOOL_REFERENCES,)),
    Api.OPENAI_RESPONSES: ("supportsToolSearch", (Capability.ADDITIONAL_TOOLS, Capability.TOOL_SEARCH)),
    Api.OPENAI_CHAT_COMPLETIONS: ("supportsToolSearch", (Capability.ADDITIONAL_TOOLS, Capability.TOOL_SEARCH)),
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Seen:
    """What a model can call and where it learns of it.

    Attributes:
        tool_names: Everything that can be called, in the order in which it is declared.
        added: For every tool result the names that are loaded at its place, None if there are none.
        parameters: The schemas of what was loaded, by name.
    """

    tool_names: list[str]
    added: list[list[str] | None]
    parameters: dict[str, JsonObject]


def capabilities_of(model: Mapping[str, Any]) -> tuple[Capability, ...]:
    """Return the capabilities that a case stands for: a flag of the case is about both forms of an API."""
    api = _API[model["api"]]
    flag, forms = _FLAG[api]
    is_set = model.get("compat", {}).get(flag)
    overrides = (None,) if is_set is None else forms if is_set else (Capability.NONE,)
    base_url = _HOME.get(model.get("provider", ""), "https://gateway.example")
    return tuple(
        dict.fromkeys(
            capability_for(api, model.get("id", "x"), base_url=base_url, override=override) for override in overrides
        )
    )


def see(case: Mapping[str, Any], capability: Capability) -> Seen:
    """Inject into the request that a case describes, in the format of the capability, and look at what came out."""
    is_messages = _API[case["model"]["api"]] is Api.ANTHROPIC_MESSAGES
    if capability is Capability.TOOL_REFERENCES or (capability is Capability.NONE and is_messages):
        return _seen_messages(cast("dict[str, Any]", anthropic.inject(_messages_request(case), capability)))
    return _seen_responses(cast("dict[str, Any]", openai.inject(_responses_request(case), capability)))


def _parts(history: Sequence[Mapping[str, Any]]) -> Iterator[tuple[str, Mapping[str, Any]]]:
    for message in history:
        for part in message["content"]:
            yield message["role"], part


def _text(result: Mapping[str, Any]) -> str:
    return "".join(block["text"] for block in result["content"])


def _messages_request(case: Mapping[str, Any]) -> MessageCreateParamsNonStreaming:
    messages: list[MessageParam] = [{"role": "user", "content": "Do it."}]
    blocks: list[ToolUseBlockParam | ToolResultBlockParam] = []
    for role, part in _parts(case["history"]):
        if messages[-1]["role"] != role or messages[-1]["content"] is not blocks:
            blocks = []
            messages.append(
                {"role": "assistant", "content": blocks} if role == "assistant" else {"role": "user", "content": blocks}
            )
        if part["type"] == "tool-call":
            blocks.append({"type": "tool_use", "id": part["id"], "name": part["name"], "input": {}})
        else:
            blocks.append(
                {
                    "type": "tool_result",
                    "tool_use_id": part["toolCallId"],
                    "content": [{"type": "text", "text": _text(part)}],
                    "is_error": part["isError"],
                }
            )
    tools: list[ToolParam] = [
        {"name": tool["name"], "description": tool["description"], "input_schema": tool["parameters"]}
        for tool in case["declared_tools"]
    ]
    model = case["model"].get("id", "x")
    return {"model": model, "max_tokens": 1_000, "messages": messages, "tools": tools}


def _responses_request(case: Mapping[str, Any]) -> ResponseCreateParamsNonStreaming:
    items: list[ResponseInputItemParam] = [{"role": "user", "content": "Do it."}]
    for _, part in _parts(case["history"]):
        if part["type"] == "tool-call":
            items.append(
                {"type": "function_call", "call_id": part["id"], "name": part["name"], "arguments": part["arguments"]}
            )
        else:
            # The format has no mark for an error: its text is the result's own, as the runtime writes it.
            failed = f"{RuntimeCode.TOOL_FAILED}: " if part["isError"] else ""
            output = f"{failed}{_text(part)}"
            items.append({"type": "function_call_output", "call_id": part["toolCallId"], "output": output})
    tools: list[FunctionToolParam] = [
        {
            "type": "function",
            "name": tool["name"],
            "description": tool["description"],
            "parameters": tool["parameters"],
            "strict": False,
        }
        for tool in case["declared_tools"]
    ]
    return {"model": case["model"].get("id", "x"), "input": items, "tools": tools}


def _seen_messages(request: Mapping[str, Any]) -> Seen:
    added: list[list[str] | None] = []
    for message in request["messages"]:
        if isinstance(message["content"], str):
            continue
        results = [block for block in message["content"] if block["type"] == "tool_result"]
        for result in results:
            names = [block["tool_name"] for block in result["content"] if block["type"] == "tool_reference"]
            added.append(names or None)
    tools = request["tools"]
    loaded = {tool["name"]: tool["input_schema"] for tool in tools if tool.get("defer_loading")}
    return Seen(tool_names=[tool["name"] for tool in tools], added=added, parameters=loaded)


def _seen_responses(request: Mapping[str, Any]) -> Seen:
    added: list[list[str] | None] = []
    loaded: dict[str, JsonObject] = {}
    for item in request["input"]:
        match item.get("type"):
            case "function_call_output":
                added.append(None)
            case "additional_tools" | "tool_search_output":
                assert added[-1] is None
                added[-1] = [tool["name"] for tool in item["tools"]]
                loaded |= {tool["name"]: tool["parameters"] for tool in item["tools"]}
            case _:
                continue
    declared = [tool["name"] for tool in request["tools"] if tool["type"] == "function"]
    return Seen(tool_names=[*declared, *loaded], added=added, parameters=loaded)
