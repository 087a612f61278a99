"""The tools of a workspace for the openai SDK: its Responses tool runner, and loops of one's own over both APIs."""

from collections.abc import Sequence
from functools import partial
from typing import TYPE_CHECKING, cast

from pydantic import JsonValue
from pydantic_core import from_json

from progressive.formats import openai_chat_tools, openai_responses_tools
from seamfs.extras import require_extra
from seamfs.integrations._agent_tools import AgentTools
from tool_runtime import JsonObject, ToolCall, ToolResult

try:
    from openai.lib.responses_tool_runner import AsyncRegisteredFunction, RegisteredFunction
except ModuleNotFoundError:
    require_extra("openai", ["openai"], what="tools for the openai SDK")
    raise

if TYPE_CHECKING:
    from openai.types.chat import ChatCompletionFunctionToolParam, ChatCompletionMessage, ChatCompletionMessageParam
    from openai.types.responses import FunctionToolParam, Response, ResponseInputItemParam

__all__ = [
    "chat_calls_of",
    "chat_tool_params",
    "chat_turn_of",
    "registered_functions",
    "registered_functions_sync",
    "response_calls_of",
    "response_tool_params",
    "response_turn_of",
    "run_chat_turn",
    "run_chat_turn_sync",
    "run_response_turn",
    "run_response_turn_sync",
]


def registered_functions(tools: AgentTools) -> list[AsyncRegisteredFunction]:
    """Return the tools for an `AsyncResponsesToolRunner`; those that only read may run early, and side by side.

    Raises:
        UnsupportedToolError: The API would refuse one of them.
    """

    async def execute(name: str, arguments: dict[str, object]) -> str:
        return (await tools.call(name, cast("JsonObject", arguments))).text

    return [
        AsyncRegisteredFunction(declaration, partial(execute, declaration["name"]), independent=reads)
        for declaration, reads in _with_hints(tools)
    ]


def registered_functions_sync(tools: AgentTools) -> list[RegisteredFunction]:
    """Return the tools of `open_agent_tools` for a `ResponsesToolRunner`.

    Raises:
        UnsupportedToolError: The API would refuse one of them.
    """

    def execute(name: str, arguments: dict[str, object]) -> str:
        return tools.call_sync(name, cast("JsonObject", arguments)).text

    return [
        RegisteredFunction(declaration, partial(execute, declaration["name"]), independent=reads)
        for declaration, reads in _with_hints(tools)
    ]


def response_tool_params(tools: AgentTools) -> "list[FunctionToolParam]":
    """Return the `tools` of a Responses request, always the same bytes for the same tools.

    Raises:
        UnsupportedToolError: The API would refuse one of them.
    """
    return cast("list[FunctionToolParam]", openai_responses_tools(tools.schemas()))


async def run_response_turn(tools: AgentTools, response: "Response") -> "list[ResponseInputItemParam]":
    """Run the calls of a response by our schedule; return its items and the results, for the next request.

    Nothing is returned for a response without calls. If the server keeps the conversation, only what is behind
    `len(response.output)` is new to it.

    Raises:
        RuntimeError: See `AgentTools.call`.
    """
    calls = response_calls_of(response)
    return response_turn_of(response, calls, await tools.run_turn(calls)) if calls else []


def run_response_turn_sync(tools: AgentTools, response: "Response") -> "list[ResponseInputItemParam]":
    """Do the same while this thread waits, with the tools of `open_agent_tools`."""
    calls = response_calls_of(response)
    return response_turn_of(response, calls, tools.run_turn_sync(calls)) if calls else []


def response_calls_of(response: "Response") -> list[ToolCall]:
    """Return the calls that the model made."""
    return [
        ToolCall(item.name, _arguments_of(item.arguments), id=item.call_id)
        for item in response.output
        if item.type == "function_call"
    ]


def response_turn_of(
    response: "Response", calls: Sequence[ToolCall], results: Sequence[ToolResult]
) -> "list[ResponseInputItemParam]":
    """Return what the model said and what came back, for the next request."""
    # The SDK sends its own objects without the fields that it added itself; `to_dict` would keep them.
    said = cast("list[ResponseInputItemParam]", response.output)
    came_back: list[ResponseInputItemParam] = [
        {"type": "function_call_output", "call_id": call.id, "output": result.text}
        for call, result in zip(calls, results, strict=True)
    ]
    return [*said, *came_back]


def chat_tool_params(tools: AgentTools) -> "list[ChatCompletionFunctionToolParam]":
    """Return the `tools` of a Chat Completions request, always the same bytes for the same tools.

    Raises:
        UnsupportedToolError: The API would refuse one of them.
    """
    return cast("list[ChatCompletionFunctionToolParam]", openai_chat_tools(tools.schemas()))


async def run_chat_turn(tools: AgentTools, message: "ChatCompletionMessage") -> "list[ChatCompletionMessageParam]":
    """Run the calls of a message by our schedule; return it and the results, for the next request.

    Nothing is returned for a message without calls.

    Raises:
        RuntimeError: See `AgentTools.call`.
    """
    calls = chat_calls_of(message)
    return chat_turn_of(message, calls, await tools.run_turn(calls)) if calls else []


def run_chat_turn_sync(tools: AgentTools, message: "ChatCompletionMessage") -> "list[ChatCompletionMessageParam]":
    """Do the same while this thread waits, with the tools of `open_agent_tools`."""
    calls = chat_calls_of(message)
    return chat_turn_of(message, calls, tools.run_turn_sync(calls)) if calls else []


def chat_calls_of(message: "ChatCompletionMessage") -> list[ToolCall]:
    """Return the calls of functions that the model made."""
    return [
        ToolCall(call.function.name, _arguments_of(call.function.arguments), id=call.id)
        for call in message.tool_calls or ()
        if call.type == "function"
    ]


def chat_turn_of(
    message: "ChatCompletionMessage", calls: Sequence[ToolCall], results: Sequence[ToolResult]
) -> "list[ChatCompletionMessageParam]":
    """Return what the model said and what came back, for the next request."""
    came_back: list[ChatCompletionMessageParam] = [
        {"role": "tool", "tool_call_id": call.id, "content": result.text}
        for call, result in zip(calls, results, strict=True)
    ]
    return [cast("ChatCompletionMessageParam", message), *came_back]


def _with_hints(tools: AgentTools) -> "list[tuple[FunctionToolParam, bool]]":
    hints = [schema.annotations.read_only for schema in tools.schemas()]
    return list(zip(response_tool_params(tools), hints, strict=True))


def _arguments_of(text: str) -> JsonObject:
    """Return arguments. What is no JSON stays text: the runtime refuses what is no object, and says so."""
    try:
        value: JsonValue = from_json(text)
    except ValueError:
        value = text
    return cast("JsonObject", value)
