"""Schemas and values that are made to crash, to hang or to flood; what these are made for would take for ever."""

import functools
from collections.abc import Callable
from typing import Any

import pytest
from pydantic import JsonValue

from tool_runtime import _schema_compiler
from tool_runtime.arguments import check_arguments
from tool_runtime.checks import checker_for
from tool_runtime.payload import JsonObject, encode
from tool_runtime.problems import MismatchError, Problem

pytestmark = pytest.mark.timeout(60)

ITSELF: JsonObject = {"$ref": "#"}
NOT_BLANK: JsonObject = {"properties": {"a": {"pattern": r"^(?!\s*$).+"}}, "required": ["a"]}


def problems(schema: JsonObject, value: JsonValue) -> tuple[Problem, ...]:
    with pytest.raises(MismatchError) as caught:
        checker_for(schema).parse(encode(value))
    assert len(str(caught.value)) < 4_100
    return caught.value.problems


def messages(schema: JsonObject, value: JsonValue) -> list[str]:
    return [str(problem) for problem in problems(schema, value)]


def accepts(schema: JsonObject, value: JsonValue) -> bool:
    try:
        return checker_for(schema).parse(encode(value)) == value
    except MismatchError:
        return False


def nested(levels: int, leaf: JsonValue, wrap: Callable[[JsonValue], JsonValue] = lambda inner: [inner]) -> JsonValue:
    return functools.reduce(lambda inner, _: wrap(inner), range(levels), leaf)


def chain(length: int, link: Callable[[JsonObject], JsonObject], end: JsonObject) -> JsonObject:
    """Return definitions each of which refers to the next one."""
    links: JsonObject = {f"d{n}": link({"$ref": f"#/$defs/d{n + 1}"}) for n in range(length)}
    return {"$ref": "#/$defs/d0", "$defs": {**links, f"d{length}": end}}


def test_a_catastrophic_pattern_is_matched_in_linear_time() -> None:
    assert messages({"pattern": "(a+)+$"}, "a" * 1_000_000 + "b") == [
        'must match pattern "(a+)+$", got a string of 1000001 characters'
    ]


@pytest.mark.parametrize("pattern", [r"^(a+)+\1$", r"^(?:(?:(?:(?:\b(?=a)a{0}){999}){999}){999}){999}b", "^(?!a)"])
def test_a_pattern_that_needs_backtracking_is_not_enforced(pattern: str) -> None:
    assert accepts({"type": "string", "pattern": pattern}, "a" * 100_000 + "b")
    assert messages({"type": "string", "pattern": pattern}, 1) == ["must be of type string, got 1"]


@pytest.mark.parametrize(
    ("schema", "value"),
    [
        ({"not": {"pattern": "^(?=a)"}}, "b"),
        ({"oneOf": [{"pattern": "^(?=a)"}, {"type": "string"}]}, "b"),
        ({"if": {"pattern": "^(?=a)"}, "then": False}, "b"),
        ({"contains": {"pattern": "^(?=a)"}, "maxContains": 1}, ["a", "b"]),
        ({"patternProperties": {"^(?=a)": {}}, "additionalProperties": False}, {"a": 1}),
        ({"not": {"$ref": "#/$defs/a"}, "$defs": {"a": {"pattern": "^(?=a)"}}}, "b"),
        ({"oneOf": [NOT_BLANK, {"required": ["b"]}], "unevaluatedProperties": False}, {"a": "x"}),
        ({"if": NOT_BLANK, "then": {"properties": {"b": {}}}, "unevaluatedProperties": False}, {"a": "x", "b": 1}),
        ({"allOf": [{"patternProperties": {"^(?=a)": True}}], "unevaluatedProperties": False}, {"a": 1}),
        ({"allOf": [{"oneOf": [{"items": {"pattern": "^(?=a)"}}]}], "unevaluatedItems": False}, ["a"]),
    ],
)
def test_what_is_not_enforced_never_refuses_a_right_value(schema: JsonObject, value: JsonValue) -> None:
    assert accepts(schema, value)


def test_a_property_with_the_name_of_a_keyword_stays_known_beside_an_unenforced_pattern() -> None:
    schema: JsonObject = {"properties": {"not": {"pattern": "(?=a)"}, "b": {}}, "additionalProperties": False}
    assert messages(schema, {"not": "b", "c": 1}) == ["c: unknown key, known: not, b"]


def test_a_pattern_that_no_engine_knows_makes_the_schema_invalid() -> None:
    with pytest.raises(ValueError, match="not a valid JSON Schema") as caught:
        checker_for({"pattern": "(" * 100_000})
    assert len(str(caught.value)) < 400


@pytest.mark.parametrize("uri", ["http://127.0.0.1:9/schema.json", "file:///etc/hostname", "other.json"])
def test_a_reference_to_elsewhere_is_refused_and_not_fetched(uri: str) -> None:
    with pytest.raises(ValueError, match=r"not a valid JSON Schema: .*\bnot\b"):
        checker_for({"properties": {"a": {"$ref": uri}}})


@pytest.mark.parametrize(
    "schema",
    [
        ITSELF,
        {"allOf": [ITSELF, ITSELF]},
        {"anyOf": [ITSELF, ITSELF]},
        {"$ref": "#/$defs/a", "$defs": {"a": {"$ref": "#/$defs/b"}, "b": {"$ref": "#/$defs/a"}}},
        {"$dynamicAnchor": "x", "$dynamicRef": "#x"},
    ],
)
def test_a_reference_to_itself_ends(schema: JsonObject) -> None:
    assert messages({**schema, "type": "string"}, {"a": 1}) == ["must be of type string, got an object"]


def test_a_recursive_schema_tells_the_exact_places() -> None:
    node: JsonObject = {
        "properties": {"value": {"type": "integer"}, "kids": {"items": {"$ref": "#/$defs/node"}}},
        "required": ["value"],
        "additionalProperties": False,
    }
    schema: JsonObject = {"$ref": "#/$defs/node", "$defs": {"node": node}}
    assert messages(schema, {"value": 1, "kids": [{"value": "x", "kids": [{"colour": 1}]}]}) == [
        'kids[0].value: must be of type integer, got "x"',
        "kids[0].kids[0].value: is required",
        "kids[0].kids[0].colour: unknown key, known: value, kids",
    ]


def test_an_optional_object_tells_what_is_wrong_inside_and_mends_integers() -> None:
    inner: JsonObject = {"type": "object", "properties": {"n": {"type": "integer"}}, "required": ["n"]}
    schema: JsonObject = {
        "properties": {"a": {"anyOf": [{"$ref": "#/$defs/i"}, {"type": "null"}]}},
        "$defs": {"i": inner},
    }
    assert messages(schema, {"a": {}}) == ["a.n: is required"]
    value, _payload = check_arguments(checker_for(schema), b'{"a":{"n":"3"}}')
    assert value == {"a": {"n": 3}}


@pytest.mark.parametrize("keyword", ["allOf", "anyOf", "oneOf"])
def test_references_that_double_at_every_step_end(keyword: str) -> None:
    schema = chain(60, lambda ref: {keyword: [ref, ref]}, {"type": "string"})
    told = messages(schema, 1)[0]
    assert told in {"takes too many steps to check against its schema", "must be of type string, got 1"}


def test_references_that_double_at_every_level_of_the_value_end() -> None:
    schema: JsonObject = {"allOf": [{"items": ITSELF}, {"items": ITSELF}], "type": ["array", "integer"]}
    assert len(problems(schema, nested(150, "x"))) == 1


@pytest.mark.parametrize("combine", ["allOf", "anyOf", "oneOf"])
def test_a_long_chain_of_references_under_a_deep_value_does_not_exhaust_the_stack(combine: str) -> None:
    schema = chain(2_000, lambda ref: {combine: [ref, {"type": "null"}]}, {"items": ITSELF})
    assert messages(schema, nested(190, 1))[0].startswith("nested 190 levels deep, of which its schema lets ")


def test_more_references_than_the_bound_are_refused() -> None:
    with pytest.raises(ValueError, match="at most 5000 references, this has 6001"):
        checker_for(chain(6_000, lambda ref: ref, {}))


def test_nested_unevaluated_items_are_not_enforced() -> None:
    deep = nested(
        12, {"items": {"type": "integer"}}, lambda inner: {"anyOf": [inner, inner], "unevaluatedItems": False}
    )
    assert isinstance(deep, dict)
    assert accepts(deep, [1])


def test_few_unevaluated_properties_are_enforced() -> None:
    schema: JsonObject = {"allOf": [{"properties": {"a": {}}}], "unevaluatedProperties": False}
    assert accepts(schema, {"a": 1})
    assert not accepts(schema, {"b": 1})


def test_a_schema_nested_a_thousand_levels_is_refused() -> None:
    deep = nested(1_000, {}, lambda inner: {"items": inner})
    assert isinstance(deep, dict)
    with pytest.raises(ValueError, match="nested deeper than 200 levels"):
        checker_for(deep)


def test_many_required_names_of_a_large_object_cost_no_copy_of_it_each() -> None:
    found = problems({"required": [f"r{n}" for n in range(2_000)]}, {"a": "x" * 1_000_000})
    assert len(found) == 2_000


def test_ten_thousand_properties_and_as_many_unknown_keys_are_told_within_bounds() -> None:
    schema: JsonObject = {"properties": {f"p{n}": {} for n in range(10_000)}, "additionalProperties": False}
    found = problems(schema, {f"q{n}": n for n in range(10_000)})
    assert len(found) == 10_000
    assert found[0].message.endswith("p49, and 9950 more")


def test_many_unions_of_many_closed_objects_are_told_within_bounds() -> None:
    closed: list[JsonValue] = [
        {"properties": {f"key_number_{n}_{key}": {} for key in range(110)}, "additionalProperties": False}
        for n in range(20)
    ]
    schema: JsonObject = {"properties": {f"p{n}": {"anyOf": closed} for n in range(25)}}
    found = problems(schema, {f"p{n}": {"z": 1} for n in range(25)})
    assert len(found) == 25
    assert sum(len(problem.message) for problem in found) < 150_000
    with pytest.raises(MismatchError, match=r"; and 2[0-9] more$"):
        checker_for(schema).parse(encode({f"p{n}": {"z": 1} for n in range(25)}))


def test_one_long_limit_broken_by_many_items_is_written_once() -> None:
    assert len(problems({"items": {"const": "y" * 1_000_000}}, list[JsonValue](range(20_000)))) == 20_000


@pytest.mark.parametrize("data", ["const", "enum", "default", "examples"])
def test_references_that_double_where_data_stand_end(data: str) -> None:
    place = f"#/$defs/d/{data}" + ("/0" if data in {"enum", "examples"} else "")
    inner: JsonObject = {"items": {"$ref": place}}
    double: JsonObject = {"anyOf": [inner, inner], "type": ["array", "integer"]}
    held: JsonValue = [double] if place.endswith("/0") else double
    assert problems({"$ref": place, "$defs": {"d": {data: held}}}, nested(150, "x"))


@pytest.mark.parametrize(
    ("schema", "value"),
    [
        ({"type": "integer"}, "x" * 1_000_000),
        ({"const": "y" * 1_000_000}, 1),
        ({"enum": [f"v{n}" for n in range(200_000)]}, "x"),
        ({"additionalProperties": False}, {"k" * 1_000_000: 1}),
    ],
)
def test_neither_value_nor_limit_is_quoted_whole(schema: JsonObject, value: JsonValue) -> None:
    assert len(messages(schema, value)[0]) < 400


def test_many_patterns_and_many_keys_are_told_within_bounds() -> None:
    patterns: JsonObject = {f"^p{n}[a-z]+$": {} for n in range(1_000)}
    assert problems({"patternProperties": patterns, "additionalProperties": False}, {f"q{n}": n for n in range(2_000)})


@pytest.mark.parametrize(
    ("payload", "right"),
    [
        (b"12.0", True),
        (b"1e400", False),
        (b"1" + b"0" * 400, True),
        (b"1.5", False),
    ],
)
def test_numbers_at_the_edges_are_integers_or_not(payload: bytes, right: bool) -> None:
    checker = checker_for({"type": "integer"})
    if right:
        assert checker.parse(payload) == float(payload) if len(payload) < 10 else int(payload)
        return
    with pytest.raises(MismatchError, match="must be of type integer"):
        checker.parse(payload)


def test_a_limit_beyond_sixty_four_bits_is_compared_exactly() -> None:
    assert messages({"maximum": 10**30}, 10**30 + 1) == [f"must match maximum {10**30}, got {10**30 + 1}"]


@pytest.mark.parametrize(
    ("dialect", "refused"),
    [
        ("http://json-schema.org/draft-04/schema#", True),
        ("http://json-schema.org/draft-07/schema#", False),
        ("https://json-schema.org/draft/2020-12/schema", False),
        ("https://example.org/unknown", False),
    ],
)
def test_the_named_draft_is_honoured_and_an_unknown_one_read_as_the_newest(dialect: str, refused: bool) -> None:
    # Draft 4 alone does not count 1.0 as an integer.
    assert accepts({"$schema": dialect, "type": "integer"}, 1.0) is not refused


def test_a_draft_that_ignores_what_stands_beside_a_reference_is_explained_so() -> None:
    schema: JsonObject = {
        "$schema": "http://json-schema.org/draft-07/schema#",
        "properties": {"a": {"$ref": "#/definitions/s", "maxLength": 1}},
        "definitions": {"s": {"type": "string", "minLength": 3}},
    }
    assert messages(schema, {"a": "xx"}) == ['a: must match minLength 3, got "xx"']


@pytest.mark.parametrize(
    ("schema", "value", "message"),
    [
        ({"prefixItems": [{"type": "string"}], "items": False}, ["a", 1], "[1]: is not allowed, got 1"),
        (
            {"contains": {"const": 1}, "minContains": 2},
            [1],
            'must match contains {"const": 1}, minContains 2, got an array',
        ),
        ({"contains": {"const": 1}, "minContains": 0, "maxItems": 1}, [2, 3], "must match maxItems 1, got an array"),
        ({"if": {"const": 1}, "then": {"type": "string"}}, 1, "must be of type string, got 1"),
        ({"additionalProperties": {"type": "string"}}, {"a": 1}, "a: must be of type string, got 1"),
        ({"patternProperties": {"^a": {"type": "string"}}}, {"ab": 1}, "ab: must be of type string, got 1"),
        ({"oneOf": [{"type": "integer"}, {"minimum": 0}]}, 1, "does not match its JSON Schema"),
    ],
)
def test_a_mismatch_is_placed_where_one_place_can_be_named(schema: JsonObject, value: JsonValue, message: str) -> None:
    assert messages(schema, value)[0].startswith(message)


def test_a_panic_of_the_library_is_a_mismatch(monkeypatch: pytest.MonkeyPatch) -> None:
    # As pyo3 raises it: no `Exception`, and of no importable module.
    panic = type("PanicException", (BaseException,), {})

    class Panicking:
        def __init__(self, *_args: Any, **_options: Any) -> None: ...

        def is_valid(self, _instance: object) -> bool:
            raise panic("index out of bounds")

    monkeypatch.setattr(_schema_compiler, "validator_for", Panicking)
    with pytest.raises(MismatchError, match="the JSON Schema library failed: index out of bounds"):
        checker_for({"type": "string"}).parse(b'"a"')
