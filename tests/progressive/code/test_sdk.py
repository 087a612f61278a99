"""Which Python type stands for which JSON Schema."""

import ast
from typing import Any

import pytest

from progressive.code.sdk import stubs
from tests.progressive.code.stub_tools import declared, tool
from tool_runtime import JsonObject

ANYTHING: JsonObject = {}


def result_type(schema: Any) -> str:
    """Return the type that a schema has where it is the output of a tool, as the text that follows the alias."""
    lines = [line for line in stubs([tool(output=schema)]).splitlines() if line.startswith("ProbeResult: TypeAlias = ")]
    return lines[0].removeprefix("ProbeResult: TypeAlias = ")


@pytest.mark.parametrize(
    ("schema", "expected"),
    [
        pytest.param({"type": "string", "format": "date"}, "str", id="string-format-ignored"),
        pytest.param({"type": "integer", "minimum": 3}, "int", id="integer"),
        pytest.param({"type": "number"}, "float", id="number"),
        pytest.param({"type": "boolean"}, "bool", id="boolean"),
        pytest.param({"type": "null"}, "None", id="null"),
        pytest.param({"type": ["string", "null"]}, "str | None", id="type-list"),
        pytest.param({"type": "vector"}, "Any", id="unknown-type"),
        pytest.param({"type": []}, "Any", id="no-type-in-list"),
        pytest.param({}, "Any", id="anything"),
        pytest.param(True, "Any", id="true"),
        pytest.param(False, "Any", id="false"),
        pytest.param({"type": "array"}, "list[Any]", id="array-of-anything"),
        pytest.param({"items": {"type": "integer"}}, "list[int]", id="array-by-items"),
        pytest.param({"type": "array", "items": {"type": ["integer", "null"]}}, "list[int | None]", id="array-union"),
        pytest.param(
            {"type": "array", "prefixItems": [{"type": "string"}, {"type": "integer"}], "items": False},
            "list[str | int]",
            id="tuple",
        ),
        pytest.param(
            {"type": "array", "items": [{"type": "string"}, {"type": "integer"}]},
            "list[str | int]",
            id="draft-07-tuple",
        ),
        pytest.param(
            {"type": "array", "prefixItems": [{"type": "string"}], "items": {"type": "null"}},
            "list[str | None]",
            id="tuple-and-rest",
        ),
        pytest.param({"type": "object"}, "dict[str, Any]", id="object-of-anything"),
        pytest.param({"additionalProperties": {"type": "integer"}}, "dict[str, int]", id="mapping"),
        pytest.param(
            {"type": "object", "properties": {}, "additionalProperties": True}, "dict[str, Any]", id="open-without-keys"
        ),
        pytest.param({"patternProperties": {"^x": {"type": "string"}}}, "dict[str, Any]", id="pattern-properties"),
        pytest.param({"enum": ["a", 1, True, None]}, "Literal['a', 1, True, None]", id="enum"),
        pytest.param({"enum": [1, True, 1]}, "Literal[1, True]", id="enum-duplicates"),
        pytest.param({"enum": []}, "Any", id="empty-enum"),
        pytest.param({"enum": [1.5, "a"]}, "float | str", id="enum-that-literal-cannot-hold"),
        pytest.param({"enum": [ANYTHING, ["a"]]}, "dict[str, Any] | list[Any]", id="enum-of-containers"),
        pytest.param({"enum": [10**5000]}, "int", id="enum-of-an-integer-too-long-to-read"),
        pytest.param({"const": "x"}, "Literal['x']", id="const"),
        pytest.param({"const": None}, "Literal[None]", id="const-null"),
        pytest.param({"const": 2.5}, "float", id="const-float"),
        pytest.param({"anyOf": [{"type": "string"}, {"type": "null"}]}, "str | None", id="any-of"),
        pytest.param({"oneOf": [{"const": "a"}, {"const": "b"}]}, "Literal['a'] | Literal['b']", id="one-of"),
        pytest.param({"anyOf": [{"type": "string"}, {"type": "string"}]}, "str", id="any-of-duplicates"),
        pytest.param({"anyOf": [{"type": "string"}, {}]}, "Any", id="any-of-with-anything"),
        pytest.param(
            {"type": "string", "anyOf": [{"minLength": 3}, {"const": "x"}]},
            "str | Literal['x']",
            id="any-of-under-type",
        ),
        pytest.param({"allOf": [{"type": "string"}, {"minLength": 1}]}, "str", id="all-of"),
        pytest.param({"allOf": [{"type": ["integer", "string"]}, {"type": "number"}]}, "int", id="all-of-types-meet"),
        pytest.param({"$ref": "#/$defs/a", "$defs": {"a": {"type": "integer"}}}, "int", id="ref"),
        pytest.param(
            {"$ref": "#/definitions/a~1b%25", "definitions": {"a/b%": {"type": "null"}}}, "None", id="escapes"
        ),
        pytest.param({"$ref": "#/$defs/a", "$defs": {"a": {"$ref": "#/$defs/a"}}}, "Any", id="ref-to-itself"),
        pytest.param({"$ref": "#"}, "Any", id="ref-root-to-itself"),
        pytest.param({"allOf": [{"$ref": "#"}, {"type": "string"}]}, "str", id="all-of-with-itself"),
        pytest.param({"$ref": "#/$defs/gone"}, "Any", id="ref-to-nothing"),
        pytest.param({"$ref": "https://example.org/schema.json"}, "Any", id="remote-ref"),
        pytest.param({"$ref": "#anchor"}, "Any", id="anchor"),
        pytest.param({"$ref": "#/anyOf/9", "anyOf": [{"type": "null"}]}, "None", id="ref-past-a-list"),
        pytest.param({"$ref": 7, "type": 7, "enum": 7, "anyOf": 7, "allOf": 7}, "Any", id="keywords-of-wrong-types"),
        pytest.param(
            {"type": "object", "properties": 7, "required": 7, "items": 7}, "dict[str, Any]", id="object-wrong-types"
        ),
    ],
)
def test_schema_without_named_keys_has_type(schema: Any, expected: str) -> None:
    assert result_type(schema) == expected


def test_object_has_required_and_optional_keys_with_their_descriptions() -> None:
    parameters: JsonObject = {
        "type": "object",
        "properties": {
            "city": {"type": "string", "description": "City to\n  look up"},
            "days": {"type": "integer", "default": 3},
            "never": False,
        },
        "required": ["city", "undeclared"],
    }
    assert stubs([tool("fetch_weather", parameters=parameters)]) == (
        "class FetchWeatherArgs(TypedDict):\n"
        "    city: str  # City to look up\n"
        "    days: NotRequired[int]\n"
        "    undeclared: Any\n"
        "\n"
        "FetchWeatherResult: TypeAlias = str\n"
        "\n"
        "class Tools:\n"
        "    async def fetch_weather(self, args: FetchWeatherArgs, /) -> FetchWeatherResult:\n"
        '        """Probes."""\n'
    )


@pytest.mark.parametrize(
    "key", ["a-b", "class", "__x", "_x", "ﬁle", "1st", "str", "NotRequired", "ProbeArgs", "a b", "\u202e"]
)
def test_object_with_a_key_that_is_no_attribute_is_written_in_functional_form(key: str) -> None:
    text = stubs(
        [tool(parameters={"type": "object", "properties": {key: {"type": "string"}, "b": {"type": "integer"}}})]
    )
    assigned = next(node for node in ast.parse(text).body if isinstance(node, ast.Assign))
    assert isinstance(assigned.value, ast.Call)
    name, fields = assigned.value.args
    assert ast.literal_eval(name) == "ProbeArgs"
    assert isinstance(fields, ast.Dict)
    assert [ast.literal_eval(field) for field in fields.keys if field is not None] == [key, "b"]


def test_object_with_an_empty_key_is_a_plain_dictionary() -> None:
    assert result_type({"type": "object", "properties": {"": {"type": "string"}}}) == "dict[str, Any]"


def test_object_that_explicitly_admits_further_keys_is_also_a_dictionary() -> None:
    schema = {"type": "object", "properties": {"a": {"type": "string"}}, "additionalProperties": {"type": "integer"}}
    text = stubs([tool(output=schema)])
    assert "class ProbeResultKeys(TypedDict):\n    a: NotRequired[str]\n" in text
    assert "ProbeResult: TypeAlias = ProbeResultKeys | dict[str, Any]\n" in text


def test_recursive_object_refers_to_itself_by_quoted_name() -> None:
    schema = {
        "$ref": "#/$defs/tree_node",
        "$defs": {
            "tree_node": {
                "type": "object",
                "properties": {
                    "parent": {"anyOf": [{"$ref": "#/$defs/tree_node"}, {"type": "null"}]},
                    "children": {"type": "array", "items": {"$ref": "#/$defs/tree_node"}},
                },
            }
        },
    }
    text = stubs([tool(output=schema)])
    assert "    parent: NotRequired[Union['ProbeTreeNode', None]]\n" in text
    assert "    children: NotRequired[list['ProbeTreeNode']]\n" in text
    assert "ProbeResult: TypeAlias = ProbeTreeNode\n" in text


def test_recursion_through_the_root_uses_the_name_of_the_root() -> None:
    schema = {"type": "object", "properties": {"next": {"$ref": "#"}}}
    assert "class ProbeResult(TypedDict):\n    next: NotRequired['ProbeResult']\n" in stubs([tool(output=schema)])


def test_recursion_through_a_type_that_has_no_name_allows_anything() -> None:
    schema = {
        "$ref": "#/$defs/json",
        "$defs": {"json": {"anyOf": [{"type": "string"}, {"items": {"$ref": "#/$defs/json"}}]}},
    }
    assert result_type(schema) == "str | list[Any]"


def test_referred_object_is_declared_once_and_described_where_it_is_used() -> None:
    point: JsonObject = {"type": "object", "properties": {"x": {"type": "number"}}, "description": "A place."}
    use: JsonObject = {"$ref": "#/$defs/Point"}
    parameters: JsonObject = {
        "type": "object",
        "properties": {"from": use, "to": {"allOf": [use], "description": "Where to."}, "via": {"items": use}},
        "$defs": {"Point": point},
    }
    text = stubs([tool(parameters=parameters)])
    assert text.count("class ProbePoint(TypedDict)") == 1
    assert "'from': NotRequired[ProbePoint],  # A place.\n" in text
    assert "'to': NotRequired[ProbePoint],  # Where to.\n" in text
    assert "'via': NotRequired[list[ProbePoint]],\n" in text


def test_all_of_objects_is_one_object_with_the_keys_of_all() -> None:
    schema = {
        "allOf": [
            {"type": "object", "properties": {"a": {"type": ["integer", "null"]}}, "required": ["a"]},
            {"$ref": "#/$defs/more"},
        ],
        "$defs": {"more": {"properties": {"a": {"type": "number"}, "b": {"type": "string"}}, "required": ["b"]}},
    }
    assert "class ProbeResult(TypedDict):\n    a: int\n    b: str\n" in stubs([tool(output=schema)])


def test_union_of_objects_has_a_type_for_each() -> None:
    kinds = [{"type": "object", "properties": {"kind": {"const": kind}}, "required": ["kind"]} for kind in "ab"]
    text = stubs([tool(output={"anyOf": kinds})])
    assert "class ProbeResultOption(TypedDict):\n    kind: Literal['a']\n" in text
    assert "class ProbeResultOption_2(TypedDict):\n    kind: Literal['b']\n" in text
    assert "ProbeResult: TypeAlias = ProbeResultOption | ProbeResultOption_2\n" in text


def test_alternatives_with_keys_of_their_own_have_the_common_keys_too() -> None:
    schema = {
        "type": "object",
        "properties": {"id": {"type": "integer"}},
        "oneOf": [{"properties": {"a": {"type": "string"}}}, {"properties": {"b": {"type": "string"}}}],
    }
    text = stubs([tool(output=schema)])
    assert "class ProbeResultOption(TypedDict):\n    id: NotRequired[int]\n    a: NotRequired[str]\n" in text
    assert "class ProbeResultOption_2(TypedDict):\n    id: NotRequired[int]\n    b: NotRequired[str]\n" in text


def test_alternatives_that_only_require_keys_do_not_repeat_the_object() -> None:
    schema = {
        "type": "object",
        "properties": {"a": {"type": "string"}, "b": {"type": "string"}},
        "anyOf": [{"required": ["a"]}, {"required": ["b"]}],
    }
    assert declared(stubs([tool(output=schema)])) == ["ProbeArgs", "ProbeResult", "Tools"]


def test_object_or_null_at_the_root_keeps_the_alias_apart_from_the_object() -> None:
    text = stubs([tool(output={"type": ["object", "null"], "properties": {"a": {"type": "string"}}})])
    assert "ProbeResult: TypeAlias = ProbeResultOption | None\n" in text


def test_type_of_too_many_levels_ends_in_anything() -> None:
    schema: JsonObject = {"type": "string"}
    for _ in range(30):
        schema = {"type": "array", "items": schema}
    assert result_type(schema) == f"{'list[' * 25}Any{']' * 25}"


def test_enumeration_that_is_too_long_is_its_type() -> None:
    assert result_type({"enum": [str(number) for number in range(64)]}).startswith("Literal['0', ")
    assert result_type({"enum": [str(number) for number in range(65)]}) == "str"
