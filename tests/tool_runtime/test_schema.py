from __future__ import annotations

import enum
import json
from typing import Annotated, Literal

from pydantic import BaseModel, Field

from tool_runtime.schema import compact_schema, property_names


class Colour(enum.Enum):
    RED = "red"
    BLUE = "blue"


class Point(BaseModel):
    """A place."""

    x: int
    title: str = Field(default="t", description="What it is called.")


class Drawing(BaseModel):
    """Not for the model."""

    points: list[Point]
    start: Point | None = None
    colour: Colour = Colour.RED
    extra: dict[str, int] = {}


class Node(BaseModel):
    value: int
    children: list[Node] = []


class Forest(BaseModel):
    trees: list[Node]


class Circle(BaseModel):
    kind: Literal["circle"]
    radius: float


class Square(BaseModel):
    kind: Literal["square"]
    side: float


class Shape(BaseModel):
    shape: Annotated[Circle | Square, Field(discriminator="kind")]


class Empty(BaseModel):
    pass


POINT = {
    "type": "object",
    "description": "A place.",
    "properties": {
        "x": {"type": "integer"},
        "title": {"type": "string", "default": "t", "description": "What it is called."},
    },
    "required": ["x"],
    "additionalProperties": False,
}


def test_references_are_inlined_titles_dropped_and_objects_closed() -> None:
    assert compact_schema(Drawing.model_json_schema()) == {
        "type": "object",
        "properties": {
            "points": {"type": "array", "items": POINT},
            "start": {"anyOf": [POINT, {"type": "null"}], "default": None},
            "colour": {"type": "string", "enum": ["red", "blue"], "default": "red"},
            "extra": {"type": "object", "additionalProperties": {"type": "integer"}, "default": {}},
        },
        "required": ["points"],
        "additionalProperties": False,
    }


def test_a_recursive_reference_stays_in_defs() -> None:
    schema = compact_schema(Forest.model_json_schema())
    assert schema["properties"] == {"trees": {"type": "array", "items": {"$ref": "#/$defs/Node"}}}
    assert isinstance(schema["$defs"], dict)
    assert list(schema["$defs"]) == ["Node"]


def test_a_recursive_model_is_an_object_at_its_root() -> None:
    schema = compact_schema(Node.model_json_schema())
    assert schema["type"] == "object"
    assert isinstance(schema["$defs"], dict)
    assert "Node" in schema["$defs"]


def test_a_tagged_union_leaves_no_reference_behind() -> None:
    assert "$" not in json.dumps(compact_schema(Shape.model_json_schema()))


def test_a_model_without_fields_takes_no_keys() -> None:
    assert compact_schema(Empty.model_json_schema()) == {
        "type": "object",
        "properties": {},
        "additionalProperties": False,
    }


def test_the_schema_is_made_anew_each_time() -> None:
    first = compact_schema(Drawing.model_json_schema())
    first.clear()
    assert compact_schema(Drawing.model_json_schema())["type"] == "object"


def test_property_names_are_found_through_arrays_unions_maps_and_references() -> None:
    drawing, forest = compact_schema(Drawing.model_json_schema()), compact_schema(Forest.model_json_schema())
    assert property_names(drawing, ()) == ["points", "start", "colour", "extra"]
    assert property_names(drawing, ("points", 3)) == ["x", "title"]
    assert property_names(drawing, ("start",)) == ["x", "title"]
    assert property_names(drawing, ("extra", "any")) == []
    assert property_names(forest, ("trees", 0, "children", 1)) == ["value", "children"]
    assert property_names(compact_schema(Shape.model_json_schema()), ("shape",)) == ["kind", "radius", "side"]
