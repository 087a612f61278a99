"""The text of a tool, field by field, as far as it says what the tool is for."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import islice
from typing import Any, Final, cast

from progressive.words import words
from tool_runtime import JsonObject, Tool

__all__ = ["ToolText", "text_of"]

# Names and schemas come from foreign servers and may be of any size. No bound touches a tool of LiveMCPBench, 527 of 70
# real servers: its longest name has 36 characters, the longest description 3,866, the longest texts of parameters
# together 2,892, the largest schema 68 schemas inside. What stands behind the bounds hardly says what a tool is for.
_NAME_CHARS_MAX: Final = 256
_DESCRIPTION_CHARS_MAX: Final = 4_000
_PARAMETERS_CHARS_MAX: Final = 8_000
_SCHEMAS_MAX: Final = 2_000

_NAMED_SCHEMAS: Final = ("properties", "patternProperties", "dependentSchemas", "$defs", "definitions")
_SCHEMA_LISTS: Final = ("anyOf", "oneOf", "allOf", "prefixItems")
_SCHEMAS: Final = ("items", "additionalProperties", "if", "then", "else")


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolText:
    """Words of a tool, case-folded, in order.

    Attributes:
        name: Of the name.
        description: Of the description.
        parameter_names: Of the property names at every depth of the parameters.
        parameter_texts: Of the descriptions in the parameters.
        choices: Of their enumerated texts.
    """

    name: list[str]
    description: list[str]
    parameter_names: list[str]
    parameter_texts: list[str]
    choices: list[str]


def text_of(tool: Tool[Any]) -> ToolText:
    """Return the words of a tool; keywords and types of its schema are not among them."""
    names: list[str] = []
    texts: list[str] = []
    choices: list[str] = []
    for schema in islice(_schemas(tool.accepts.schema), _SCHEMAS_MAX):
        names += _mapping(schema, "properties")
        texts += _texts(schema.get("description"))
        choices += _texts(schema.get("enum")) + _texts(schema.get("const"))
    return ToolText(
        name=words(tool.name, chars_max=_NAME_CHARS_MAX),
        description=words(tool.description, chars_max=_DESCRIPTION_CHARS_MAX),
        parameter_names=_words_of_all(names),
        parameter_texts=_words_of_all(texts),
        choices=_words_of_all(choices),
    )


def _words_of_all(texts: list[str]) -> list[str]:
    taken: list[str] = []
    left = _PARAMETERS_CHARS_MAX
    for text in texts:
        if left <= 0:
            break
        taken.append(text[:left])
        left -= len(taken[-1]) + 1
    return words("\n".join(taken), chars_max=_PARAMETERS_CHARS_MAX)


def _schemas(root: JsonObject) -> Iterator[JsonObject]:
    """Yield a schema and those inside it, the outer ones first; references lead to `$defs`, where they are found."""
    waiting = deque([root])
    while waiting:
        schema = waiting.popleft()
        yield schema
        for keyword in _NAMED_SCHEMAS:
            waiting.extend(_objects(list(_mapping(schema, keyword).values())))
        for keyword in _SCHEMA_LISTS:
            waiting.extend(_objects(schema.get(keyword)))
        for keyword in _SCHEMAS:
            waiting.extend(_objects([schema.get(keyword)]))


def _mapping(schema: JsonObject, keyword: str) -> JsonObject:
    value = schema.get(keyword)
    return value if isinstance(value, dict) else {}


def _objects(value: object) -> list[JsonObject]:
    items = cast("list[object]", value) if isinstance(value, list) else []
    return [cast("JsonObject", item) for item in items if isinstance(item, dict)]


def _texts(value: object) -> list[str]:
    items = cast("list[object]", value) if isinstance(value, list) else [value]
    return [item for item in items if isinstance(item, str)]
