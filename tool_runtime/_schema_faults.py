"""Where and why a value does not match a JSON Schema.

The library's own reports hold a copy of the value each, and nest: a small schema and a large value make gigabytes of
them. So the library only decides, and this finds the places, within bounds. What it cannot explain is the caller's.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import cast

from pydantic import JsonValue

from tool_runtime._schema_compiler import CompiledSchema, Validity
from tool_runtime._schema_references import is_reference
from tool_runtime.payload import JsonObject, path_text
from tool_runtime.problems import Path, Problem, cut, json_text, shown, unknown_key

__all__ = ["find_float_integers", "find_problems"]

_STEPS_MAX = 50_000
_UNIONS_NESTED_MAX = 30

_LIMIT_CHARS_MAX = 120
_LIMIT_ITEMS_MAX = 50
_PATH_CHARS_MAX = 60
_BRANCHES_TOLD_MAX = 20
_BRANCH_CHARS_MAX = 200

# Keywords that are checked by themselves, where they hold no references.
_PLAIN = frozenset(
    {"type", "enum", "const", "pattern", "not", "contains", "uniqueItems", "multipleOf", "contentEncoding"}
    | {"contentMediaType", "propertyNames", "dependentRequired", "dependentSchemas", "dependencies"}
    | {"minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "minLength", "maxLength"}
    | {"minItems", "maxItems", "minProperties", "maxProperties"}
)
# What changes the meaning of another keyword beside it.
_MODIFIERS = {
    "minimum": ("exclusiveMinimum",),
    "maximum": ("exclusiveMaximum",),
    "contains": ("minContains", "maxContains"),
}
# These do in draft 4 alone, where they are true or false.
_EXCLUSIVE = frozenset({"exclusiveMinimum", "exclusiveMaximum"})

Step = tuple[JsonValue, JsonValue, Path]


@dataclass(frozen=True, slots=True)
class _Fault:
    path: Path
    clause: str
    got: str = ""
    keyword: str = ""
    integer_expected: bool = False

    def is_of_another_type(self, path: Path) -> bool:
        return self.keyword == "type" and self.path == path

    def is_of_another_kind(self, path: Path) -> bool:
        return self.keyword == "const" and len(self.path) == len(path) + 1

    def is_no_integer(self, _path: Path) -> bool:
        return not self.integer_expected

    def problem(self) -> Problem:
        text = f"{self.clause}, got {self.got}" if self.got else self.clause
        return Problem(self.path, text, integer_expected=self.integer_expected)


def find_problems(schema: CompiledSchema, value: JsonValue) -> list[Problem]:
    """Return what is wrong with a value that does not match; nothing if no single place can be named."""
    finder = _Finder(schema)
    return list(dict.fromkeys(fault.problem() for fault in finder.faults(schema.document, value, ())))


def find_float_integers(schema: CompiledSchema, value: JsonValue) -> list[Path]:
    """Return where a value that matches holds a number like 12.0, and the schema wants an integer."""
    finder = _Finder(schema, is_float_integer=False)
    return [fault.path for fault in finder.faults(schema.document, value, ()) if fault.integer_expected]


class _Finder:
    def __init__(self, schema: CompiledSchema, *, is_float_integer: bool = True) -> None:
        self._schema = schema
        self._is_float_integer = is_float_integer
        self._clauses: dict[tuple[str, int], str] = {}
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
                yield self._fault(node, keyword, value, path)
            elif keyword in {"anyOf", "oneOf"}:
                yield from self._union(cast("list[JsonValue]", wanted), value, path)
            elif keyword == "required" and isinstance(value, dict):
                names = cast("list[str]", wanted)
                yield from (_Fault((*path, name), "is required") for name in names if name not in value)
            elif keyword == "additionalProperties" and wanted is False and isinstance(value, dict):
                clause = self._clause(node, keyword)
                yield from (_Fault((*path, key), clause) for key in self._undeclared(node, value))

    def _steps(self, node: JsonObject, value: JsonValue, path: Path) -> Iterator[Step]:
        """Yield the subschemas that must hold as well, with what they must hold for."""
        if isinstance(ref := node.get("$ref"), str):
            yield self._schema.references.target(node, ref), value, path
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
            # The faults to mend are those of the one branch that is for such a container, for such a kind of object,
            # or for an object whose integers are written as texts.
            for is_apart in (_Fault.is_of_another_type, _Fault.is_of_another_kind, _Fault.is_no_integer):
                near = [faults for faults in refusals if not any(is_apart(fault, path) for fault in faults)]
                if len(near) == 1:
                    return near[0]
                refusals = near or refusals
        faults = [fault for refusal in refusals for fault in refusal]
        clauses = list(dict.fromkeys(_clause_from(fault, path) for fault in faults))
        if len(clauses) > _BRANCHES_TOLD_MAX:
            clauses = [*clauses[:_BRANCHES_TOLD_MAX], f"{len(clauses) - _BRANCHES_TOLD_MAX} more"]
        integer = any(fault.integer_expected and fault.path == path for fault in faults)
        return [_Fault(path, " or ".join(clauses), shown(value), integer_expected=integer)]

    def _holds(self, node: JsonObject, keyword: str, value: JsonValue) -> bool:
        if keyword == "type" and isinstance(value, float) and not self._is_float_integer:
            return "number" in _types(node)
        part = self._part((keyword, id(node)), _together(node, keyword))
        return part is None or part.is_valid(value)

    def _fault(self, node: JsonObject, keyword: str, value: JsonValue, path: Path) -> _Fault:
        wanted = node[keyword]
        is_one_value = keyword == "const" or (keyword == "enum" and isinstance(wanted, list) and len(wanted) == 1)
        return _Fault(
            path,
            self._clause(node, keyword),
            shown(value),
            keyword="const" if is_one_value else keyword,
            integer_expected=keyword == "type" and "integer" in _types(node),
        )

    def _clause(self, node: JsonObject, keyword: str) -> str:
        """Return what a keyword asks for; made once, however many values break it."""
        key = (keyword, id(node))
        if key not in self._clauses:
            self._clauses[key] = _clause_of(node, keyword)
        return self._clauses[key]

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


def _items(node: JsonObject, value: list[JsonValue], path: Path) -> Iterator[Step]:
    items = node.get("items")
    first = items if isinstance(items, list) else _list(node, "prefixItems")
    rest = node.get("additionalItems") if isinstance(items, list) else items
    for index, item in enumerate(value):
        schema = first[index] if index < len(first) else rest
        if isinstance(schema, dict) or schema is False:
            yield schema, item, (*path, index)


def _together(node: JsonObject, keyword: str) -> JsonObject:
    """Return a keyword with those beside it that change its meaning; nothing if that is all that it does itself."""
    if keyword in _EXCLUSIVE and isinstance(node[keyword], bool):
        return {}
    beside = (name for name in _MODIFIERS.get(keyword, ()) if name in node)
    modifiers = (name for name in beside if name not in _EXCLUSIVE or isinstance(node[name], bool))
    return {name: node[name] for name in (keyword, *modifiers)}


def _types(node: JsonObject) -> list[str]:
    wanted = node["type"]
    return cast("list[str]", wanted if isinstance(wanted, list) else [wanted])


def _clause_of(node: JsonObject, keyword: str) -> str:
    if keyword == "additionalProperties":
        return unknown_key(list(_object(node, "properties")))
    if keyword == "type":
        return f"must be of type {' or '.join(_types(node))}"
    limits = (f"{name} {_limit(limit)}" for name, limit in _together(node, keyword).items())
    return f"must match {', '.join(limits)}"


def _limit(limit: JsonValue) -> str:
    few = limit[:_LIMIT_ITEMS_MAX] if isinstance(limit, list) else limit
    text = json_text(few)
    return text if few == limit and len(text) <= _LIMIT_CHARS_MAX else f"{text[:_LIMIT_CHARS_MAX]}…"


def _clause_from(fault: _Fault, path: Path) -> str:
    inner = fault.path[len(path) :]
    clause = cut(fault.clause, _BRANCH_CHARS_MAX)
    return f"{cut(path_text(inner), _PATH_CHARS_MAX)} {clause}" if inner else clause


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
