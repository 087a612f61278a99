"""Schemas by the dice, and values that most likely match them."""

import random
from collections.abc import Callable
from typing import Any, Final

from tool_runtime import JsonObject

DEPTH_MAX: Final = 8
KEYS: Final = ("a", "b", "items", "keys", "get", "class", "a-b", "str", "self", "Args", "", "值")
SIMPLE: Final[list[Any]] = [
    *({"type": type_} for type_ in ("string", "integer", "number", "boolean", "null", "object")),
    {"enum": ["a", 1, None, False]},
    {"const": "x"},
    True,
    *({"$ref": ref, "description": "elsewhere"} for ref in ("#", "#/$defs/one", "#/$defs/two")),
]


def random_document(dice: random.Random) -> JsonObject:
    """Return a schema with the definitions that it refers to."""
    defs: JsonObject = {"one": random_schema(dice, 2), "two": random_schema(dice, 2)}
    return {**random_schema(dice, 3), "$defs": defs}


def random_schema(dice: random.Random, depth: int) -> Any:
    """Return a schema that means something, half the time one of an object with keys."""

    def inner() -> Any:
        return random_schema(dice, depth - 1)

    def object_with_keys() -> JsonObject:
        keys = dice.sample(KEYS, dice.randint(0, 4))
        further: list[JsonObject] = [{}, {}, {"additionalProperties": False}, {"additionalProperties": inner()}]
        type_: Any = dice.choice(["object", "object", ["object", "null"]])
        required: Any = keys[:2]
        return {
            "type": type_,
            "properties": {key: inner() for key in keys},
            "required": required,
            **dice.choice(further),
        }

    makers: list[Callable[[], Any]] = [
        *[object_with_keys] * 4,
        lambda: {"type": "array", "items": inner()},
        lambda: {"type": "array", "prefixItems": [inner(), inner()]},
        lambda: {"type": "object", "additionalProperties": inner()},
        lambda: {dice.choice(["anyOf", "oneOf", "allOf"]): [inner() for _ in range(dice.randint(1, 3))]},
    ]
    return dice.choice(makers)() if depth > 0 else dice.choice(SIMPLE)


def random_value(dice: random.Random, schema: Any, document: Any, depth: int = 0) -> Any:
    """Return a value that matches a schema of `random_schema`, unless its parts contradict each other."""

    def of(part: Any) -> Any:
        return random_value(dice, part, document, depth + 1)

    if depth > DEPTH_MAX:
        return None
    value: Any = dice.choice([1, "x", None, ["y"]])
    match schema:
        case {"$ref": str(ref)}:
            value = of(document if ref == "#" else document["$defs"][ref.removeprefix("#/$defs/")])
        case {"anyOf": branches} | {"oneOf": branches} | {"allOf": branches}:
            value = of(dice.choice(branches))
        case {"const": only} | {"enum": [*_, only]}:
            value = only
        case {"type": [*types]}:
            value = of({**schema, "type": dice.choice(types)})
        case {"type": "array", "prefixItems": [*parts]}:
            value = [of(part) for part in parts]
        case {"type": "array", "items": items}:
            value = [of(items) for _ in range(dice.randint(0, 2))]
        case {"type": "object", "properties": {**properties}, "required": required}:
            value = {key: of(part) for key, part in properties.items() if key in required or dice.random() < 0.5}
        case {"type": "object"}:
            value = {"more": of(schema.get("additionalProperties"))}
        case {"type": type_}:
            value = {"string": "x", "integer": 7, "number": 1.5, "boolean": True}.get(type_)
        case _:
            pass
    return value
