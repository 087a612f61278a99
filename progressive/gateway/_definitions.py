"""What a server says of a tool, made safe: text bounded and visible, schemas valid and small."""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass
from typing import cast

from pydantic import JsonValue
from pydantic_core import PydanticSerializationError, to_json

from progressive.gateway._text import cleaned, hides_characters
from progressive.gateway.options import GatewayOptions
from tool_runtime import JsonObject, ToolAnnotations

__all__ = ["Definition", "UnusableToolError", "definition_of", "fingerprint"]

_KEYS = ("name", "title", "description", "inputSchema", "outputSchema", "annotations", "execution")
_TEXTS = frozenset({"title", "description", "$comment"})
# Keywords whose value is data, and keywords that map names to schemas: neither holds keywords directly.
_DATA = frozenset({"default", "const", "enum", "examples", "required", "dependentRequired"})
_NAMED = frozenset({"properties", "patternProperties", "$defs", "definitions", "dependentSchemas"})


class UnusableToolError(ValueError):
    """Raised when a definition cannot be mounted; the message says why."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Definition:
    """A definition fit to be shown to a model.

    Attributes:
        tool: Name on the server.
        description: For the model.
        parameters: A JSON Schema of an object; whether it is valid shows when it is compiled.
        output: A JSON Schema; empty if the server gave none that can be used.
        annotations: What the server claims; the worst where it claims nothing.
    """

    tool: str
    description: str
    parameters: JsonObject
    output: JsonObject
    annotations: ToolAnnotations


def fingerprint(raw: JsonObject) -> bytes:
    """Return what is equal for definitions that say the same, in whatever order.

    Raises:
        UnusableToolError: It nests too deep.
    """
    told = {key: raw[key] for key in _KEYS if key in raw}
    try:
        return hashlib.sha256(json.dumps(told, sort_keys=True).encode()).digest()
    except RecursionError as error:
        raise UnusableToolError("it nests too deep") from error


def definition_of(raw: JsonObject, options: GatewayOptions) -> Definition:
    """Return what a server says of a tool.

    Raises:
        UnusableToolError: It cannot simply be called, or the schema of its parameters is not one of an object, is too
            large, or hides characters.
    """
    parameters = raw.get("inputSchema")
    if not isinstance(parameters, dict) or parameters.get("type") != "object":
        raise UnusableToolError("inputSchema is not a schema of an object")
    execution = raw.get("execution")
    if isinstance(execution, dict) and execution.get("taskSupport") == "required":
        raise UnusableToolError("it can be run as a task only, which the gateway does not do")
    output = raw.get("outputSchema")
    try:
        shown_output = _shown(output, options) if isinstance(output, dict) else {}
    except UnusableToolError:
        shown_output = {}
    return Definition(
        tool=cast("str", raw["name"]),
        description=_description(raw, options),
        parameters=_shown(parameters, options),
        output=shown_output,
        annotations=_annotations(raw.get("annotations")),
    )


def _description(raw: JsonObject, options: GatewayOptions) -> str:
    annotations = raw.get("annotations")
    inner = annotations.get("title") if isinstance(annotations, dict) else None
    for text in (raw.get("description"), raw.get("title"), inner):
        if isinstance(text, str) and (description := cleaned(text, options.description_chars_max)):
            return description
    return ""


def _annotations(raw: JsonValue) -> ToolAnnotations:
    claims = raw if isinstance(raw, dict) else {}
    read_only = claims.get("readOnlyHint") is True
    return ToolAnnotations(
        read_only=read_only,
        # By the protocol this claim means nothing for a tool that only reads.
        destructive=not read_only and claims.get("destructiveHint") is not False,
        idempotent=claims.get("idempotentHint") is True,
        open_world=claims.get("openWorldHint") is not False,
    )


def _shown(schema: JsonObject, options: GatewayOptions) -> JsonObject:
    try:
        size_bytes = len(to_json(schema))
    except PydanticSerializationError as error:
        raise UnusableToolError("its schema nests too deep to be read, or is no Unicode") from error
    if size_bytes > options.schema_bytes_max:
        raise UnusableToolError(f"its schema has {size_bytes:,} bytes, more than {options.schema_bytes_max:,}")
    shown = cast("JsonObject", _cleaned_schema(schema, options, levels_left=options.schema_depth_max))
    if hides_characters(to_json(shown).decode()):
        raise UnusableToolError("its schema holds invisible characters where they cannot be removed")
    return shown


def _cleaned_schema(node: JsonValue, options: GatewayOptions, *, levels_left: int) -> JsonValue:
    """Return a schema with its texts cleaned; names, values and patterns stay as they are."""
    if not isinstance(node, dict | list):
        return node
    if levels_left == 0:
        raise UnusableToolError(f"its schema is nested deeper than {options.schema_depth_max} levels")
    levels_left -= 1
    if isinstance(node, list):
        return [_cleaned_schema(item, options, levels_left=levels_left) for item in node]
    result: JsonObject = {}
    for key, value in node.items():
        if key in _TEXTS and isinstance(value, str):
            result[key] = cleaned(value, options.description_chars_max)
        elif key in _NAMED and isinstance(value, dict):
            if levels_left == 0:
                raise UnusableToolError(f"its schema is nested deeper than {options.schema_depth_max} levels")
            result[key] = {
                name: _cleaned_schema(item, options, levels_left=levels_left - 1) for name, item in value.items()
            }
        else:
            result[key] = value if key in _DATA else _cleaned_schema(value, options, levels_left=levels_left)
    return result
