"""A type allows what its schema allows: stubs are run, and their types checked against values that match the schema."""

import random
import sys
from collections.abc import Iterator
from types import ModuleType
from typing import Any

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from jsonschema_rs import is_valid
from pydantic import TypeAdapter, ValidationError

from progressive.code.sdk import sdk_text
from tests.progressive.code.random_schemas import random_document, random_value
from tests.progressive.code.stub_tools import tool
from tool_runtime import JsonObject

MODULE = "stubs_under_test"


@pytest.fixture(scope="module", autouse=True)
def module() -> Iterator[ModuleType]:
    """A module for the stubs to be, since pydantic looks quoted names up in the module of a type."""
    sys.modules[MODULE] = ModuleType(MODULE)
    yield sys.modules[MODULE]
    del sys.modules[MODULE]


def result_type(schema: JsonObject) -> TypeAdapter[Any]:
    # Pydantic wants the backport of `TypedDict` before Python 3.12.
    text = sdk_text([tool(output=schema)]).replace("from typing import", "from typing_extensions import")
    names = vars(sys.modules[MODULE])
    exec(text, names)
    return TypeAdapter(names["ProbeResult"])


@given(st.randoms(use_true_random=False))
def test_value_that_matches_the_schema_is_of_the_type(dice: random.Random) -> None:
    schema = random_document(dice)
    value = random_value(dice, schema, schema)
    assume(is_valid(schema, value))
    assert result_type(schema).validate_python(value, strict=True) is not ...


@pytest.mark.parametrize(
    ("schema", "value"),
    [
        pytest.param({"type": "array", "items": {"type": "string"}}, [1], id="item"),
        pytest.param({"type": "object", "properties": {"a": {"type": "string"}}, "required": ["a"]}, {}, id="missing"),
        pytest.param({"type": "object", "properties": {"a": {"$ref": "#"}}}, {"a": {"a": 1}}, id="inside-recursion"),
        pytest.param({"allOf": [{"type": "string"}, {"enum": ["a"]}]}, "b", id="all-of"),
    ],
)
def test_value_that_does_not_match_the_schema_is_not_of_the_type(schema: JsonObject, value: Any) -> None:
    assert not is_valid(schema, value)
    with pytest.raises(ValidationError):
        result_type(schema).validate_python(value, strict=True)
