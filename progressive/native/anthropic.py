"""Described tools loaded by the Anthropic Messages API itself, through `tool_reference` blocks.

Rules as the documentation of the API's tool search had them in November 2026, field names as in `anthropic` 2.14. The
SDK is not needed to run this: it is work on its parameter types alone.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, TypeVar, cast

from progressive.names import DESCRIBE, INVOKE
from progressive.native._anthropic_blocks import changed, field, listed, text_field
from progressive.native._anthropic_messages import rewritten
from progressive.native._anthropic_tools import Loads
from progressive.native.capability import Capability

if TYPE_CHECKING:
    from anthropic.types import ToolChoiceAnyParam, ToolChoiceParam, ToolUnionParam
    from anthropic.types.message_create_params import MessageCreateParamsNonStreaming, MessageCreateParamsStreaming

__all__ = ["inject"]

RequestT = TypeVar("RequestT", "MessageCreateParamsNonStreaming", "MessageCreateParamsStreaming")


def inject(request: RequestT, capability: Capability) -> RequestT:
    """Return a request in which the tools that its transcript describes are loaded, ready to be called.

    Every result of describe_tools becomes references at its place, what else it held follows the results of its
    message, the tools stand deferred after the given ones, and invoke_tool is gone. Nothing before the first
    message changes from one request of a conversation to the next. Injecting twice does no more than once.

    Where a program in the API's own sandbox waits for a result, nothing may follow the results of a message; one that
    does not become references alone stays as it is there.

    The request is never changed, and shares with the result what is the same in both. An iterator in it (of messages,
    of tools, of blocks) can be read only once, so it is read here, and the result holds a list of what it gave: send
    the result.

    Args:
        request: What `messages.create` or `messages.stream` takes.
        capability: What the model's API can do. Unless it is `TOOL_REFERENCES`, and describe_tools is among the tools,
            the result says the same as the request.
    """
    injected = request.copy()
    if capability is not Capability.TOOL_REFERENCES or "tools" not in request:
        return injected
    tools = cast("Sequence[ToolUnionParam]", listed(request["tools"]))
    injected["tools"] = tools
    kept = _without_invoke(tools)
    loads = Loads(kept)
    if DESCRIBE not in loads.declared:
        return injected
    injected["messages"] = rewritten(request["messages"], loads)
    injected["tools"] = [*kept, *loads.added]
    if "tool_choice" in request:
        injected["tool_choice"] = _without_invoke_choice(request["tool_choice"])
    return injected


def _without_invoke(tools: Sequence[ToolUnionParam]) -> list[ToolUnionParam]:
    """Return the tools without invoke_tool; if it ended a part of the cache, the tool before it does so now."""
    kept: list[ToolUnionParam] = []
    last: int | None = None
    for tool in tools:
        name, mark = text_field(tool, "name"), field(tool, "cache_control")
        if name != INVOKE:
            # A deferred tool must not have the mark, nor a set of tools, which has no name, if one of it is deferred.
            if name and not field(tool, "defer_loading"):
                last = len(kept)
            elif mark is not None:
                last = None
            kept.append(tool)
        elif mark is not None and last is not None and field(kept[last], "cache_control") is None:
            kept[last] = cast("ToolUnionParam", changed(kept[last], cache_control=mark))
    return kept


def _without_invoke_choice(choice: ToolChoiceParam) -> ToolChoiceParam:
    """Return the choice; one that forces invoke_tool becomes one that forces any tool."""
    if choice["type"] != "tool" or choice["name"] != INVOKE:
        return choice
    any_tool: ToolChoiceAnyParam = {"type": "any"}
    if "disable_parallel_tool_use" in choice:
        any_tool["disable_parallel_tool_use"] = choice["disable_parallel_tool_use"]
    return any_tool
