import gc
import weakref
from typing import Any

import anyio
import pytest

from progressive.catalog import Catalog
from tests.progressive.toolkit import plain_tool
from tool_runtime import ScopeId, Tool, ToolRuntime, UnknownScopeError

pytestmark = pytest.mark.anyio


def registered(*names: str) -> ToolRuntime:
    runtime = ToolRuntime()
    for name in names:
        runtime.register(plain_tool(name, f"Does {name}."))
    return runtime


def names_of(tools: tuple[Tool[Any], ...] | list[Tool[Any]]) -> list[str]:
    return [tool.name for tool in tools]


def test_a_catalog_is_in_the_order_of_names_without_the_reserved_and_the_eager_ones() -> None:
    runtime = registered("beta", "Alpha", "run_code", "hot", "alpha", "查询", "Zeta")
    catalog = Catalog(runtime, eager=frozenset({"hot"}))
    view = catalog.view()
    assert names_of(view.tools) == ["Alpha", "alpha", "beta", "Zeta", "查询"]
    assert [view.get(tool.name) for tool in view.tools] == list(view.tools)
    assert [view.get(name) for name in ("ALPHA", "hot", "run_code", "查", "", "zzz")] == [None] * 6
    assert view.members == frozenset(view.tools)


def test_nothing_is_asked_again_until_something_changes(monkeypatch: pytest.MonkeyPatch) -> None:
    runtime = registered("a", "b")
    asked: list[ScopeId | None] = []
    tools = runtime.tools

    def counted(scope: ScopeId | None = None) -> list[Tool[Any]]:
        asked.append(scope)
        return tools(scope)

    monkeypatch.setattr(runtime, "tools", counted)
    catalog = Catalog(runtime, eager=frozenset())
    inner = runtime.scope()
    assert catalog.view() is catalog.view()
    assert names_of(catalog.view(inner).tools) == ["a", "b"]
    assert len(asked) == 2
    runtime.restrict(inner, deny=["a"])
    assert names_of(catalog.view(inner).tools) == ["b"]
    assert len(asked) == 3


async def test_a_changed_tool_is_found_as_it_is_now(monkeypatch: pytest.MonkeyPatch) -> None:
    runtime = registered("a", "b")
    catalog = Catalog(runtime, eager=frozenset())
    remove = runtime.register(plain_tool("c", "Paints walls."))
    _, ranked = await catalog.ranked("walls")
    assert names_of(ranked) == ["c"]
    remove()
    runtime.register(plain_tool("c", "Digs holes."))
    assert (await catalog.ranked("walls"))[1] == []
    assert names_of((await catalog.ranked("holes"))[1]) == ["c"]


def noted(catalog: Catalog, monkeypatch: pytest.MonkeyPatch, method: str) -> list[str]:
    """Return a list in which every call of a method of the index is noted from now on."""
    names: list[str] = []
    original = getattr(catalog.index, method)

    def noting(tool: Tool[Any]) -> None:
        names.append(tool.name)
        original(tool)

    monkeypatch.setattr(catalog.index, method, noting)
    return names


async def test_one_change_is_one_update_of_the_index(monkeypatch: pytest.MonkeyPatch) -> None:
    runtime = registered(*(f"tool_{number}" for number in range(50)))
    catalog = Catalog(runtime, eager=frozenset())
    scopes = [runtime.scope() for _ in range(3)]
    for scope in scopes:
        await catalog.ranked("tool", scope)
    added, removed = noted(catalog, monkeypatch, "add"), noted(catalog, monkeypatch, "remove")
    dispose = runtime.register(plain_tool("new", "Something new."))
    for scope in scopes:
        await catalog.ranked("tool", scope)
    assert (added, removed) == (["new"], [])
    dispose()
    for scope in scopes:
        await catalog.ranked("tool", scope)
    assert (added, removed) == (["new"], ["new"])


async def test_hidden_tools_have_no_part_in_the_order_of_what_a_scope_sees() -> None:
    runtime = registered("read_page", "page_reader", "page_writer")
    inner = runtime.scope()
    runtime.restrict(inner, allow=["read_page", "page_reader"])
    catalog = Catalog(runtime, eager=frozenset())
    await catalog.ranked("page")
    alone = Catalog(registered("read_page", "page_reader"), eager=frozenset())
    for query in ("page", "read page", "reader", "write"):
        ranked = (await catalog.ranked(query, inner))[1]
        assert names_of(ranked) == names_of((await alone.ranked(query))[1])


async def test_what_no_open_scope_holds_leaves_the_index_and_the_memory() -> None:
    runtime = registered("a")
    catalog = Catalog(runtime, eager=frozenset())
    inner = runtime.scope()
    runtime.register(plain_tool("scoped", "Of a scope."), inner)
    await catalog.ranked("scope", inner)
    scoped = weakref.ref(catalog.view(inner).tools[1])
    assert len(catalog.index) == 2
    runtime.close_scope(inner)
    await catalog.ranked("a")
    assert len(catalog.index) == 1
    gc.collect()
    assert scoped() is None
    with pytest.raises(UnknownScopeError):
        await catalog.ranked("a", inner)


async def test_others_run_while_a_large_catalog_is_taken_up_and_a_change_meanwhile_is_seen() -> None:
    runtime = registered(*(f"tool_{number}" for number in range(200)))
    catalog = Catalog(runtime, eager=frozenset())
    answers: list[list[str]] = []

    async def search() -> None:
        answers.append(names_of((await catalog.ranked("walls"))[1]))

    async with anyio.create_task_group() as tasks:
        tasks.start_soon(search)
        tasks.start_soon(search)
        await anyio.lowlevel.checkpoint()
        await anyio.lowlevel.checkpoint()
        assert answers == []
        runtime.register(plain_tool("painter", "Paints walls."))
    assert answers == [["painter"], ["painter"]]
    assert len(catalog.index) == 201


async def test_a_scope_closed_while_its_catalog_is_taken_up_is_unknown_and_leaves_nothing() -> None:
    runtime = registered(*(f"tool_{number}" for number in range(200)))
    catalog = Catalog(runtime, eager=frozenset())
    inner = runtime.scope()
    raised: list[Exception] = []

    async def search() -> None:
        try:
            await catalog.ranked("tool", inner)
        except UnknownScopeError as error:
            raised.append(error)

    async with anyio.create_task_group() as tasks:
        tasks.start_soon(search)
        await anyio.lowlevel.checkpoint()
        await anyio.lowlevel.checkpoint()
        runtime.close_scope(inner)
    assert len(raised) == 1
    runtime.register(plain_tool("later"))
    catalog.view()
    assert len(catalog.index) == 0


async def test_a_search_of_another_scope_while_one_is_closed_in_the_middle_of_its_own_leaves_nothing() -> None:
    runtime = registered("a")
    inner = runtime.scope()
    for number in range(400):
        runtime.register(plain_tool(f"tool_{number}", "Of a scope."), inner)
    catalog = Catalog(runtime, eager=frozenset())
    raised: list[Exception] = []

    async def search() -> None:
        try:
            await catalog.ranked("tool", inner)
        except UnknownScopeError as error:
            raised.append(error)

    async with anyio.create_task_group() as tasks:
        tasks.start_soon(search)
        await anyio.lowlevel.checkpoint()
        await anyio.lowlevel.checkpoint()
        runtime.close_scope(inner)
        await catalog.ranked("a")
    assert len(raised) == 1
    await catalog.ranked("a")
    assert len(catalog.index) == 1


async def test_a_search_ends_however_fast_the_tools_change_and_the_index_keeps_no_old_ones() -> None:
    runtime = registered(*(f"tool_{number}" for number in range(100)))
    catalog = Catalog(runtime, eager=frozenset())
    disposers = [runtime.register(plain_tool("churn_0", "Paints walls."))]

    async def churn() -> None:
        while True:
            disposers.pop()()
            disposers.append(runtime.register(plain_tool(f"churn_{runtime.revision}", "Paints walls. " * 200)))
            await anyio.lowlevel.checkpoint()

    with anyio.fail_after(60):
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(churn)
            for _ in range(5):
                view, ranked = await catalog.ranked("walls")
                assert names_of(ranked) == [name for name in names_of(view.tools) if name.startswith("churn")]
                assert len(catalog.index) == 101
            tasks.cancel_scope.cancel()


async def test_only_so_many_scopes_have_their_tools_kept_and_the_others_still_get_right_answers() -> None:
    runtime = registered("a")
    catalog = Catalog(runtime, eager=frozenset())
    scopes = [runtime.scope() for _ in range(100)]
    for number, scope in enumerate(scopes):
        runtime.register(plain_tool(f"own_{number}", "Of one scope."), scope)
    for _ in range(2):
        for number, scope in enumerate(scopes):
            assert names_of((await catalog.ranked("scope", scope))[1]) == [f"own_{number}"]
    assert len(catalog.index) == 33
