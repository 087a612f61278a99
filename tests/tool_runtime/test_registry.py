from typing import cast

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.tool_runtime.toolkit import call, echo_tool, failure, success
from tool_runtime import (
    GLOBAL,
    DuplicateNameError,
    JsonObject,
    ScopeId,
    ToolRuntime,
    UnknownScopeError,
    UnknownToolNameError,
)

NAMES = ("a", "b", "c", "d")


def seen(runtime: ToolRuntime, scope: ScopeId | None = None) -> list[str]:
    """Return the visible names, having checked that every way of asking agrees."""
    names = [schema.name for schema in runtime.schemas(scope)]
    assert names == [tool.name for tool in runtime.tools(scope)]
    assert {name for name in NAMES if runtime.get(name, scope) is not None} == set(names) & set(NAMES)
    return names


def registered(*names: str, scope: ScopeId | None = None) -> ToolRuntime:
    runtime = ToolRuntime()
    for name in names:
        runtime.register(echo_tool(name), scope)
    return runtime


def test_schemas_are_sorted_by_name_whatever_the_order_of_registration() -> None:
    assert seen(registered("c", "a", "b")) == ["a", "b", "c"]


def test_a_duplicate_name_in_one_scope_is_an_error() -> None:
    runtime = registered("a")
    with pytest.raises(DuplicateNameError, match="the tool 'a' is already registered in scope 0"):
        runtime.register(echo_tool("a"))


def test_the_same_name_in_an_inner_scope_shadows_the_outer_one_there_only() -> None:
    runtime = registered("a")
    inner, outer_tool, inner_tool = runtime.scope(), runtime.get("a"), echo_tool("a")
    dispose = runtime.register(inner_tool, inner)
    assert runtime.get("a", inner) is inner_tool
    assert runtime.get("a", runtime.scope(inner)) is inner_tool
    assert runtime.get("a") is outer_tool
    assert seen(runtime, inner) == ["a"]
    dispose()
    assert runtime.get("a", inner) is outer_tool


def test_a_tool_of_an_inner_scope_is_seen_inside_it_only() -> None:
    runtime = registered("a")
    scope, sibling = runtime.scope(), runtime.scope()
    runtime.register(echo_tool("b"), scope)
    assert seen(runtime) == seen(runtime, sibling) == ["a"]
    assert seen(runtime, scope) == seen(runtime, runtime.scope(scope)) == ["a", "b"]


def test_the_global_scope_may_be_named() -> None:
    runtime = registered("a", scope=GLOBAL)
    assert seen(runtime, GLOBAL) == ["a"]


def test_a_disposer_removes_its_tool_once_and_never_a_later_one() -> None:
    runtime = ToolRuntime()
    dispose = runtime.register(echo_tool("a"))
    dispose()
    assert seen(runtime) == []
    runtime.register(echo_tool("a"))
    dispose()
    assert seen(runtime) == ["a"]


def test_deny_hides_and_admits_later_tools() -> None:
    runtime = registered("a", "b")
    scope = runtime.scope()
    runtime.restrict(scope, deny=["a"])
    runtime.register(echo_tool("c"))
    assert seen(runtime, scope) == ["b", "c"]
    assert seen(runtime) == ["a", "b", "c"]


def test_allow_keeps_only_its_names_and_excludes_later_tools() -> None:
    runtime = registered("a", "b")
    scope = runtime.scope()
    runtime.restrict(scope, allow=["a"])
    runtime.register(echo_tool("c"))
    assert seen(runtime, scope) == ["a"]


def test_an_empty_allow_hides_everything_inherited() -> None:
    runtime = registered("a")
    scope = runtime.scope()
    runtime.restrict(scope, allow=[])
    assert seen(runtime, scope) == []


def test_restrictions_intersect() -> None:
    runtime = registered("a", "b", "c", "d")
    scope = runtime.scope()
    runtime.restrict(scope, allow=["a", "b", "c"])
    runtime.restrict(scope, allow=["b", "c", "d"], deny=["c"])
    assert seen(runtime, scope) == ["b"]


def test_the_own_tools_of_a_scope_are_exempt() -> None:
    runtime = registered("a", "b")
    scope = runtime.scope()
    runtime.restrict(scope, deny=["a"], allow=["b"])
    own = echo_tool("a")
    runtime.register(own, scope)
    runtime.register(echo_tool("c"), scope)
    assert seen(runtime, scope) == ["a", "b", "c"]
    assert runtime.get("a", scope) is own


def test_a_child_scope_cannot_see_past_the_restriction_of_its_parent() -> None:
    runtime = registered("a", "b")
    parent = runtime.scope()
    runtime.restrict(parent, deny=["a"])
    runtime.register(echo_tool("c"), parent)
    child = runtime.scope(parent)
    assert seen(runtime, child) == ["b", "c"]
    runtime.restrict(child, deny=["c"])
    assert seen(runtime, child) == ["b"]
    assert seen(runtime, parent) == ["b", "c"]


def test_a_tool_that_needs_no_listing_survives_allow_lists_and_falls_to_a_denial() -> None:
    runtime = registered("a", "b")
    runtime.register(echo_tool("c"), needs_listing=False)
    allowing, denying = runtime.scope(), runtime.scope()
    runtime.restrict(allowing, allow=["a"])
    runtime.restrict(denying, deny=["c"])
    assert seen(runtime, allowing) == ["a", "c"]
    assert seen(runtime, runtime.scope(allowing)) == ["a", "c"]
    assert seen(runtime, denying) == ["a", "b"]


def test_the_revision_grows_with_every_change_and_with_no_question() -> None:
    runtime = ToolRuntime()
    scope = runtime.scope()
    revisions = [runtime.revision]
    dispose = runtime.register(echo_tool("a"))
    revisions.append(runtime.revision)
    runtime.restrict(scope, deny=["a"])
    revisions.append(runtime.revision)
    dispose()
    revisions.append(runtime.revision)
    runtime.close_scope(scope)
    revisions.append(runtime.revision)
    assert revisions == sorted(set(revisions))
    assert seen(runtime) == []
    assert runtime.revision == revisions[-1]


@pytest.mark.parametrize("names", [{"allow": ["a", "x", "y"]}, {"deny": ["x", "y"]}])
def test_unknown_names_in_a_restriction_are_errors_and_change_nothing(names: dict[str, list[str]]) -> None:
    runtime = registered("a", "b")
    scope = runtime.scope()
    with pytest.raises(UnknownToolNameError, match="inherits no tool named x, y; it inherits: a, b"):
        runtime.restrict(scope, **names)
    assert seen(runtime, scope) == ["a", "b"]


def test_a_restriction_cannot_name_what_the_parent_does_not_see() -> None:
    runtime = registered("a", "b")
    parent = runtime.scope()
    runtime.restrict(parent, deny=["a"])
    with pytest.raises(UnknownToolNameError):
        runtime.restrict(runtime.scope(parent), allow=["a"])


def test_the_global_scope_cannot_be_restricted() -> None:
    with pytest.raises(ValueError, match="inherits nothing"):
        registered("a").restrict(GLOBAL, deny=["a"])


@pytest.mark.anyio
async def test_a_hidden_tool_is_unknown_to_execute_and_its_name_is_not_told() -> None:
    runtime = registered("a", "b")
    scope = runtime.scope()
    runtime.restrict(scope, deny=["a"])
    refused = failure(await runtime.execute(call("a", text="x"), scope=scope))
    assert (refused.code, refused.message) == ("UNKNOWN_TOOL", "there is no tool 'a'; there are: b")
    assert success(await runtime.execute(call("a"))).value == {"text": "hello"}


@pytest.mark.anyio
async def test_a_tool_removed_a_moment_ago_is_unknown() -> None:
    runtime = ToolRuntime()
    dispose = runtime.register(echo_tool("a"))
    success(await runtime.execute(call("a")))
    dispose()
    assert failure(await runtime.execute(call("a"))).code == "UNKNOWN_TOOL"


def test_schemas_are_detached_copies() -> None:
    runtime = registered("a")
    [schema] = runtime.schemas()
    cast("JsonObject", schema.parameters["properties"]).clear()
    schema.output.clear()
    [fresh] = runtime.schemas()
    assert cast("JsonObject", fresh.parameters["properties"]).keys() == {"text", "times"}
    assert fresh.output != {}


def test_the_registered_object_itself_is_returned_as_long_as_it_is_registered() -> None:
    runtime, tool = ToolRuntime(), echo_tool("a")
    runtime.register(tool)
    assert runtime.get("a") is tool
    assert runtime.tools() == [tool]
    assert {tool: "usable as a key"}[runtime.tools()[0]]


def test_closing_a_scope_closes_all_inside_it_and_drops_their_tools() -> None:
    runtime = registered("a")
    parent = runtime.scope()
    child, other = runtime.scope(parent), runtime.scope()
    dispose = runtime.register(echo_tool("b"), child)
    runtime.restrict(child, deny=["a"])
    runtime.close_scope(parent)
    for closed in (parent, child):
        with pytest.raises(UnknownScopeError):
            runtime.schemas(closed)
        with pytest.raises(UnknownScopeError):
            runtime.get("a", closed)
        with pytest.raises(UnknownScopeError):
            runtime.register(echo_tool("c"), closed)
        with pytest.raises(UnknownScopeError):
            runtime.scope(closed)
        with pytest.raises(UnknownScopeError):
            runtime.close_scope(closed)
        with pytest.raises(UnknownScopeError):
            runtime.restrict(closed, deny=["a"])
    dispose()
    assert seen(runtime, other) == ["a"]
    assert runtime.scope() not in {parent, child, other}


def test_the_global_scope_cannot_be_closed() -> None:
    with pytest.raises(ValueError, match="cannot be closed"):
        ToolRuntime().close_scope(GLOBAL)


@pytest.mark.anyio
async def test_a_call_in_a_closed_scope_is_a_failure() -> None:
    runtime = registered("a")
    scope = runtime.scope()
    runtime.close_scope(scope)
    refused = failure(await runtime.execute(call("a"), scope=scope))
    assert (refused.code, refused.message) == ("UNKNOWN_TOOL", f"a: scope {scope} is closed or was never created")


names = st.sampled_from(NAMES)
restrictions = st.lists(st.tuples(st.none() | st.sets(names), st.sets(names)), max_size=3)


@given(st.sets(names), restrictions)
def test_what_a_scope_sees_is_its_own_and_the_inherited_that_every_restriction_admits(
    own: set[str], rules: list[tuple[set[str] | None, set[str]]]
) -> None:
    runtime = registered(*NAMES)
    scope = runtime.scope()
    for allow, deny in rules:
        runtime.restrict(scope, allow=allow, deny=deny)
    for name in sorted(own):
        runtime.register(echo_tool(name), scope)
    admitted = {
        name for name in NAMES if all(name not in deny and (allow is None or name in allow) for allow, deny in rules)
    }
    assert seen(runtime, scope) == sorted(own | admitted)
