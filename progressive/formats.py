"""Tools in the formats of vendors' APIs and of MCP: plain JSON objects whose keys always stand in the same order.

Field names are those of the `anthropic` 2.14 and `openai` 3.57 packages and of MCP 2025-11-25. An API refuses the whole
request for one tool that breaks its rules; such a tool is refused here, by name. Nothing is renamed or left out of a
schema: a call must name the tool exactly, and match the schema that it will be checked against.
"""

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from typing import Final, Literal, NotRequired, TypedDict

from pydantic import JsonValue

from tool_runtime import JsonObject, ToolSchema

__all__ = [
    "AnthropicTool",
    "McpAnnotations",
    "McpTool",
    "OpenAIChatTool",
    "OpenAIFunction",
    "OpenAIResponsesTool",
    "UnsupportedToolError",
    "anthropic_tools",
    "mcp_tools",
    "openai_chat_tools",
    "openai_responses_tools",
]

_ALWAYS_LOAD: Final = "anthropic/alwaysLoad"


class AnthropicTool(TypedDict):
    """An entry of `tools` of the Anthropic Messages API."""

    name: str
    description: str
    input_schema: JsonObject


class OpenAIResponsesTool(TypedDict):
    """An entry of `tools` of the OpenAI Responses API."""

    type: Literal["function"]
    name: str
    description: str
    parameters: JsonObject
    strict: Literal[False]


class OpenAIFunction(TypedDict):
    """The function of an `OpenAIChatTool`."""

    name: str
    description: str
    parameters: JsonObject
    strict: Literal[False]


class OpenAIChatTool(TypedDict):
    """An entry of `tools` of the OpenAI Chat Completions API."""

    type: Literal["function"]
    function: OpenAIFunction


class McpAnnotations(TypedDict):
    """Hints of an `McpTool`."""

    readOnlyHint: bool
    destructiveHint: bool
    idempotentHint: bool
    openWorldHint: bool


class McpTool(TypedDict):
    """An entry of the result of MCP `tools/list`."""

    name: str
    description: str
    inputSchema: JsonObject
    outputSchema: NotRequired[JsonObject]
    annotations: McpAnnotations
    _meta: NotRequired[JsonObject]


class UnsupportedToolError(ValueError):
    """Raised when an API would refuse every request that declares a tool.

    Attributes:
        tool: Exact name of the tool.
        api: Whose rule it is.
        rule: What the API requires.
    """

    def __init__(self, tool: str, api: str, rule: str) -> None:
        super().__init__(f"{api} refuses the tool {tool!r}: {rule}; rename or adapt the tool, or leave it out")
        self.tool = tool
        self.api = api
        self.rule = rule


@dataclass(frozen=True, slots=True, kw_only=True)
class _Rules:
    api: str
    name_chars_max: int
    refused_at_top: frozenset[str] = frozenset()
    key: re.Pattern[str] | None = None
    wants_items: bool = False


_ANTHROPIC: Final = _Rules(
    api="the Anthropic API",
    name_chars_max=128,
    refused_at_top=frozenset({"allOf", "anyOf", "oneOf"}),
    key=re.compile(r"[a-zA-Z0-9_.-]{1,64}"),
)
"""As its refusals of 2026 say: `String should match pattern '^[a-zA-Z0-9_-]{1,128}$'` (64 until 2025), `input_schema
does not support oneOf, allOf, or anyOf at the top level`, and `Property keys should match pattern
'^[a-zA-Z0-9_.-]{1,64}$'`, which is about the keys of the top level."""

_OPENAI: Final = _Rules(
    api="the OpenAI API",
    name_chars_max=64,
    refused_at_top=frozenset({"allOf", "anyOf", "enum", "not", "oneOf"}),
    wants_items=True,
)
"""Names as the documentation of `FunctionDefinition` in the `openai` package says; schemas as its refusals of 2026 say:
`schema must have type 'object' and not have 'oneOf'/'anyOf'/'allOf'/'enum'/'not' at the top level`, `object schema
missing properties` (at the top level, where they can be added) and `array schema missing items` (anywhere)."""

_DATA_KEYWORDS: Final = frozenset({"const", "default", "enum", "examples"})
"""Keywords whose values are no schemas, whatever they look like."""
_NAMED_SCHEMAS: Final = frozenset({"properties", "patternProperties", "$defs", "definitions"})
"""Keywords whose values have a schema under each name, and any name may be that of a keyword."""

_OTHER_CHARACTERS: Final = re.compile(r"[^a-zA-Z0-9_-]")


def anthropic_tools(schemas: Sequence[ToolSchema]) -> list[AnthropicTool]:
    """Return tools for the Anthropic Messages API, in the given order.

    Raises:
        UnsupportedToolError: The API would refuse a name or a schema.
    """
    _check(schemas, _ANTHROPIC)
    return [
        {"name": schema.name, "description": schema.description, "input_schema": _parameters(schema)}
        for schema in schemas
    ]


def openai_responses_tools(schemas: Sequence[ToolSchema]) -> list[OpenAIResponsesTool]:
    """Return tools for the OpenAI Responses API, in the given order.

    Not strict: strict mode knows a part of JSON Schema only, and wants every key required.

    Raises:
        UnsupportedToolError: The API would refuse a name or a schema.
    """
    _check(schemas, _OPENAI)
    return [
        {
            "type": "function",
            "name": schema.name,
            "description": schema.description,
            "parameters": _openai_parameters(schema),
            "strict": False,
        }
        for schema in schemas
    ]


def openai_chat_tools(schemas: Sequence[ToolSchema]) -> list[OpenAIChatTool]:
    """Return tools for the OpenAI Chat Completions API, in the given order; see `openai_responses_tools`.

    Raises:
        UnsupportedToolError: The API would refuse a name or a schema.
    """
    _check(schemas, _OPENAI)
    return [
        {
            "type": "function",
            "function": {
                "name": schema.name,
                "description": schema.description,
                "parameters": _openai_parameters(schema),
                "strict": False,
            },
        }
        for schema in schemas
    ]


def mcp_tools(
    schemas: Sequence[ToolSchema], *, always_loaded: AbstractSet[str] = frozenset(), structured: bool = False
) -> list[McpTool]:
    """Return tools for the result of MCP `tools/list`, in the given order.

    Args:
        schemas: The tools; MCP only recommends what their names consist of, so any name will do.
        always_loaded: Names of the tools that a client with a tool search of its own should not hide.
        structured: Announce the schema of the value, where it is an object: revisions up to 2025-11-25 know no other.

    Raises:
        UnsupportedToolError: The parameters of a tool are not an object, or two tools have the same name.
    """
    _check_each_once(schemas, api="MCP")
    return [
        _mcp_tool(schema, is_always_loaded=schema.name in always_loaded, structured=structured) for schema in schemas
    ]


def _mcp_tool(schema: ToolSchema, *, is_always_loaded: bool, structured: bool) -> McpTool:
    hints = schema.annotations
    tool: McpTool = {
        "name": schema.name,
        "description": schema.description,
        "inputSchema": _parameters(schema),
        "annotations": {
            "readOnlyHint": hints.read_only,
            "destructiveHint": hints.destructive,
            "idempotentHint": hints.idempotent,
            "openWorldHint": hints.open_world,
        },
    }
    if structured and schema.output.get("type") == "object":
        tool["outputSchema"] = schema.output
    if is_always_loaded:
        tool["_meta"] = {_ALWAYS_LOAD: True}
    return tool


def _parameters(schema: ToolSchema) -> JsonObject:
    # Arguments are always an object, and every API wants that said.
    return {"type": "object", **schema.parameters}


def _openai_parameters(schema: ToolSchema) -> JsonObject:
    parameters = _parameters(schema)
    return parameters if "properties" in parameters else {**parameters, "properties": {}}


def _check(schemas: Sequence[ToolSchema], rules: _Rules) -> None:
    _check_each_once(schemas, api=rules.api)
    for schema in schemas:
        for rule in (_name_rule(schema.name, rules), _schema_rule(schema.parameters, rules)):
            if rule is not None:
                raise UnsupportedToolError(schema.name, rules.api, rule)


def _check_each_once(schemas: Sequence[ToolSchema], *, api: str) -> None:
    for name, count in Counter(schema.name for schema in schemas).items():
        if count > 1:
            raise UnsupportedToolError(name, api, "every name stands once")
    for schema in schemas:
        if schema.parameters.get("type", "object") != "object":
            raise UnsupportedToolError(schema.name, api, "the type of its parameters must be 'object'")


def _name_rule(name: str, rules: _Rules) -> str | None:
    """Return the rule that a name breaks."""
    if 0 < len(name) <= rules.name_chars_max and _OTHER_CHARACTERS.search(name) is None:
        return None
    return f"a name has 1 to {rules.name_chars_max} characters out of a-z, A-Z, 0-9, _ and -"


def _schema_rule(parameters: JsonObject, rules: _Rules) -> str | None:
    """Return the rule that a schema breaks."""
    refused = sorted(rules.refused_at_top & parameters.keys())
    if refused:
        return f"its parameters must not have {', '.join(refused)} at the top level"
    if rules.wants_items and _has_array_without_items(parameters):
        return "every array in its parameters must say what its items are"
    properties = parameters.get("properties")
    if rules.key is None or not isinstance(properties, dict):
        return None
    odd = next((key for key in properties if rules.key.fullmatch(key) is None), None)
    return None if odd is None else f"the key {odd!r} of its parameters does not match ^{rules.key.pattern}$"


def _has_array_without_items(value: JsonValue) -> bool:
    if isinstance(value, list):
        return any(map(_has_array_without_items, value))
    if not isinstance(value, dict):
        return False
    kind = value.get("type")
    is_array = kind == "array" or (isinstance(kind, list) and "array" in kind)
    if is_array and value.keys().isdisjoint({"items", "prefixItems"}):
        return True
    return any(map(_has_array_without_items, _subschemas(value)))


def _subschemas(schema: JsonObject) -> Iterator[JsonValue]:
    for key, value in schema.items():
        if key in _NAMED_SCHEMAS and isinstance(value, dict):
            yield from value.values()
        elif key not in _DATA_KEYWORDS:
            yield value
