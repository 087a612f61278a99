from types import MappingProxyType

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import JsonValue

from tool_runtime.payload import NotJsonError, decode, detached, encode, path_text

json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=8), inner, max_size=4),
    max_leaves=15,
)


@given(json_values)
def test_detached_copy_equals_every_json_value(value: JsonValue) -> None:
    assert detached(value) == value


def test_detached_copy_shares_no_container() -> None:
    inner = [1]
    value = {"list": inner, "object": {"key": [2]}}
    copy = detached(value)
    inner.append(3)
    assert copy == {"list": [1], "object": {"key": [2]}}


def test_read_only_mappings_are_objects() -> None:
    assert detached(MappingProxyType({"a": MappingProxyType({"b": 1})})) == {"a": {"b": 1}}


@pytest.mark.parametrize(
    ("value", "message"),
    [
        ({"a": ["x", "\ud800"]}, "a[1]: holds a lone surrogate, which is not Unicode text"),
        ({"a": float("nan"), "b": {"c": float("inf")}}, "a: nan is not a JSON number; b.c: inf is not a JSON number"),
        ({"a": object()}, "a: object is not a JSON type"),
        ({"k\udfff": 1}, "k\\udfff: holds a lone surrogate, which is not Unicode text"),
        (float("nan"), "nan is not a JSON number"),
    ],
)
def test_a_value_without_json_form_is_refused_with_every_path(value: object, message: str) -> None:
    with pytest.raises(NotJsonError) as caught:
        encode(value)
    assert str(caught.value) == message


def test_the_words_nan_and_infinity_are_text_like_any_other() -> None:
    assert detached({"NaN": "Infinity"}) == {"NaN": "Infinity"}


def test_a_value_nested_without_end_is_refused() -> None:
    value: list[object] = []
    value.append(value)
    with pytest.raises(NotJsonError):
        encode(value)


def test_a_text_nested_too_deep_is_refused() -> None:
    with pytest.raises(NotJsonError):
        decode(b"[" * 500 + b"]" * 500)


@pytest.mark.parametrize(
    ("path", "text"), [(("edits", 0, "old"), "edits[0].old"), ((1,), "[1]"), ((), ""), (("a", "b"), "a.b")]
)
def test_a_path_is_written_with_dots_and_brackets(path: tuple[str | int, ...], text: str) -> None:
    assert path_text(path) == text
