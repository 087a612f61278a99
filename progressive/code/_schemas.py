"""What a JSON Schema says about shape, with references followed and `allOf` folded in."""

from collections import deque
from collections.abc import Iterator, Sequence
from typing import Final, cast
from urllib.parse import unquote

from pydantic import JsonValue

from tool_runtime import JsonObject

__all__ = ["fold", "reference", "resolve", "types_of"]

SHAPING: Final = frozenset(
    {
        "type",
        "properties",
        "required",
        "additionalProperties",
        "patternProperties",
        "items",
        "prefixItems",
        "enum",
        "const",
        "anyOf",
        "oneOf",
    }
)
"""Keywords that decide on a type. All others only narrow what they say, so without them no right value is refused."""

PARTS_MAX: Final = 64
"""Schemas that may be folded into one: hostile `allOf` lists multiply, and people write fewer than ten."""

# In the order in which they are looked for where a schema names no type.
_IMPLIED: Final = (
    ("properties", "object"),
    ("required", "object"),
    ("additionalProperties", "object"),
    ("patternProperties", "object"),
    ("prefixItems", "array"),
    ("items", "array"),
)


def reference(schema: JsonObject) -> str | None:
    """Return the reference that is all a schema says about shape, apart from a type."""
    if not (SHAPING - {"type"}).isdisjoint(schema):
        return None
    ref, parts = schema.get("$ref"), schema.get("allOf")
    if ref is None and isinstance(parts, list) and len(parts) == 1 and isinstance(parts[0], dict):
        # So that a reference could have siblings before draft 2019-09.
        return reference(parts[0])
    return ref if isinstance(ref, str) and parts is None else None


def resolve(root: JsonValue, ref: str) -> JsonValue:
    """Return what a reference into the same document points to; True, the schema of anything, if there is nothing."""
    if not ref.startswith("#") or ref[1:2] not in {"", "/"}:
        return True
    node = root
    for part in unquote(ref[1:]).split("/")[1:]:
        key = part.replace("~1", "/").replace("~0", "~")
        if isinstance(node, dict) and key in node:
            node = node[key]
        elif isinstance(node, list) and key.isascii() and key.isdigit() and int(key[:9]) < len(node):
            node = node[int(key[:9])]
        else:
            return True
    return node


def fold(schema: JsonObject, root: JsonValue) -> JsonObject:
    """Return the shaping keywords of a schema, of what it refers to and of its `allOf`, as one schema.

    Where two parts disagree and no keyword can say both, the first counts: the result allows at least what all allow.
    """
    folded: JsonObject = {}
    for part in _parts(schema, root):
        for key, value in part.items():
            if key in SHAPING:
                folded[key] = _both(key, folded[key], value) if key in folded else value
    return folded


def types_of(schema: JsonObject) -> list[str]:
    """Return the types that a folded schema names, or the one its keywords are about; none for anything."""
    named = schema.get("type")
    if isinstance(named, str):
        return [named]
    if isinstance(named, list):
        return [item for item in named if isinstance(item, str)]
    implied = [type_ for key, type_ in _IMPLIED if key in schema]
    return implied[:1]


def _parts(schema: JsonObject, root: JsonValue) -> Iterator[JsonObject]:
    pending: deque[JsonValue] = deque([schema])
    followed = set[str]()
    for _ in range(PARTS_MAX):
        if not pending:
            return
        part = pending.popleft()
        if not isinstance(part, dict):
            continue
        yield part
        ref = part.get("$ref")
        if isinstance(ref, str) and ref not in followed:
            followed.add(ref)
            pending.append(resolve(root, ref))
        more = part.get("allOf")
        pending.extend(more[:PARTS_MAX] if isinstance(more, list) else ())


def _both(key: str, first: JsonValue, second: JsonValue) -> JsonValue:
    match key, first, second:
        case "properties", dict(), dict():
            return first | {name: _both_schemas(first.get(name), schema) for name, schema in second.items()}
        case "required", list(), list():
            return [*first, *(name for name in second if name not in first)]
        case "type", _, _:
            return _common(types_of({"type": first}), types_of({"type": second}))
        case "additionalProperties", _, False:
            return False
        case _:
            return first


def _both_schemas(first: JsonValue, second: JsonValue) -> JsonValue:
    return second if first is None or first == second else {"allOf": [first, second]}


def _common(first: Sequence[str], second: Sequence[str]) -> JsonValue:
    def narrower(name: str) -> str | None:
        if name in second:
            return name
        if {name, *second} >= {"integer", "number"} and name in {"integer", "number"}:
            return "integer"
        return None

    common = [name for name in map(narrower, first) if name is not None]
    return cast("JsonValue", common or list(first))
