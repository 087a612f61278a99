"""The tools of a workspace for the anthropic SDK: for its tool runner, and for a loop of one's own."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, cast

from progressive.formats import anthropic_tools
from seamfs.extras import require_extra
from seamfs.integrations._agent_tools import AgentTools
from tool_runtime import JsonObject, ToolCall, ToolFailure, ToolResult

try:
    from anthropic.lib.tools import BetaAsyncBuiltinFunctionTool, BetaBuiltinFunctionTool, ToolError
except ModuleNotFoundError:
    require_extra("anthropic", ["anthropic"], what="tools for the anthropic SDK")
    raise

if TYPE_CHECKING:
    from anthropic.types import Message, MessageParam, ToolParam, ToolResultBlockParam
    from anthropic.types.beta import BetaToolParam

__all__ = [
    "calls_of",
    "run_turn",
    "run_turn_sync",
    "runnable_tools",
    "runnable_tools_sync",
    "tool_params",
    "turn_of",
]


def runnable_tools(tools: AgentTools) -> list[BetaAsyncBuiltinFunctionTool]:
    """Return the tools for `AsyncAnthropic.beta.messages.tool_runner`, which runs the calls of a turn one by one.

    Raises:
        UnsupportedToolError: The API would refuse one of them.
    """
    return [_AsyncTool(tools, declaration) for declaration in _declarations(tools)]


def runnable_tools_sync(tools: AgentTools) -> list[BetaBuiltinFunctionTool]:
    """Return the tools of `open_agent_tools` for `Anthropic.beta.messages.tool_runner`.

    Raises:
        UnsupportedToolError: The API would refuse one of them.
    """
    return [_Tool(tools, declaration) for declaration in _declarations(tools)]


def tool_params(tools: AgentTools) -> "list[ToolParam]":
    """Return the `tools` of a request, always the same bytes for the same tools.

    Raises:
        UnsupportedToolError: The API would refuse one of them.
    """
    return cast("list[ToolParam]", anthropic_tools(tools.schemas()))


async def run_turn(tools: AgentTools, message: "Message") -> "list[MessageParam]":
    """Run the calls of a message by our schedule; return it and the results, for the next request.

    Nothing is returned for a message without calls.

    Raises:
        RuntimeError: See `AgentTools.call`.
    """
    calls = calls_of(message)
    return turn_of(message, calls, await tools.run_turn(calls)) if calls else []


def run_turn_sync(tools: AgentTools, message: "Message") -> "list[MessageParam]":
    """Do the same while this thread waits, with the tools of `open_agent_tools`."""
    calls = calls_of(message)
    return turn_of(message, calls, tools.run_turn_sync(calls)) if calls else []


def calls_of(message: "Message") -> list[ToolCall]:
    """Return the calls that the model made."""
    return [
        ToolCall(block.name, cast("JsonObject", block.input), id=block.id)
        for block in message.content
        if block.type == "tool_use"
    ]


def turn_of(message: "Message", calls: Sequence[ToolCall], results: Sequence[ToolResult]) -> "list[MessageParam]":
    """Return what the model said and what came back, for the next request."""
    blocks: list[ToolResultBlockParam] = [
        {
            "type": "tool_result",
            "tool_use_id": call.id,
            # A text block must not be empty; a result may be.
            "content": result.text,
            "is_error": isinstance(result, ToolFailure),
        }
        for call, result in zip(calls, results, strict=True)
    ]
    return [{"role": "assistant", "content": message.content}, {"role": "user", "content": blocks}]


class _AsyncTool(BetaAsyncBuiltinFunctionTool):
    def __init__(self, tools: AgentTools, declaration: "BetaToolParam") -> None:
        self._tools = tools
        self._declaration = declaration

    def to_dict(self) -> "BetaToolParam":
        return self._declaration

    async def call(self, input: object) -> str:  # noqa: A002 - the name is the SDK's
        return _text_of(await self._tools.call(self.name, cast("JsonObject", input)))


class _Tool(BetaBuiltinFunctionTool):
    def __init__(self, tools: AgentTools, declaration: "BetaToolParam") -> None:
        self._tools = tools
        self._declaration = declaration

    def to_dict(self) -> "BetaToolParam":
        return self._declaration

    def call(self, input: object) -> str:  # noqa: A002 - the name is the SDK's
        return _text_of(self._tools.call_sync(self.name, cast("JsonObject", input)))


def _declarations(tools: AgentTools) -> "list[BetaToolParam]":
    return cast("list[BetaToolParam]", anthropic_tools(tools.schemas()))


def _text_of(result: ToolResult) -> str:
    if isinstance(result, ToolFailure):
        raise ToolError(result.text)
    return result.text
