"""What the OpenAI Responses API refuses, as far as tools are concerned, in its own words.

From its documentation, from the types of its SDK, and from refusals that people reported in 2025 and 2026. Where the
API is known to let something pass that its documentation rules out (a tool that is loaded twice), this refuses.
"""

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from functools import cache
from typing import Any, cast, get_type_hints

from openai.types.responses import (
    FunctionToolParam,
    NamespaceToolParam,
    ResponseCompactionItemParamParam,
    ResponseFunctionToolCallParam,
    ResponseOutputMessageParam,
    ResponseReasoningItemParam,
    ResponseToolSearchOutputItemParamParam,
    ToolSearchToolParam,
)
from openai.types.responses.easy_input_message_param import EasyInputMessageParam
from openai.types.responses.response_create_params import ResponseCreateParamsBase
from openai.types.responses.response_input_item_param import (
    AdditionalTools,
    FunctionCallOutput,
    ItemReference,
    Message,
    ToolSearchCall,
)
from pydantic import TypeAdapter, ValidationError

__all__ = ["Accepted", "Refusal", "accepted"]

ITEMS: dict[str, Any] = {
    "additional_tools": AdditionalTools,
    "compaction": ResponseCompactionItemParamParam,
    "function_call": ResponseFunctionToolCallParam,
    "function_call_output": FunctionCallOutput,
    "item_reference": ItemReference,
    "reasoning": ResponseReasoningItemParam,
    "tool_search_call": ToolSearchCall,
    "tool_search_output": ResponseToolSearchOutputItemParamParam,
}
TOOLS: dict[str, Any] = {
    "function": FunctionToolParam,
    "namespace": NamespaceToolParam,
    "tool_search": ToolSearchToolParam,
}
ID_PREFIXES = {"function_call": "fc", "message": "msg", "reasoning": "rs", "tool_search_call": "tsc"}
NAME = re.compile(r"[a-zA-Z0-9_-]+")
REFUSED_AT_TOP = ("oneOf", "anyOf", "allOf", "enum", "not")


class Refusal(Exception):
    """A request that the API answers with status 400."""

    def __init__(self, message: str, param: str | None = None, code: str | None = None) -> None:
        super().__init__(message)
        self.error = {"message": message, "type": "invalid_request_error", "param": param, "code": code}


@dataclass
class Accepted:
    """What a model may do after a request that was not refused.

    Attributes:
        namespaces: Callable functions, with the namespace that a call of each carries.
        declared: Names of tools, each with where it stands.
    """

    namespaces: dict[str, str | None] = field(default_factory=dict[str, str | None])
    declared: dict[str, str] = field(default_factory=dict[str, str])


def accepted(body: dict[str, Any], before: list[dict[str, Any]], forms: frozenset[str]) -> Accepted:
    """Check a request.

    Args:
        body: The request.
        before: Items that the server keeps from earlier in the conversation.
        forms: Which of `additional_tools` and `tool_search` the model supports.

    Raises:
        Refusal: It would be refused.
    """
    for key in body.keys() - get_type_hints(ResponseCreateParamsBase).keys() - {"stream"}:
        raise Refusal(f"Unknown parameter: '{key}'.", key, "unknown_parameter")
    if "model" not in body:
        raise Refusal("Missing required parameter: 'model'.", "model", "missing_required_parameter")
    given = body.get("input", [])
    items = [*before, *([{"role": "user", "content": given}] if isinstance(given, str) else given)]
    result = Accepted()
    tools = body.get("tools", [])
    check_tools(tools, "tools", result, forms)
    check_searches(tools, items)
    check_choice(body.get("tool_choice"), tools)
    for index, item in enumerate(items):
        check_item(item, f"input[{index}]", forms)
    check_pairs(items)
    check_ids(items)
    check_calls(items, result, forms)
    return result


def check_tools(tools: list[Any], param: str, result: Accepted, forms: frozenset[str]) -> None:
    for index, tool in enumerate(tools):
        here = f"{param}[{index}]"
        check_shape(tool, TOOLS.get(tool.get("type")), here)
        if tool["type"] == "tool_search":
            check_supported("tool_search", here, forms)
            continue
        check_name(tool["name"], f"{here}.name")
        if tool["name"] in result.declared:
            raise Refusal(f"Duplicate tool name: '{tool['name']}' in {result.declared[tool['name']]}.", here)
        result.declared[tool["name"]] = here
        if tool["type"] == "function":
            check_schema(tool["name"], tool["parameters"], f"{here}.parameters")
            if not tool.get("defer_loading"):
                result.namespaces[tool["name"]] = None


def check_shape(value: Any, shape: Any, param: str) -> None:
    if shape is None:
        raise Refusal(
            f"Invalid value: '{value.get('type')}'. Supported values are: …", f"{param}.type", "invalid_value"
        )
    for key in value.keys() - keys_of(shape):
        raise Refusal(f"Unknown parameter: '{param}.{key}'.", f"{param}.{key}", "unknown_parameter")
    try:
        drained(adapter_of(shape).validate_python(value))
    except ValidationError as error:
        first = error.errors()[0]
        where = ".".join([param, *(str(part) for part in first["loc"])])
        raise Refusal(f"Invalid type for '{where}': {first['msg']}", where, "invalid_type") from error


@cache
def keys_of(shape: Any) -> frozenset[str]:
    return frozenset(get_type_hints(shape))


@cache
def adapter_of(shape: Any) -> TypeAdapter[Any]:
    return TypeAdapter(shape)


def drained(value: Any) -> None:
    """Walk a validated value: pydantic validates what is an `Iterable` only when it is read."""
    if isinstance(value, dict):
        for each in value.values():  # pyright: ignore[reportUnknownVariableType] - any value of JSON
            drained(each)
    elif isinstance(value, Iterable) and not isinstance(value, str):
        for each in value:  # pyright: ignore[reportUnknownVariableType] - any value of JSON
            drained(each)


def check_supported(form: str, param: str, forms: frozenset[str]) -> None:
    if form not in forms:
        raise Refusal(f"'{form}' is not supported with this model.", param, "unsupported_value")


def check_name(name: str, param: str) -> None:
    if NAME.fullmatch(name) is None:
        text = "string does not match pattern. Expected a string that matches the pattern '^[a-zA-Z0-9_-]+$'."
        raise Refusal(f"Invalid '{param}': {text}", param, "invalid_value")
    check_length(name, param)


def check_length(text: str, param: str) -> None:
    if len(text) > 64:
        expected = f"Expected a string with maximum length 64, but got a string with length {len(text)} instead."
        raise Refusal(f"Invalid '{param}': string too long. {expected}", param, "string_above_max_length")


def check_schema(name: str, schema: dict[str, Any], param: str) -> None:
    if schema.get("type") != "object" or any(key in schema for key in REFUSED_AT_TOP):
        rule = "schema must have type 'object' and not have 'oneOf'/'anyOf'/'allOf'/'enum'/'not' at the top level."
    elif "properties" not in schema:
        rule = "In context=(), object schema missing properties."
    elif any("array" in types_of(each) and "items" not in each for each in subschemas(schema)):
        rule = "In context=(…), array schema missing items."
    else:
        return
    raise Refusal(f"Invalid schema for function '{name}': {rule}", param, "invalid_function_parameters")


def types_of(schema: dict[str, Any]) -> list[str]:
    kinds: Any = schema.get("type", [])
    return cast("list[str]", kinds) if isinstance(kinds, list) else [kinds]


def subschemas(schema: Any) -> Iterator[dict[str, Any]]:
    """Give a schema and all schemas in it, as far as tests have them."""
    if not isinstance(schema, dict):
        return
    known = cast("dict[str, Any]", schema)
    yield known
    for key in ("properties", "$defs"):
        for each in known.get(key, {}).values():
            yield from subschemas(each)
    for each in (known.get("items"), known.get("additionalProperties"), *known.get("anyOf", ())):
        yield from subschemas(each)


def check_searches(tools: list[Any], items: list[Any]) -> None:
    searches = [tool for tool in tools if tool["type"] == "tool_search"]
    if len(searches) > 1:
        raise Refusal("Invalid Value: 'tools.tool_search'. Only one tool_search is allowed.", "tools")
    outputs = [item for item in items if item.get("type") == "tool_search_output"]
    is_deferred = any(
        tool.get("defer_loading") for tool in [*tools, *(tool for out in outputs for tool in out["tools"])]
    )
    if is_deferred and not searches:
        raise Refusal("Invalid Value: 'tools.defer_loading'. Deferred tools require tools.tool_search.", "tools")
    if searches and searches[0].get("execution") != "client" and not any(tool.get("defer_loading") for tool in tools):
        raise Refusal(
            "Invalid Value: 'tools.tool_search'. tools.tool_search requires at least one deferred tool.", "tools"
        )


def check_choice(choice: Any, tools: list[Any]) -> None:
    if not isinstance(choice, dict):
        return
    chosen = cast("dict[str, Any]", choice)
    named: list[dict[str, Any]] = chosen["tools"] if chosen["type"] == "allowed_tools" else [chosen]
    known = {(tool["type"], tool.get("name")) for tool in tools if not tool.get("defer_loading")}
    for each in named:
        if (each["type"], each.get("name")) not in known:
            name = each.get("name", each["type"])
            raise Refusal(f"Tool choice '{name}' not found in 'tools' parameter.", "tool_choice")


def check_item(item: dict[str, Any], param: str, forms: frozenset[str]) -> None:
    kind = item.get("type", "message")
    if kind == "message":
        messages = [ResponseOutputMessageParam] if item.get("role") == "assistant" else [Message]
        check_any_shape(item, [EasyInputMessageParam, *messages], param)
    else:
        check_shape(item, ITEMS.get(kind), param)
    if kind == "additional_tools":
        check_supported("additional_tools", param, forms)
    if kind.startswith("tool_search"):
        check_supported("tool_search", param, forms)
    if item.get("call_id") is not None:
        check_length(item["call_id"], f"{param}.call_id")
    prefix = ID_PREFIXES.get(kind)
    if prefix is not None and not (item.get("id") or prefix).startswith(prefix):
        text = f"Invalid '{param}.id': '{item['id']}'. Expected an ID that begins with '{prefix}'."
        raise Refusal(text, f"{param}.id", "invalid_value")


def check_any_shape(item: dict[str, Any], shapes: list[Any], param: str) -> None:
    refusals: list[Refusal] = []
    for shape in shapes:
        try:
            return check_shape(item, shape, param)
        except Refusal as refusal:
            refusals.append(refusal)
    raise refusals[-1]


def check_pairs(items: list[dict[str, Any]]) -> None:
    """Every call has one output after it, every output a call before it."""
    for call, output, name in (
        ("function_call", "function_call_output", "function call"),
        ("tool_search_call", "tool_search_output", "tool search"),
    ):
        asked: set[str] = set()
        answered: set[str] = set()
        for item in items:
            call_id = item.get("call_id")
            if call_id is None or item.get("execution", "client") != "client":
                continue
            if item.get("type") == call:
                asked.add(call_id)
            if item.get("type") == output:
                if call_id not in asked:
                    raise Refusal(f"No tool call found for {name} output with call_id {call_id}.", "input")
                answered.add(call_id)
        for call_id in asked - answered:
            kind = name if name.endswith("call") else f"{name} call"
            raise Refusal(f"No tool output found for {kind} {call_id}.", "input")


def check_ids(items: list[dict[str, Any]]) -> None:
    seen: set[str] = set()
    for item in items:
        if item.get("id") in seen:
            text = f"Duplicate item found with id {item['id']}. Remove duplicate items from your input and try again."
            raise Refusal(text, "input")
        if item.get("id") is not None:
            seen.add(item["id"])


def check_calls(items: list[dict[str, Any]], result: Accepted, forms: frozenset[str]) -> None:
    """Load what the items load, in order; a call of what a search loaded before it carries the namespace."""
    for index, item in enumerate(items):
        here = f"input[{index}]"
        match item.get("type"):
            case "additional_tools":
                if any(tool.get("defer_loading") for tool in item["tools"]):
                    raise Refusal("Invalid Value: 'tools.defer_loading'. Additional tools are loaded at once.", here)
                check_tools(item["tools"], f"{here}.tools", result, forms)
            case "tool_search_output":
                check_tools(item["tools"], f"{here}.tools", result, forms)
                result.namespaces |= {tool["name"]: tool["name"] for tool in item["tools"]}
            case "function_call":
                name = item["name"]
                if item.get("namespace") is None and result.namespaces.get(name) is not None:
                    text = "It does not exist in the default namespace. Round-trip the model's function_call item with "
                    raise Refusal(
                        f"Missing namespace for function_call '{name}'. {text}its namespace field included.",
                        f"{here}.namespace",
                    )
            case _:
                pass
