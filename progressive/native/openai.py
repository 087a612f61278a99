"""Described tools loaded by the OpenAI Responses API itself, as `additional_tools` items or as a client's tool search.

Field names are those of the `openai` 3.57 package. What the API makes of them stands in no schema; these rules are from
its guide to tool search and from its refusals of 2026:

* An `additional_tools` item adds functions from its place on, also between the outputs of parallel calls.
* A function that a `tool_search_output` loaded is in a namespace of its own name. Later calls of it carry that
  namespace, or the request is refused (`Missing namespace for function_call`); earlier ones need none.
* `defer_loading` needs a `tool_search` entry in `tools`. A search of the client is refused without its output, and an
  output without its search.
* `tool_choice` can name nothing but what stands in `tools`.

The SDK is not needed to run this: it is work on its parameter types alone.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import count
from typing import TYPE_CHECKING, Final, TypeVar, cast

from progressive.formats import UnsupportedToolError, openai_responses_tools
from progressive.names import DESCRIBE, INVOKE, RUN_CODE
from progressive.native._openai_items import (
    DescribeCalls,
    declared_names,
    entries,
    is_function,
    is_reference,
    text_of,
    with_namespace,
)
from progressive.native.capability import Capability
from progressive.native.disclosures import Definition, Disclosures

if TYPE_CHECKING:
    from openai.types.responses import FunctionToolParam, ResponseInputItemParam, ToolSearchToolParam
    from openai.types.responses.response_create_params import ResponseCreateParamsBase

__all__ = ["inject"]

RequestT = TypeVar("RequestT", bound="ResponseCreateParamsBase")

_SEARCH_ID: Final = "disclosed_"
"""How the ids of tool searches begin that stand for a describe result; a number follows."""

_NOT_LOADED: Final = (
    "Some of these tools are not loaded, and no tool call can name them: a name has 1 to 64 characters out of a-z, "
    "A-Z, 0-9, _ and -. "
)
# Names are foreign text; none stands in these messages, which have more weight than the output of a tool.
_IN_A_PROGRAM: Final = f'{_NOT_LOADED}Call them in a {RUN_CODE} program: await tools["exact-name"](arguments)'
_NOT_AT_ALL: Final = f"{_NOT_LOADED}Use other tools, or say that they have to be renamed."


def inject(request: RequestT, capability: Capability) -> RequestT:
    """Return a request in which every tool that its transcript describes can be called like a declared one.

    `tools` and `instructions` of the result depend on those of the request alone, and items are only added, each after
    the describe result that it belongs to: what an earlier request of a conversation held is the beginning of the next.
    Injecting twice does no more than once. Linear in the transcript.

    * `ADDITIONAL_TOOLS`: an `additional_tools` item follows the output of each call that discloses something.
    * `TOOL_SEARCH`: a `tool_search_call` with its `tool_search_output` follows it, and `tools` has their entry from the
      first request on. A later call without the namespace of what was loaded gets it. Should the model call that entry
      itself, it is answered that nothing was found.

    invoke_tool is gone from `tools`, and a `tool_choice` that forces it forces any tool. Outputs keep their text. A
    definition whose schema the API would refuse is loaded with open parameters. One whose name it would refuse is not,
    and a message after the output says so, and what can be done. A name that an item of the request loads itself, here
    or later, is left to that item.

    What says the same as the request, with invoke_tool to call tools by, is the result for a request that

    * does not declare describe_tools, as in Code mode;
    * goes on from what the server keeps (`previous_response_id`, `conversation`, an `item_reference`): what was
      disclosed or loaded there cannot be seen from here. `Capability.NONE` from the first request of such a
      conversation on keeps its `tools` the same;
    * allows a list of tools with invoke_tool in it, for such a list cannot name what is loaded later;
    * has a hosted `tool_search` of its own, where the capability is `TOOL_SEARCH`.

    Args:
        request: What `responses.create` takes; items may be dictionaries or objects of the SDK. It is never changed. An
            iterator in it can be read only once, so it is read here, and the result holds a list of what it gave: send
            the result.
        capability: What the model's API can do; that of another API does nothing.
    """
    injected = request.copy()
    tools, items = _listed(request.get("tools")), _listed(request.get("input"))
    fields = cast("dict[str, object]", injected)
    if tools is not None:
        fields["tools"] = tools
    if items is not None:
        fields["input"] = items
    if tools is None or not _can_load(request, tools, items or (), capability):
        return injected
    fields["tools"] = _tools(tools, capability)
    if items is not None:
        fields["input"] = list(_completed(items, tools, capability))
    if is_function(request.get("tool_choice"), INVOKE):
        fields["tool_choice"] = "required"
    return injected


def _listed(value: object) -> Sequence[object] | None:
    """Return what can be walked more than once; None for what is a text or not there."""
    if value is None or isinstance(value, str):
        return None
    return cast("Sequence[object]", value) if isinstance(value, Sequence) else list(cast("Iterable[object]", value))


def _can_load(
    request: ResponseCreateParamsBase, tools: Sequence[object], items: Sequence[object], capability: Capability
) -> bool:
    if capability not in {Capability.ADDITIONAL_TOOLS, Capability.TOOL_SEARCH}:
        return False
    if not any(is_function(tool, DESCRIBE) for tool in tools):
        return False
    is_continued = request.get("previous_response_id") is not None or request.get("conversation") is not None
    if is_continued or any(map(is_reference, items)):
        return False
    if any(is_function(tool, INVOKE) for tool in entries(request.get("tool_choice"), "tools")):
        return False
    searches = [tool for tool in tools if text_of(tool, "type") == "tool_search"]
    return capability is Capability.ADDITIONAL_TOOLS or all(text_of(tool, "execution") == "client" for tool in searches)


def _tools(tools: Sequence[object], capability: Capability) -> list[object]:
    kept = [tool for tool in tools if not is_function(tool, INVOKE)]
    if capability is Capability.TOOL_SEARCH and all(text_of(tool, "type") != "tool_search" for tool in kept):
        kept.append(_search_tool())
    return kept


def _completed(items: Sequence[object], tools: Sequence[object], capability: Capability) -> Iterator[object]:
    # What an earlier injection put in is made anew: compaction may have left half of it.
    items = [item for item in items if not _is_made_here(item)]
    answered = {text_of(item, "call_id") for item in items if text_of(item, "type") == "tool_search_output"}
    disclosures = Disclosures(declared_names(tools, items))
    advice = _IN_A_PROGRAM if any(is_function(tool, RUN_CODE) for tool in tools) else _NOT_AT_ALL
    calls, searches, namespaces = DescribeCalls(), count(1), set[str]()
    for item in items:
        yield _replayed(item, namespaces)
        search_id = _search_id(item)
        if search_id is not None and search_id not in answered:
            yield _search_output(search_id, [])
        result = calls.result(item)
        disclosed = () if result is None else disclosures.take(result)
        loaded = [function for definition in disclosed if (function := _function(definition)) is not None]
        if len(loaded) < len(disclosed):
            # Before what is loaded: an item of additional tools from an earlier injection stays where it is.
            yield _note(advice)
        if loaded and capability is Capability.ADDITIONAL_TOOLS:
            yield _additional_tools(loaded)
        elif loaded:
            yield from _search(f"{_SEARCH_ID}{next(searches)}", loaded)
            namespaces.update(tool["name"] for tool in loaded)


def _is_made_here(item: object) -> bool:
    if text_of(item, "type") in {"tool_search_call", "tool_search_output"}:
        return (text_of(item, "call_id") or "").startswith(_SEARCH_ID)
    return text_of(item, "role") == "developer" and text_of(item, "content") in {_IN_A_PROGRAM, _NOT_AT_ALL}


def _search_id(item: object) -> str | None:
    """Return the id of a tool search that the model asked the client for."""
    is_asked = text_of(item, "type") == "tool_search_call" and text_of(item, "execution") == "client"
    return text_of(item, "call_id") if is_asked else None


def _replayed(item: object, namespaces: set[str]) -> object:
    """Return an item, with the namespace that a call of a loaded function has lost or never had."""
    name = text_of(item, "name")
    is_bare = text_of(item, "type") == "function_call" and not text_of(item, "namespace")
    return with_namespace(item, name) if is_bare and name is not None and name in namespaces else item


def _function(definition: Definition) -> FunctionToolParam | None:
    """Return a function with its own schema if the API takes that, or None if it takes no function of the name."""
    for form in (definition, definition.opened()):
        try:
            return cast("FunctionToolParam", openai_responses_tools([form.schema()])[0])
        except UnsupportedToolError:
            continue
    return None


def _additional_tools(tools: list[FunctionToolParam]) -> ResponseInputItemParam:
    return {"type": "additional_tools", "role": "developer", "tools": tools}


def _search(call_id: str, tools: list[FunctionToolParam]) -> Iterator[ResponseInputItemParam]:
    yield {
        "type": "tool_search_call",
        "call_id": call_id,
        "execution": "client",
        "status": "completed",
        "arguments": {"names": [tool["name"] for tool in tools]},
    }
    yield _search_output(call_id, [{**tool, "defer_loading": True} for tool in tools])


def _search_output(call_id: str, tools: list[FunctionToolParam]) -> ResponseInputItemParam:
    return {
        "type": "tool_search_output",
        "call_id": call_id,
        "execution": "client",
        "status": "completed",
        "tools": tools,
    }


def _note(text: str) -> ResponseInputItemParam:
    return {"role": "developer", "content": text}


def _search_tool() -> ToolSearchToolParam:
    return {
        "type": "tool_search",
        "execution": "client",
        "description": f"Loads tools that {DESCRIBE} returned. It is not for you: call {DESCRIBE} instead.",
        "parameters": {
            "type": "object",
            "properties": {"names": {"type": "array", "items": {"type": "string"}}},
            "required": ["names"],
            "additionalProperties": False,
        },
    }
