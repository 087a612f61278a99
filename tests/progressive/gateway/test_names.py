"""Names of mounted tools."""

import itertools

import pytest
from hypothesis import given
from hypothesis import strategies as st

from progressive.gateway._names import exposed_names


@pytest.mark.parametrize(
    ("tool", "name"),
    [
        ("read", "mcp__srv__read"),
        ("read-file_2", "mcp__srv__read-file_2"),
        ("files.read", "mcp__srv__files_read"),
        ("a/b c", "mcp__srv__a_b_c"),
        ("größe", "mcp__srv__gr__e"),
        ("x" * 54, f"mcp__srv__{'x' * 54}"),
        ("x" * 55, f"mcp__srv__{'x' * 45}_21a666fc"),
    ],
)
def test_a_name_is_made_of_server_and_tool(tool: str, name: str) -> None:
    assert exposed_names("srv", [tool]) == {tool: name}


def test_tools_that_would_share_a_name_are_all_told_apart_by_a_hash() -> None:
    names = exposed_names("srv", ["a.b", "a b", "c"])
    assert names["c"] == "mcp__srv__c"
    assert names["a.b"] != names["a b"]
    assert all(names[tool].startswith("mcp__srv__a_b_") and len(names[tool]) == 22 for tool in ("a.b", "a b"))


def test_a_name_that_equals_the_hashed_name_of_another_gets_a_hash_too() -> None:
    hashed = exposed_names("srv", ["a.b", "a b"])["a.b"].removeprefix("mcp__srv__")
    names = exposed_names("srv", ["a.b", "a b", hashed])
    assert len(set(names.values())) == 3


def test_the_order_of_the_list_makes_no_difference() -> None:
    tools = ["a.b", "a b", "a_b", "x" * 80, "x" * 81]
    outcomes = {tuple(sorted(exposed_names("srv", order).items())) for order in itertools.permutations(tools)}
    assert len(outcomes) == 1


@given(st.lists(st.text(min_size=1, max_size=90)))
def test_names_are_usable_and_different_whatever_the_tools_are_called(tools: list[str]) -> None:
    names = exposed_names("a-server", tools)
    assert names.keys() == set(tools)
    assert len(set(names.values())) == len(names)
    assert all(len(name) <= 64 and name.isascii() and not set(name) & set(" ./:\n") for name in names.values())
