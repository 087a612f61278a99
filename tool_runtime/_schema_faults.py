"""Where and why a value does not match a JSON Schema.

The library's own reports hold a copy of the value each, and nest: a small schema and a large value make gigabytes of
them. So the library only decides, and this finds the places, within bounds. What it cannot explain is the caller's.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import cast
from urllib.parse import unquote

from pydantic import JsonValue

from tool_runtime._schema_compiler import CompiledSchema, Validity, is_reference
from tool_runtime.payload import JsonObject, path_text
from tool_runtime.problems import Path, Problem, cut, shown, unknown_key

__all__ = ["find_problems"]

_STEPS_MAX = 50_000
_UNIONS_NESTED_MAX = 30

_LIMIT_CHARS_MAX = 120
_LIMIT_ITEMS_MAX = 50
_NAMES_TOLD_MAX = 100
_NAME_CHARS_MAX = 60
_BRANCHES_TOLD_MAX = 20

# Keywords that are checked by themselves, where they hold no references.
_PLAIN = frozenset(
    {"type", "enum", "const", "pattern", "not", "contains", "uniqueItems", "multipleOf", "contentEncoding"}
    | {"contentMediaType", "propertyNames", "dependentRequired", "dependentSchemas", "dependencies"}
    | {"minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "minLength", "maxLength"}
    | {"minItems", "maxItems", "minProperties", "maxProperties"}
)

Step = tuple[JsonValue, JsonValue, Path]


@dataclass(frozen=True, slots=True)
class _Fault:
    path: Path
    clause: str
    got: str = ""
    keyword: str = ""
    integer_expected: bool = False

    def problem(self) -> Problem:
        text = f"{self.clause}, got {self.got}" if self.got else self.clause
        return Problem(self.path, text, integer_expected=self.integer_expected)


def find_problems(schema: CompiledSchema, value: JsonValue) -> list[Problem]:
    """Return what is wrong with a value that does not match; nothing if no single place can be named."""
    finder = _Finder(schema)
    return list(dict.fromkeys(fault.problem() for fault in finder.faults(schema.document, value, ())))


class _Finder:
    def __init__(self, schema: CompiledSchema) -> None:
        self._schema = schema
        self._steps_left = _STEPS_MAX
        self._unions = 0
        self._parts: dict[tuple[str, str | int], Validity | None] = {}

    def faults(self, schema: JsonValue, value: JsonValue, path: Path) -> list[_Fault]:
        found: list[_Fault] = []
        pending: list[Step] = [(schema, value, path)]
        seen: set[tuple[int, Path]] = set()
        while pending and self._steps_left > 0:
            self._steps_left -= 1
            node, here, at = pending.pop()
            if (id(node), at) in seen:
                continue
            seen.add((id(node), at))
            if node is False:
                found.append(_Fault(at, "is not allowed", shown(here)))
            if isinstance(node, dict):
                own = list(self._own(node, here, at))
                self._steps_left -= len(own)
                found.extend(own)
                pending.extend(reversed(list(self._steps(node, here, at))))
        return found

    def _own(self, node: JsonObject, value: JsonValue, path: Path) -> Iterator[_Fault]:
        if self._schema.is_reference_alone and "$ref" in node:
            return
        for keyword, wanted in node.items():
            if keyword in _PLAIN and not self._holds(node, keyword, value):
                yield _fault(keyword, wanted, value, path)
            elif keyword in {"anyOf", "oneOf"}:
                yield from self._union(cast("list[JsonValue]", wanted), value, path)
            elif keyword == "required" and isinstance(value, dict):
                names = cast("list[str]", wanted)
                yield from (_Fault((*path, name), "is required") for name in names if name not in value)
            elif keyword == "additionalProperties" and wanted is False and isinstance(value, dict):
                clause = unknown_key(_told(_object(node, "properties")))
                yield from (_Fault((*path, key), clause) for key in self._undeclared(node, value))

    def _steps(self, node: JsonObject, value: JsonValue, path: Path) -> Iterator[Step]:
        """Yield the subschemas that must hold as well, with what they must hold for."""
        if isinstance(ref := node.get("$ref"), str):
            yield self._target(ref), value, path
            if self._schema.is_reference_alone:
                return
        for branch in _list(node, "allOf"):
            yield branch, value, path
        if "if" in node and (condition := self._part(("if", id(node)), {"allOf": [node["if"]]})) is not None:
            yield node.get("then" if condition.is_valid(value) else "else"), value, path
        if isinstance(value, dict):
            yield from self._members(node, value, path)
        elif isinstance(value, list):
            yield from _items(node, value, path)

    def _members(self, node: JsonObject, value: JsonObject, path: Path) -> Iterator[Step]:
        for name, schema in _object(node, "properties").items():
            if name in value:
                yield schema, value[name], (*path, name)
        patterned = _object(node, "patternProperties")
        for key in value if patterned else ():
            yield from ((patterned[pattern], value[key], (*path, key)) for pattern in self._matching(patterned, key))
        if isinstance(rest := node.get("additionalProperties"), dict):
            yield from ((rest, value[key], (*path, key)) for key in self._undeclared(node, value))

    def _undeclared(self, node: JsonObject, value: JsonObject) -> Iterator[str]:
        known, patterns = _object(node, "properties"), _object(node, "patternProperties")
        for key in value:
            if key not in known and next(self._matching(patterns, key), None) is None and self._steps_left > 0:
                yield key

    def _union(self, branches: list[JsonValue], value: JsonValue, path: Path) -> list[_Fault]:
        if self._unions >= _UNIONS_NESTED_MAX:
            return []
        self._unions += 1
        refusals = [self.faults(branch, value, path) for branch in branches]
        self._unions -= 1
        if not all(refusals):
            return []
        if isinstance(value, dict | list):
            # Where only one of the branches is for this kind of container, its faults are those to mend.
            near = [faults for faults in refusals if not any(f.path == path and f.keyword == "type" for f in faults)]
            if len(near) == 1:
                return near[0]
        faults = [fault for refusal in refusals for fault in refusal]
        clauses = list(dict.fromkeys(_clause_from(fault, path) for fault in faults))
        if len(clauses) > _BRANCHES_TOLD_MAX:
            clauses = [*clauses[:_BRANCHES_TOLD_MAX], f"{len(clauses) - _BRANCHES_TOLD_MAX} more"]
        integer = any(fault.integer_expected and fault.path == path for fault in faults)
        return [_Fault(path, " or ".join(clauses), shown(value), integer_expected=integer)]

    def _holds(self, node: JsonObject, keyword: str, value: JsonValue) -> bool:
        part = self._part((keyword, id(node)), {keyword: node[keyword]})
        return part is None or part.is_valid(value)

    def _matching(self, patterns: Iterable[str], text: str) -> Iterator[str]:
        for pattern in patterns if self._steps_left > 0 else ():
            self._steps_left -= 1
            part = self._part(("key", pattern), {"pattern": pattern})
            if part is not None and part.is_valid(text):
                yield pattern

    def _part(self, key: tuple[str, str | int], keywords: JsonObject) -> Validity | None:
        """Return the check of some keywords by themselves; None if they refer to others."""
        if key not in self._parts:
            self._parts[key] = None if _has_reference(keywords) else self._schema.part(keywords)
        return self._parts[key]

    def _target(self, reference: str) -> JsonValue:
        """Return what a reference into this document leads to; True, which everything matches, for any other."""
        node: JsonValue = self._schema.document
        if not re.fullmatch(r"#(/.*)?", reference, re.DOTALL):
            return True
        for step in reference.split("/")[1:]:
            name = unquote(step).replace("~1", "/").replace("~0", "~")
            if isinstance(node, dict) and name in node:
                node = node[name]
            elif isinstance(node, list) and name.isdecimal() and int(name) < len(node):
                node = node[int(name)]
            else:
                return True
        return node


def _items(node: JsonObject, value: list[JsonValue], path: Path) -> Iterator[Step]:
    items = node.get("items")
    first = items if isinstance(items, list) else _list(node, "prefixItems")
    rest = node.get("additionalItems") if isinstance(items, list) else items
    for index, item in enumerate(value):
        schema = first[index] if index < len(first) else rest
        if isinstance(schema, dict) or schema is False:
            yield schema, item, (*path, index)


def _fault(keyword: str, wanted: JsonValue, value: JsonValue, path: Path) -> _Fault:
    if keyword == "type":
        types = cast("list[str]", wanted) if isinstance(wanted, list) else [cast("str", wanted)]
        clause = f"must be of type {' or '.join(types)}"
        return _Fault(path, clause, shown(value), keyword, integer_expected="integer" in types)
    few = wanted[:_LIMIT_ITEMS_MAX] if isinstance(wanted, list) else wanted
    limit = repr(few)
    limit = limit if few == wanted and len(limit) <= _LIMIT_CHARS_MAX else f"{limit[:_LIMIT_CHARS_MAX]}…"
    return _Fault(path, f"must match {keyword} {limit}", shown(value), keyword)


def _clause_from(fault: _Fault, path: Path) -> str:
    inner = fault.path[len(path) :]
    return f"{cut(path_text(inner), _NAME_CHARS_MAX)} {fault.clause}" if inner else fault.clause


def _told(names: Mapping[str, object]) -> list[str]:
    told = [cut(name, _NAME_CHARS_MAX) for name in list(names)[:_NAMES_TOLD_MAX]]
    return [*told, f"and {len(names) - _NAMES_TOLD_MAX} more"] if len(names) > _NAMES_TOLD_MAX else told


def _has_reference(node: JsonValue) -> bool:
    if isinstance(node, dict):
        return is_reference(node) or any(map(_has_reference, node.values()))
    return isinstance(node, list) and any(map(_has_reference, node))


def _object(node: JsonObject, keyword: str) -> JsonObject:
    value = node.get(keyword)
    return value if isinstance(value, dict) else {}


def _list(node: JsonObject, keyword: str) -> list[JsonValue]:
    value = node.get(keyword)
    return value if isinstance(value, list) else []
