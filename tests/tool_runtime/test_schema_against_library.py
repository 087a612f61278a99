"""Our reading of JSON Schema beside that of the plain library, which enforces everything and counts nothing."""

from typing import Any

import jsonschema_rs
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from pydantic import JsonValue

from tool_runtime.checks import checker_for
from tool_runtime.payload import JsonObject, encode
from tool_runtime.problems import MismatchError

DRAFT = "https://json-schema.org/draft/2020-12/schema"
LINEAR = ("^a", "b$", "[0-9]", "^$")
LOOKING_AROUND = ("^(?!a)", "^(?=b)", r"^(?!\s*$).+", "(?<=a)b")
TYPES = ("string", "integer", "number", "object", "array", "null", "boolean")
NAMES = st.sampled_from("abcd")

# What takes a schema, a list of schemas, and schemas by name.
ONE = ("items", "additionalProperties", "not", "contains", "propertyNames", "unevaluatedProperties", "unevaluatedItems")
SOME = ("anyOf", "oneOf", "allOf", "prefixItems")
NAMED = ("properties", "dependentSchemas", "patternProperties")

SCALARS = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(-3, 8),
    st.sampled_from(["", "a", "b", "ab", "x1", " ", "日"]),
    st.sampled_from([0.5, 1.0, 2e10]),
)
VALUES = st.recursive(
    SCALARS,
    lambda inner: st.one_of(st.lists(inner, max_size=3), st.dictionaries(NAMES, inner, max_size=3)),
    max_leaves=8,
)
LIMITS: dict[str, st.SearchStrategy[Any]] = {
    "type": st.one_of(st.sampled_from(TYPES), st.just(["string", "null"])),
    "enum": st.lists(VALUES, min_size=1, max_size=3),
    "const": VALUES,
    "minimum": st.integers(-2, 4),
    "exclusiveMaximum": st.integers(0, 4),
    "multipleOf": st.sampled_from([2, 0.5]),
    "maxLength": st.integers(0, 2),
    "minItems": st.integers(0, 2),
    "minContains": st.integers(0, 2),
    "maxContains": st.integers(0, 2),
    "minProperties": st.integers(0, 2),
    "uniqueItems": st.booleans(),
    "required": st.lists(NAMES, max_size=2, unique=True),
    "dependentRequired": st.just({"a": ["b"]}),
}


@st.composite
def schemas(draw: st.DrawFn, patterns: tuple[str, ...], levels: int = 4) -> Any:
    """Draw a schema; what it refers to leads back to it at a deeper level of the value only."""
    if levels < 4 and draw(st.integers(0, 9)) == 0:
        return draw(st.booleans())
    part = schemas(patterns, levels - 1)
    keywords = [*LIMITS, "pattern"] if levels == 1 else [*LIMITS, "pattern", "$ref", "if", *ONE, *SOME, *NAMED, *SOME]
    schema: JsonObject = {}
    for keyword in draw(st.lists(st.sampled_from(keywords), min_size=1, max_size=4)):
        if keyword in LIMITS:
            schema[keyword] = draw(LIMITS[keyword])
        elif keyword == "pattern":
            schema[keyword] = draw(st.sampled_from(patterns))
        elif keyword == "$ref":
            schema[keyword] = draw(st.sampled_from(["#/$defs/x", "#/$defs/y"]))
        elif keyword == "if":
            schema |= {"if": draw(part), "then": draw(part), "else": draw(part)}
        elif keyword in ONE:
            schema[keyword] = draw(part)
        elif keyword in SOME:
            schema[keyword] = [draw(part), draw(part)]
        else:
            names = st.sampled_from(patterns) if keyword == "patternProperties" else NAMES
            schema[keyword] = draw(st.dictionaries(names, part, min_size=1, max_size=2))
    return schema


@st.composite
def documents(draw: st.DrawFn, patterns: tuple[str, ...]) -> JsonObject:
    deeper: dict[str, Any] = {"items": {"$ref": "#/$defs/x"}, "properties": {"a": {"$ref": "#"}}}
    tree: JsonObject = {
        "type": draw(LIMITS["type"]),
        **{key: deeper[key] for key in draw(st.sets(st.sampled_from(sorted(deeper))))},
    }
    return {"$schema": DRAFT, **draw(schemas(patterns)), "$defs": {"x": tree, "y": draw(schemas(patterns, 1))}}


def is_accepted(schema: JsonObject, value: JsonValue) -> bool:
    try:
        checker_for(schema).parse(encode(value))
    except MismatchError as error:
        text = str(error)
    else:
        return True
    assert 0 < len(text) < 4_100
    return False


def is_right(schema: JsonObject, value: JsonValue) -> bool:
    options = jsonschema_rs.FancyRegexOptions()
    return jsonschema_rs.validator_for(schema, pattern_options=options).is_valid(value)


def is_enforced(schema: JsonObject) -> bool:
    text = encode(schema)
    unevaluated, references = text.count(b'"unevaluated'), text.count(b'"$ref"')
    return unevaluated <= 4 and (not unevaluated or references <= 16)


@settings(suppress_health_check=[HealthCheck.too_slow])
@given(documents(LINEAR), st.lists(VALUES, min_size=4, max_size=4))
def test_a_schema_that_is_enforced_whole_accepts_what_the_library_does(
    schema: JsonObject, values: list[JsonValue]
) -> None:
    for value in values:
        accepted, right = is_accepted(schema, value), is_right(schema, value)
        assert accepted or not right
        assert right or not accepted or not is_enforced(schema)


@settings(suppress_health_check=[HealthCheck.too_slow])
@given(documents((*LINEAR[:2], *LOOKING_AROUND)), st.lists(VALUES, min_size=4, max_size=4))
def test_patterns_that_are_not_enforced_never_refuse_what_the_library_accepts(
    schema: JsonObject, values: list[JsonValue]
) -> None:
    for value in values:
        assert is_accepted(schema, value) or not is_right(schema, value)


TEXTS = st.sampled_from(["", " ", "a", "b", "ab"])
TEXT_SCHEMAS: st.SearchStrategy[Any] = st.sampled_from([True, False, *({"pattern": each} for each in LOOKING_AROUND)])
# What evaluates keys or items, and values that have some.
EVALUATING: dict[str, dict[str, st.SearchStrategy[Any]]] = {
    "unevaluatedProperties": {
        "properties": st.dictionaries(NAMES, TEXT_SCHEMAS, min_size=1, max_size=2),
        "required": LIMITS["required"],
        "patternProperties": st.dictionaries(st.sampled_from(LOOKING_AROUND), TEXT_SCHEMAS, max_size=1),
        "additionalProperties": TEXT_SCHEMAS,
    },
    "unevaluatedItems": {
        "prefixItems": st.lists(TEXT_SCHEMAS, min_size=1, max_size=2),
        "items": TEXT_SCHEMAS,
        "contains": TEXT_SCHEMAS,
        "maxContains": LIMITS["maxContains"],
    },
}
EVALUATED: dict[str, st.SearchStrategy[Any]] = {
    "unevaluatedProperties": st.dictionaries(NAMES, TEXTS, min_size=1, max_size=2),
    "unevaluatedItems": st.lists(TEXTS, min_size=1, max_size=3),
}


def combined(parts: st.SearchStrategy[Any]) -> dict[str, st.SearchStrategy[Any]]:
    lists = {keyword: st.lists(parts, min_size=1, max_size=2) for keyword in ("oneOf", "anyOf", "allOf")}
    return {**lists, **dict.fromkeys(("if", "then", "not"), parts)}


def some_of(keywords: dict[str, st.SearchStrategy[Any]]) -> st.SearchStrategy[dict[str, Any]]:
    return st.sets(st.sampled_from(sorted(keywords)), min_size=1, max_size=2).flatmap(
        lambda names: st.fixed_dictionaries({name: keywords[name] for name in sorted(names)})
    )


@pytest.mark.parametrize("unevaluated", EVALUATING)
@settings(suppress_health_check=[HealthCheck.too_slow])
@given(st.data())
def test_a_keyword_that_is_not_enforced_takes_along_what_counts_on_it(unevaluated: str, data: st.DataObject) -> None:
    leaves = some_of(EVALUATING[unevaluated])
    inner = some_of({**EVALUATING[unevaluated], **combined(leaves), unevaluated: TEXT_SCHEMAS})
    schema: JsonObject = {"$schema": DRAFT, **data.draw(some_of(combined(inner))), unevaluated: False}
    for value in data.draw(st.lists(EVALUATED[unevaluated], min_size=6, max_size=6)):
        assert is_accepted(schema, value) or not is_right(schema, value)
