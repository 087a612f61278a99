"""Values of a TypedDict are checked and copied as they are, to the same end as by way of their JSON text."""

from datetime import datetime
from typing import Annotated, Any, Literal, NoReturn, NotRequired

import pytest
from pydantic import Field
from typing_extensions import TypedDict

from tool_runtime.checks import RecordChecker, checker_for
from tool_runtime.payload import NotJsonError
from tool_runtime.problems import MismatchError


class Row(TypedDict):
    number: int
    text: NotRequired[str | None]


class Table(TypedDict):
    rows: list[Row]
    kind: Annotated[Literal["a", "b"] | None, Field(description="which")]


class Measured(TypedDict):
    length: float


class Dated(TypedDict):
    day: datetime


def test_a_matching_value_is_copied_at_every_level() -> None:
    given: dict[str, Any] = {"rows": [{"number": 1}, {"number": 2, "text": "x"}], "kind": "a"}
    value: Any = checker_for(Table).plain(given)
    assert value == given
    assert value is not given
    assert value["rows"] is not given["rows"]
    assert value["rows"][0] is not given["rows"][0]


def test_its_schema_is_that_of_an_object_which_takes_no_other_keys() -> None:
    assert checker_for(Row).schema == {
        "properties": {"number": {"type": "integer"}, "text": {"anyOf": [{"type": "string"}, {"type": "null"}]}},
        "required": ["number"],
        "type": "object",
        "additionalProperties": False,
    }


@pytest.mark.parametrize(
    ("value", "told"),
    [
        ({"number": "1"}, 'number: must be a valid integer, got "1"'),
        ({"number": True}, "number: must be a valid integer, got true"),
        ({"number": 1.0}, "number: must be a valid integer, got 1.0"),
        ({}, "number: is required"),
        ({"number": 1, "txt": "x"}, "txt: "),
        ([], "must be "),
    ],
)
def test_a_mismatch_is_told_as_for_a_model(value: object, told: str) -> None:
    with pytest.raises(MismatchError) as caught:
        checker_for(Row).plain(value)
    assert told.casefold() in str(caught.value).casefold()


def test_what_is_no_json_is_told_as_for_a_model() -> None:
    with pytest.raises(NotJsonError, match="text: holds a lone surrogate"):
        checker_for(Row).plain({"number": 1, "text": "\ud800"})
    with pytest.raises(NotJsonError, match="text: nan is not a JSON number"):
        checker_for(Row).plain({"number": 1, "text": float("nan")})


@pytest.mark.parametrize("text", ["\ud800", "a\udfffb" * 20, "\ud83d\ude00"])
def test_a_lone_surrogate_is_found_at_any_depth(text: str) -> None:
    with pytest.raises(NotJsonError, match=r"rows\[1\]\.text: holds a lone surrogate"):
        checker_for(Table).plain({"rows": [{"number": 1, "text": "a"}, {"number": 2, "text": text}], "kind": "a"})


def test_a_matching_value_is_gone_through_once(monkeypatch: pytest.MonkeyPatch) -> None:
    def unwanted(_: object) -> NoReturn:
        raise AssertionError("the value was gone through once more")

    monkeypatch.setattr("tool_runtime.checks.encode", unwanted)
    monkeypatch.setattr("tool_runtime.checks.decode", unwanted)
    given: dict[str, Any] = {"rows": [{"number": 2**70, "text": "\0 é 日本 👩\u200d💻"}], "kind": None}
    assert checker_for(Table).plain(given) == given


def test_what_only_its_json_text_makes_a_list_passes_too() -> None:
    assert checker_for(Table).plain({"rows": ({"number": 1},), "kind": None}) == {"rows": [{"number": 1}], "kind": None}


@pytest.mark.parametrize(("record", "field"), [(Measured, "float"), (Dated, "datetime")])
def test_a_field_that_need_not_be_plain_json_is_refused_at_once(record: type[Any], field: str) -> None:
    with pytest.raises(ValueError, match=f"{record.__name__}: .*{field}"):
        RecordChecker[object](record)
