import enum
from datetime import date
from typing import Annotated, Literal, Self

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import AfterValidator, BaseModel, Field, JsonValue, model_validator

from tool_runtime.arguments import call_text, check_arguments
from tool_runtime.checks import ModelChecker
from tool_runtime.payload import encode
from tool_runtime.problems import MismatchError, Problem, unknown_key


def at_least_one(line: int) -> int:
    if line < 1:
        raise ValueError("lines start at 1")
    return line


class Mode(enum.Enum):
    FAST = "fast"


class Step(BaseModel):
    old: str
    line: int = 1


class Args(BaseModel):
    count: int = 0
    maybe: int | None = None
    either: int | list[int] = 0
    anything: int | str = 0
    ratio: float = 1.0
    flag: bool = False
    text: str = "x"
    line: Annotated[int, AfterValidator(at_least_one)] = 1
    small: Annotated[int, Field(ge=1, le=9)] = 1
    mode: Mode = Mode.FAST
    kind: Literal["a", "b"] = "a"
    day: date = date(2020, 1, 1)
    pair: tuple[int, int] = (1, 2)
    steps: list[Step] = []
    counts: dict[str, int] = {}
    free: JsonValue = None


ARGS = ModelChecker(Args)


def parsed(arguments: dict[str, JsonValue]) -> Args:
    args, _payload = check_arguments(ARGS, encode(arguments))
    return args


def refused(arguments: JsonValue) -> str:
    with pytest.raises(MismatchError) as caught:
        check_arguments(ARGS, encode(arguments))
    return str(caught.value)


@pytest.mark.parametrize(
    ("arguments", "field", "value"),
    [
        ({"count": 12}, "count", 12),
        ({"count": "12"}, "count", 12),
        ({"count": "-3"}, "count", -3),
        ({"count": 12.0}, "count", 12),
        ({"maybe": "12"}, "maybe", 12),
        ({"maybe": None}, "maybe", None),
        ({"either": "12"}, "either", 12),
        ({"either": ["1", 2.0]}, "either", [1, 2]),
        ({"anything": "12"}, "anything", "12"),
        ({"small": "9"}, "small", 9),
        ({"counts": {"a": "1", "b": 2.0}}, "counts", {"a": 1, "b": 2}),
        ({"steps": [{"old": "o", "line": "7"}]}, "steps", [Step(old="o", line=7)]),
        ({"ratio": 2}, "ratio", 2.0),
        ({"mode": "fast"}, "mode", Mode.FAST),
        ({"day": "2024-05-06"}, "day", date(2024, 5, 6)),
        ({"pair": [3, 4]}, "pair", (3, 4)),
        ({"free": {"n": "12", "deep": [1.0]}}, "free", {"n": "12", "deep": [1.0]}),
    ],
)
def test_right_arguments_are_accepted(arguments: dict[str, JsonValue], field: str, value: object) -> None:
    accepted = getattr(parsed(arguments), field)
    assert accepted == value
    assert type(accepted) is type(value)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"count": 1.5}, "count: must be a valid integer, got 1.5"),
        ({"count": "1.5"}, 'count: must be a valid integer, got "1.5"'),
        ({"count": "12.0"}, 'count: must be a valid integer, got "12.0"'),
        ({"count": " 12"}, 'count: must be a valid integer, got " 12"'),
        ({"count": "١٢"}, 'count: must be a valid integer, got "١٢"'),
        ({"count": ""}, 'count: must be a valid integer, got ""'),
        ({"count": True}, "count: must be a valid integer, got true"),
        ({"count": None}, "count: must be a valid integer, got null"),
        ({"count": 1e300}, "count: must be a valid integer, got 1e+300"),
        ({"count": [1]}, "count: must be a valid integer, got an array"),
        ({"flag": "true"}, 'flag: must be a valid boolean, got "true"'),
        ({"flag": 1}, "flag: must be a valid boolean, got 1"),
        ({"text": 1}, "text: must be a valid string, got 1"),
        ({"text": None}, "text: must be a valid string, got null"),
        ({"ratio": "1.5"}, 'ratio: must be a valid number, got "1.5"'),
        ({"kind": "c"}, "kind: must be 'a' or 'b', got \"c\""),
        ({"line": 0}, "line: lines start at 1, got 0"),
        ({"line": "-1"}, "line: lines start at 1, got -1"),
        ({"small": "10"}, "small: must be less than or equal to 9, got 10"),
        ({"either": True}, "either: must be a valid integer or must be a valid array, got true"),
        ({"counts": {"a": "x"}}, 'counts.a: must be a valid integer, got "x"'),
        ({"text": {"a": 1}}, "text: must be a valid string, got an object"),
        ({"count": "x" * 500}, "count: must be a valid integer, got a string of 500 characters"),
        ({"count": "\x1b[2J"}, 'count: must be a valid integer, got "\\u001b[2J"'),
        ({"steps": [{"old": "o"}, {}]}, "steps[1].old: is required"),
        ({"steps": [{"old": "o", "new": "n"}]}, "steps[0].new: unknown key, known: old, line"),
        ([], "must be an object, got an array"),
    ],
)
def test_wrong_arguments_are_refused_with_path_and_reason(arguments: JsonValue, message: str) -> None:
    assert refused(arguments) == message


def test_every_offending_path_is_listed_at_once() -> None:
    message = refused({"count": "x", "flag": "no", "steps": [{"line": "y"}], "colour": 1, "small": "5"})
    assert [clause.split(":")[0] for clause in message.split("; ")] == [
        "count",
        "flag",
        "steps[0].old",
        "steps[0].line",
        "colour",
    ]


def test_an_unknown_key_is_answered_with_all_known_ones() -> None:
    assert refused({"colour": 1}) == f"colour: unknown key, known: {', '.join(Args.model_fields)}"


@pytest.mark.parametrize(
    ("names", "told"),
    [
        ([f"k{number}" for number in range(10_000)], "k48, k49, and 9950 more"),
        (["x" * 1000] * 10_000, f"{'x' * 60}..., and 9986 more"),
    ],
)
def test_of_many_known_keys_the_first_are_told_and_how_many_there_are_more(names: list[str], told: str) -> None:
    clause = unknown_key(names)
    assert clause.endswith(told)
    assert len(clause) < 1_000


@pytest.mark.parametrize("size", [1, 100, 100_000])
def test_the_text_of_many_problems_is_bounded_and_tells_how_many_there_are_more(size: int) -> None:
    problems = [Problem((f"key{number}",), "x" * size) for number in range(1_000)]
    error = MismatchError(problems)
    assert error.problems == tuple(problems)
    told = str(error).split("; ")
    assert told[0].startswith("key0: x")
    assert told[-1] == f"and {1_000 - len(told) + 1} more"
    assert len(str(error)) < 4_100


def test_a_model_without_keys_says_so() -> None:
    class Nothing(BaseModel):
        pass

    with pytest.raises(MismatchError, match="a: unknown key, none is known here"):
        check_arguments(ModelChecker(Nothing), b'{"a": 1}')


def test_unknown_keys_are_refused_even_where_the_model_would_allow_them() -> None:
    class Open(BaseModel, extra="allow"):
        a: int = 0

    with pytest.raises(MismatchError, match="b: unknown key, known: a"):
        check_arguments(ModelChecker(Open), b'{"b": 1}')


def test_aliases_are_the_names_that_count() -> None:
    class Aliased(BaseModel):
        from_: int = Field(alias="from")

    args, _payload = check_arguments(ModelChecker(Aliased), b'{"from": "3"}')
    assert args.from_ == 3


def test_the_returned_text_holds_real_integers() -> None:
    _args, payload = check_arguments(ARGS, encode({"count": "12", "text": "12"}))
    assert payload == b'{"count":12,"text":"12"}'


def test_text_nested_too_deep_is_refused() -> None:
    payload = b'{"free":' + b"[" * 300 + b"]" * 300 + b"}"
    with pytest.raises(MismatchError, match="recursion limit"):
        check_arguments(ARGS, payload)


@given(st.integers(min_value=-(10**17), max_value=10**17))
def test_an_integer_as_decimal_text_is_that_integer(number: int) -> None:
    assert parsed({"count": str(number)}).count == number


@given(st.floats(allow_nan=False, allow_infinity=False, width=32).filter(lambda number: not number.is_integer()))
def test_a_fraction_is_never_an_integer(number: float) -> None:
    assert refused({"count": number}).startswith("count: must be a valid integer")
    assert refused({"count": repr(number)}).startswith("count: must be a valid integer")


def test_a_call_is_shown_as_name_and_json() -> None:
    assert call_text("read", {"file_path": "a.txt", "limit": 2}) == 'read({"file_path":"a.txt","limit":2})'


class Change(BaseModel):
    first: Annotated[int, AfterValidator(at_least_one)] | None = None
    old: str = "a"
    new: str = "b"

    @model_validator(mode="after")
    def must_change(self) -> Self:
        if self.old == self.new:
            raise ValueError("nothing would change")
        return self


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"first": 0}, "first: lines start at 1, got 0"),
        ({"first": "x"}, 'first: must be a valid integer, got "x"'),
        ({"new": "a"}, "nothing would change"),
    ],
)
def test_a_refusal_names_neither_null_as_the_alternative_nor_the_whole_as_the_input(
    arguments: JsonValue, message: str
) -> None:
    with pytest.raises(MismatchError) as caught:
        check_arguments(ModelChecker(Change), encode(arguments))
    assert str(caught.value) == message
