"""Whether an object is a schema as its meta-schema sees it."""

import pytest

from tool_runtime import JsonObject
from tool_runtime.checks import DRAFT_2020_12, checker_for, is_schema

DRAFT_4: JsonObject = {"type": "object", "properties": {"n": {"minimum": 1, "exclusiveMinimum": True}}}
DRAFT_7: JsonObject = {
    "$schema": "http://json-schema.org/draft-07/schema#",
    "properties": {"pair": {"type": "array", "items": [{"type": "string"}]}},
}


@pytest.mark.parametrize(
    "schema",
    [
        pytest.param({}, id="empty"),
        pytest.param({"type": "object", "properties": {"a": {"type": ["string", "null"]}}}, id="draft-2020-12"),
        pytest.param({"$schema": "https://example.com/mine", "required": ["a"]}, id="unknown-dialect"),
        pytest.param(DRAFT_4, id="draft-4"),
        pytest.param(DRAFT_7, id="names-draft-7"),
    ],
)
def test_what_compiles_is_a_schema(schema: JsonObject) -> None:
    assert checker_for(schema) is not None
    assert is_schema(schema)


@pytest.mark.parametrize(
    "schema",
    [
        pytest.param({"type": "nothing"}, id="no-such-type"),
        pytest.param({"properties": []}, id="properties-are-a-list"),
        pytest.param({"required": "a"}, id="required-is-a-string"),
        pytest.param({"properties": {"a": {"minLength": "1"}}}, id="nested"),
    ],
)
def test_what_its_meta_schema_refuses_is_none(schema: JsonObject) -> None:
    assert not is_schema(schema)
    with pytest.raises(ValueError, match="not a valid JSON Schema"):
        checker_for(schema)


@pytest.mark.parametrize("schema", [pytest.param(DRAFT_4, id="draft-4"), pytest.param(DRAFT_7, id="names-draft-7")])
def test_schema_of_an_older_draft_is_none_of_a_draft_that_is_asked_for(schema: JsonObject) -> None:
    assert not is_schema(schema, draft=DRAFT_2020_12)


def test_references_are_not_looked_at() -> None:
    assert is_schema({"$ref": "#/$defs/missing"})
