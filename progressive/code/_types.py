"""Python types for JSON Schemas: an expression for each, a `TypedDict` for each object with named keys.

A type allows at least what its schema allows wherever the two differ, so that no right program is refused; only keys
that a schema neither names nor explicitly admits are treated as mistakes.
"""

import keyword
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import islice
from typing import Final, TypeAlias

from pydantic import JsonValue

from progressive.code._schemas import fold, reference, resolve, types_of
from progressive.code._text import comment, is_plain, pascal
from tool_runtime import JsonObject

__all__ = ["Names", "declare"]

_TYPE_WORDS: Final = frozenset(
    {
        "Any",
        "Awaitable",
        "Callable",
        "Literal",
        "NotRequired",
        "TypeAlias",
        "TypedDict",
        "Union",
        "bool",
        "dict",
        "float",
        "int",
        "list",
        "overload",
        "str",
    }
)
"""Names that declarations use: nothing declared may hide them."""

DEPTH_MAX: Final = 24
"""Levels of types inside types; the LiveMCPBench catalog (527 tools) has 5, and Python's own stack is the limit."""
NODES_MAX: Final = 500
"""Schemas looked at for one declaration, so that one hostile schema costs milliseconds; that catalog has up to 68."""
FIELDS_MAX: Final = 200
"""Keys of one `TypedDict`; that catalog has up to 23."""
KEY_CHARS_MAX: Final = 200
"""Characters of one key; a longer one is data."""
ALTERNATIVES_MAX: Final = 64
"""Members of one union, each of which may repeat every key of the object around it."""
LITERALS_MAX: Final = 64
"""Values of one enumeration; a longer one is data, and its text costs more than the check is worth."""
EXPRESSION_CHARS_MAX: Final = 2_000
"""Text of one type: types without a name are repeated where they are used, and repetition doubles at every level."""
INTEGER_BITS_MAX: Final = 64
"""Integers in a `Literal`; Python refuses to read one of more than 4,300 digits."""

Members: TypeAlias = tuple[str, ...]
"""The members of a union, in order and without duplicates; a quoted one is a name that is declared further down."""

_ANY: Final[Members] = ("Any",)
_OPEN: Final = "dict[str, Any]"
_SCALARS: Final[Mapping[str, str]] = {
    "string": "str",
    "integer": "int",
    "number": "float",
    "boolean": "bool",
    "null": "None",
}


class Names:
    """Names of types, each given once."""

    def __init__(self, taken: Iterable[str]) -> None:
        self._taken = {*taken, *_TYPE_WORDS, *keyword.kwlist}
        self._types = set[str]()
        self._numbers: dict[str, int] = {}

    def take(self, wanted: str) -> str:
        """Return the wanted name, with a number behind it if it is taken."""
        name, number = wanted, self._numbers.get(wanted, 1)
        while name in self._taken:
            number += 1
            name = f"{wanted}_{number}"
        self._numbers[wanted] = number
        self._taken.add(name)
        self._types.add(name)
        return name

    def hides(self, key: str) -> bool:
        """Tell whether a key of that name would hide a type from the other keys of its class."""
        return key in _TYPE_WORDS or key in self._types


@dataclass(frozen=True, slots=True, kw_only=True)
class _Place:
    """Where a schema stands: what an object there is called, and which reference led straight to it."""

    name: str
    depth: int = 0
    ref: str | None = None
    is_name_taken: bool = False

    def inside(self, name: str) -> "_Place":
        return _Place(name=name, depth=self.depth + 1)

    def part(self, suffix: str) -> "_Place":
        return self.inside(f"{self.name}{suffix}" if self.is_name_taken else self.name)


@dataclass(frozen=True, slots=True)
class _Field:
    key: str
    type: str
    note: str

    def line(self, name: str, separator: str) -> str:
        note = f"  # {self.note}" if self.note else ""
        return f"{name}: {self.type}{separator}{note}"


def declare(schema: JsonValue, *, name: str, prefix: str, names: Names) -> list[str]:
    """Return the declarations that give a type to a schema, the types it is made of first.

    Args:
        schema: A JSON Schema with everything it refers to.
        name: What the last declaration declares; taken already.
        prefix: Begins the names of all others.
        names: The names that are taken.
    """
    return _Declarations(schema, prefix, names).of_root(name)


class _Declarations:
    def __init__(self, root: JsonValue, prefix: str, names: Names) -> None:
        self._root = root
        self._prefix = prefix
        self._names = names
        self._nodes = 0
        self._blocks: list[str] = []
        # What each reference stands for; while its target is being looked at: itself by name, or anything.
        self._refs: dict[str, Members] = {}

    def of_root(self, name: str) -> list[str]:
        self._refs["#"] = _ANY
        type_ = _union(self._members(self._root, _Place(name=name, ref="#", is_name_taken=True)))
        if type_ != name:
            self._blocks.append(f"{name}: TypeAlias = {type_}")
        return self._blocks

    def _members(self, schema: JsonValue, place: _Place) -> Members:
        self._nodes += 1
        if not isinstance(schema, dict) or self._nodes > NODES_MAX or place.depth > DEPTH_MAX:
            return _ANY
        ref = reference(schema)
        members = self._shape(schema, place) if ref is None else self._referred(ref, place)
        return _ANY if "Any" in members or len(_union(members)) > EXPRESSION_CHARS_MAX else members

    def _referred(self, ref: str, place: _Place) -> Members:
        if ref not in self._refs:
            self._refs[ref] = _ANY
            name = self._prefix + pascal(ref.rpartition("/")[2])
            target = resolve(self._root, ref)
            self._refs[ref] = self._members(target, replace(place.inside(name), ref=ref))
        return self._refs[ref]

    def _shape(self, schema: JsonObject, place: _Place) -> Members:
        shape = fold(schema, self._root)
        if "const" in shape:
            return _literals([shape["const"]])
        values = shape.get("enum")
        if isinstance(values, list):
            return _literals(values)
        alternatives = _alternatives(shape)
        if alternatives:
            option = place.part("Option")
            return _unique(member for schema in alternatives for member in self._members(schema, option))
        types = types_of(shape)
        if len(types) > 1:
            place = place.part("Option")
        return _unique(member for type_ in types for member in self._typed(type_, shape, place))

    def _typed(self, type_: str, shape: JsonObject, place: _Place) -> Members:
        match type_:
            case "object":
                return self._object(shape, place)
            case "array":
                return (f"list[{_union(self._items(shape, place))}]",)
            case _:
                return (_SCALARS.get(type_, "Any"),)

    def _items(self, shape: JsonObject, place: _Place) -> Members:
        # A JSON array arrives as a list even where its schema gives each position a type of its own.
        items, first = shape.get("items"), shape.get("prefixItems")
        schemas = [*(first if isinstance(first, list) else ()), *(items if isinstance(items, list) else ())]
        if isinstance(items, dict) or not schemas:
            schemas.append(items)
        item = place.part("Item")
        return _unique(member for schema in schemas for member in self._members(schema, item))

    def _object(self, shape: JsonObject, place: _Place) -> Members:
        schemas, needed = _keys(shape)
        further, patterns = shape.get("additionalProperties"), shape.get("patternProperties")
        is_open = bool(patterns) or further is True or isinstance(further, dict)
        if not schemas and (is_open or not (isinstance(shape.get("properties"), dict) or further is False)):
            return (_OPEN if patterns else self._mapping(further, place),)
        # Type checkers refuse an empty key.
        if len(schemas) > FIELDS_MAX or any(not 0 < len(key) <= KEY_CHARS_MAX for key in schemas):
            return (_OPEN,)
        name = place.name
        if is_open or not place.is_name_taken:
            name = self._names.take(f"{name}Keys" if is_open else name)
        rest = (_OPEN,) if is_open else ()
        if place.ref is not None:
            self._refs[place.ref] = (repr(name), *rest)
        fields = [self._field(key, schema, place, is_needed=key in needed) for key, schema in schemas.items()]
        self._blocks.append(self._typed_dict(name, fields))
        return (name, *rest)

    def _mapping(self, values: JsonValue, place: _Place) -> str:
        return f"dict[str, {_union(self._members(values, place.part('Value')))}]"

    def _field(self, key: str, schema: JsonValue, place: _Place, *, is_needed: bool) -> _Field:
        type_ = _union(self._members(schema, place.inside(self._prefix + pascal(key))))
        return _Field(key, type_ if is_needed else f"NotRequired[{type_}]", self._note(schema))

    def _note(self, schema: JsonValue) -> str:
        described = [schema]
        if isinstance(schema, dict) and (ref := reference(schema)) is not None:
            described.append(resolve(self._root, ref))
        texts = (node.get("description") for node in described if isinstance(node, dict))
        return next((comment(text) for text in texts if isinstance(text, str)), "")

    def _typed_dict(self, name: str, fields: Sequence[_Field]) -> str:
        if all(is_plain(field.key) and not self._names.hides(field.key) for field in fields):
            body = [field.line(field.key, "") for field in fields] or ["pass"]
            return "\n    ".join([f"class {name}(TypedDict):", *body])
        body = [f"        {field.line(repr(field.key), ',')}" for field in fields]
        return "\n".join([f"{name} = TypedDict(", f"    {name!r},", "    {", *body, "    },", ")"])


def _union(members: Members) -> str:
    # A quoted name cannot stand beside `|`.
    if len(members) > 1 and any(member.startswith("'") for member in members):
        return f"Union[{', '.join(members)}]"
    return " | ".join(members)


def _unique(members: Iterable[str]) -> Members:
    return tuple(dict.fromkeys(members)) or _ANY


def _literals(values: Sequence[JsonValue]) -> Members:
    if values and len(values) <= LITERALS_MAX and all(map(_can_be_literal, values)):
        return (f"Literal[{', '.join(dict.fromkeys(map(repr, values)))}]",)
    return _unique(map(_type_of, values))


def _can_be_literal(value: JsonValue) -> bool:
    if isinstance(value, int):
        return value.bit_length() < INTEGER_BITS_MAX
    return value is None or isinstance(value, str)


def _type_of(value: JsonValue) -> str:
    match value:
        case None:
            return "None"
        case dict():
            return _OPEN
        case list():
            return "list[Any]"
        case _:
            return type(value).__name__


def _keys(shape: JsonObject) -> tuple[JsonObject, set[str]]:
    """Return the schemas of the keys that an object may have, and which of the keys it must have."""
    properties, required = shape.get("properties"), shape.get("required")
    # One more than a type may have is enough to see that they are too many.
    declared = properties.items() if isinstance(properties, dict) else ()
    schemas = dict(islice((item for item in declared if item[1] is not False), FIELDS_MAX + 1))
    names = islice(required, FIELDS_MAX + 1) if isinstance(required, list) else ()
    needed = {key for key in names if isinstance(key, str)}
    return schemas | dict.fromkeys(sorted(needed - schemas.keys()), True), needed


def _alternatives(shape: JsonObject) -> list[JsonValue]:
    """Return one schema for each alternative; none if there are none, or none that changes the type."""
    rest = {key: value for key, value in shape.items() if key not in {"anyOf", "oneOf"}}
    for key in ("anyOf", "oneOf"):
        branches = shape.get(key)
        # Which of its keys must stand together is more than a type can say without repeating all of them.
        if isinstance(branches, list) and ("properties" not in rest or any(map(_names_keys, branches))):
            return [_within(rest, branch) for branch in branches] if len(branches) <= ALTERNATIVES_MAX else [True]
    return []


def _names_keys(branch: JsonValue) -> bool:
    return isinstance(branch, dict) and not branch.keys().isdisjoint({"$ref", "properties", "allOf", "anyOf", "oneOf"})


def _within(shape: JsonObject, branch: JsonValue) -> JsonValue:
    """Return a schema for what matches both; a reference keeps its name where the rest adds nothing to it."""
    if not shape or (shape.keys() == {"type"} and isinstance(branch, dict) and reference(branch) is not None):
        return branch
    return {"allOf": [shape, branch]}
