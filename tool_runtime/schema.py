"""JSON Schema as pydantic makes it, as compact as a model's prompt wants it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, cast

from pydantic import JsonValue

from tool_runtime.payload import JsonObject

__all__ = ["compact_schema", "property_names"]

_REF = "#/$defs/"
# Keywords whose value is data, and keywords that map names to schemas: neither holds keywords directly.
_DATA = frozenset({"default", "const", "enum", "examples"})
_NAMED = frozenset({"properties", "patternProperties", "$defs", "dependentSchemas"})
# `title` repeats the field's name; `discriminator` is OpenAPI, and its mapping would dangle once refs are inlined.
_NOISE = frozenset({"title", "discriminator"})


def compact_schema(made: dict[str, Any]) -> JsonObject:
    """Return the JSON Schema that pydantic made of a type, compacted.

    References are inlined, except recursive ones, which stay in `$defs`. Every object with named properties refuses
    further ones. Titles and the description of the type itself are left out: the tool has its own.
    """
    root = cast("JsonObject", {**made})
    defs = cast("dict[str, JsonObject]", root.pop("$defs", {}))
    kept = _recursive(defs)
    if (target := _target(root)) is not None:
        root = {**defs[target]}
    root.pop("description", None)
    schema = cast("JsonObject", _compact(root, defs, kept))
    if kept:
        schema["$defs"] = {name: _compact(defs[name], defs, kept) for name in sorted(kept)}
    return schema


def property_names(schema: JsonObject, path: Sequence[str | int]) -> list[str]:
    """Return the property names that a schema declares for the object at a path, in declared order."""
    nodes = list(_branches(schema, schema))
    for part in path:
        nodes = [branch for node in nodes for child in _children(node, part) for branch in _branches(child, schema)]
    names: dict[str, None] = {}
    for node in nodes:
        properties = node.get("properties")
        names.update(dict.fromkeys(properties if isinstance(properties, dict) else ()))
    return list(names)


def _compact(node: JsonValue, defs: dict[str, JsonObject], kept: set[str]) -> JsonValue:
    if isinstance(node, list):
        return [_compact(item, defs, kept) for item in node]
    if not isinstance(node, dict):
        return node
    target = _target(node)
    if target is not None and target not in kept:
        siblings = {key: value for key, value in node.items() if key != "$ref"}
        return _compact({**defs[target], **siblings}, defs, kept)
    compact: JsonObject = {}
    for key, value in node.items():
        if key in _NOISE:
            continue
        if key in _NAMED and isinstance(value, dict):
            compact[key] = {name: _compact(item, defs, kept) for name, item in value.items()}
        else:
            compact[key] = value if key in _DATA else _compact(value, defs, kept)
    if "properties" in compact:
        compact["additionalProperties"] = False
    return compact


def _target(node: JsonObject) -> str | None:
    ref = node.get("$ref")
    return ref.removeprefix(_REF) if isinstance(ref, str) and ref.startswith(_REF) else None


def _recursive(defs: dict[str, JsonObject]) -> set[str]:
    direct = {name: set(_targets(node)) for name, node in defs.items()}
    found: set[str] = set()
    for name, targets in direct.items():
        reached, pending = set[str](), list(targets)
        while pending:
            target = pending.pop()
            if target not in reached:
                reached.add(target)
                pending.extend(direct[target])
        if name in reached:
            found.add(name)
    return found


def _targets(node: JsonValue) -> Iterator[str]:
    if isinstance(node, dict):
        if (target := _target(node)) is not None:
            yield target
        for key, value in node.items():
            if key not in _DATA:
                yield from _targets(value)
    elif isinstance(node, list):
        for item in node:
            yield from _targets(item)


def _children(node: JsonObject, part: str | int) -> Iterator[JsonObject]:
    properties = node.get("properties")
    if isinstance(part, str) and isinstance(properties, dict) and part in properties:
        child = properties[part]
    else:
        child = node.get("items" if isinstance(part, int) else "additionalProperties")
    if isinstance(child, dict):
        yield child


def _branches(node: JsonObject, root: JsonObject) -> Iterator[JsonObject]:
    if (target := _target(node)) is not None:
        node = cast("JsonObject", cast("JsonObject", root["$defs"])[target])
    yield node
    for keyword in ("anyOf", "oneOf", "allOf"):
        branches = node.get(keyword)
        for branch in branches if isinstance(branches, list) else ():
            if isinstance(branch, dict):
                yield from _branches(branch, root)
