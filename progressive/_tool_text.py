"""The text of a tool, field by field, as far as it says what the tool is for."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from itertools import islice
from typing import Any, Final

from pydantic import JsonValue

from progressive.words import words
from tool_runtime import JsonObject, Tool

__all__ = ["ToolText", "text_of"]

# Names and schemas come from foreign servers and may be of any size. Of LiveMCPBench, 527 tools of 70 real servers, the
# longest name has 36 characters, the longest description 3,866, the parameters of one tool at most 226 in their names
# and 2,892 in their descriptions, the largest schema 68 schemas inside. The bounds touch one of those tools, whose
# choices have 4,591 characters. What stands behind them hardly says what a tool is for.
_NAME_CHARS_MAX: Final = 256
_DESCRIPTION_CHARS_MAX: Final = 4_000
_PARAMETER_NAMES_CHARS_MAX: Final = 1_000
_PARAMETER_TEXTS_CHARS_MAX: Final = 3_000
_CHOICES_CHARS_MAX: Final = 2_000
_SCHEMAS_MAX: Final = 500
# How many entries of one list or object are looked at, those that say nothing among them.
_ENTRIES_MAX: Final = 500

_NAMED_SCHEMAS: Final = frozenset({"properties", "patternProperties", "dependentSchemas", "$defs", "definitions"})
_SCHEMA_LISTS: Final = frozenset({"anyOf", "oneOf", "allOf", "prefixItems"})
_SCHEMAS: Final = frozenset({"items", "additionalProperties", "if", "then", "else"})


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
    schemas = _schemas(tool.accepts.schema)
    names = (name for schema in schemas for name in _entries(schema.get("properties")))
    texts = (text for schema in schemas for text in _texts([schema.get("description")]))
    choices = (text for schema in schemas for text in _texts([*_items(schema.get("enum")), schema.get("const")]))
    return ToolText(
        name=words(tool.name, chars_max=_NAME_CHARS_MAX),
        description=words(tool.description, chars_max=_DESCRIPTION_CHARS_MAX),
        parameter_names=_words_of_all(names, chars_max=_PARAMETER_NAMES_CHARS_MAX),
        parameter_texts=_words_of_all(texts, chars_max=_PARAMETER_TEXTS_CHARS_MAX),
        choices=_words_of_all(choices, chars_max=_CHOICES_CHARS_MAX),
    )


def _words_of_all(texts: Iterable[str], *, chars_max: int) -> list[str]:
    taken: list[str] = []
    left = chars_max
    for text in texts:
        taken.append(text[:left])
        left -= len(taken[-1]) + 1
        if left <= 0:
            break
    return words("\n".join(taken), chars_max=chars_max)


def _schemas(root: JsonObject) -> list[JsonObject]:
    """Return a schema and those inside it, the outer ones first; references lead to `$defs`, where they are found."""
    found = [root]
    for schema in found:
        for keyword, value in schema.items():
            found += _inner(keyword, value)[: _SCHEMAS_MAX - len(found)]
    return found


def _inner(keyword: str, value: JsonValue) -> list[JsonObject]:
    """Return the schemas that stand at a keyword."""
    if keyword in _NAMED_SCHEMAS:
        inner = _entries(value).values()
    elif keyword in _SCHEMA_LISTS:
        inner = _items(value)
    elif keyword in _SCHEMAS:
        inner = [value]
    else:
        return []
    return [schema for schema in inner if isinstance(schema, dict)]


def _entries(value: JsonValue) -> JsonObject:
    return dict(islice(value.items(), _ENTRIES_MAX)) if isinstance(value, dict) else {}


def _items(value: JsonValue) -> list[JsonValue]:
    return value[:_ENTRIES_MAX] if isinstance(value, list) else []


def _texts(values: Iterable[JsonValue]) -> list[str]:
    return [value for value in values if isinstance(value, str)]
