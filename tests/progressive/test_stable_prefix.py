"""The prefix stays the same bytes, and no answer is stale, whatever comes and goes."""

from collections.abc import Callable
from typing import Any, cast

import anyio
import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    Bundle,
    RuleBasedStateMachine,
    consumes,
    invariant,
    multiple,
    rule,
    run_state_machine_as_test,
)
from mcp import types
from pydantic import JsonValue
from pydantic_core import to_json

from progressive import Disclosure, DisclosureOptions, Mode
from progressive.catalog import Catalog
from progressive.gateway import GatewayOptions
from progressive.gateway._definitions import Definition
from progressive.gateway._listing import Listing
from progressive.gateway._secrets import Secrets
from progressive.gateway._shelf import Shelf
from progressive.gateway._tools import ToolMaker
from progressive.names import RUN_CODE, text_order
from tests.progressive.toolkit import NO_PARAMETERS, found_names, plain_tool, value_of
from tool_runtime import GLOBAL, DuplicateNameError, JsonObject, ScopeId, ToolRuntime

EAGER = ("eager_read", "eager_write")
NAMES = ("alpha", "Beta", "readFile", "read_file", "查询日历", "send-mail", "sendMail")
DESCRIPTIONS = ("", "Reads files.", "Sends mail to people.", "查询日历中的事件", "Reads the mail.")
QUERIES = ("read", "mail", "日历", "files people", "nothing at all", "beta", "sendmail")
STEPS_MAX = 20
ALWAYS_THERE = frozenset({*EAGER, RUN_CODE})

NOTHING = cast("Any", multiple())

names = st.sampled_from(NAMES)
descriptions = st.sampled_from(DESCRIPTIONS)
name_sets = st.sets(names)


async def never_called(definition: Definition, arguments: JsonObject) -> types.CallToolResult:
    raise AssertionError(f"{definition} was called with {arguments}")


class PrefixMachine(RuleBasedStateMachine):
    """Tools that are not eager are registered, removed, restricted, shadowed and mounted in a tree of scopes."""

    scopes = Bundle[ScopeId]("scopes")
    registrations = Bundle[Callable[[], None]]("registrations")

    def __init__(self) -> None:
        super().__init__()
        self.runtime = ToolRuntime()
        for name in (*EAGER, RUN_CODE):
            self.runtime.register(plain_tool(name, "Always there."))
        self.disclosure = Disclosure(self.runtime, DisclosureOptions(eager_tools=EAGER))
        self.runtime.prompt.add("files", "Files are here.")
        options = GatewayOptions()
        maker = ToolMaker(server="srv", call=never_called, secrets=Secrets(()), options=options)
        self.shelf = Shelf(self.runtime, "srv", maker, options)
        self.open: set[ScopeId] = {GLOBAL}
        self.parents: dict[ScopeId, ScopeId] = {}
        self.prefixes = self.all_prefixes(GLOBAL)

    def all_prefixes(self, scope: ScopeId) -> dict[Mode, bytes]:
        prefixes: dict[Mode, bytes] = {}
        for mode in Mode:
            surface = self.disclosure.surface(scope, mode=mode)
            prefixes[mode] = to_json([surface.prompt, surface.tools])
        return prefixes

    def is_open(self, scope: ScopeId) -> bool:
        return scope in self.open

    @rule(target=scopes, parent=st.none() | scopes)
    def open_scope(self, parent: ScopeId | None) -> Any:
        parent = GLOBAL if parent is None else parent
        if not self.is_open(parent):
            return NOTHING
        scope = self.runtime.scope(parent)
        self.open.add(scope)
        self.parents[scope] = parent
        return scope

    @rule(scope=consumes(scopes))
    def close_scope(self, scope: ScopeId) -> None:
        if self.is_open(scope):
            self.runtime.close_scope(scope)
            self.open = {other for other in self.open if not self.is_inside(other, scope)}

    def is_inside(self, scope: ScopeId, outer: ScopeId) -> bool:
        return scope == outer or (scope != GLOBAL and self.is_inside(self.parents[scope], outer))

    @rule(target=registrations, scope=st.none() | scopes, name=names, description=descriptions)
    def register_or_shadow(self, scope: ScopeId | None, name: str, description: str) -> Any:
        if scope is not None and not self.is_open(scope):
            return NOTHING
        try:
            return self.runtime.register(plain_tool(name, description), scope)
        except DuplicateNameError:
            return NOTHING

    @rule(registration=consumes(registrations))
    def unregister(self, registration: Callable[[], None]) -> None:
        registration()

    @rule(scope=scopes, denied=name_sets)
    def deny(self, scope: ScopeId, denied: set[str]) -> None:
        if self.is_open(scope):
            self.runtime.restrict(scope, deny=denied & self.inherited(scope))

    @rule(scope=scopes, allowed=name_sets)
    def allow_only(self, scope: ScopeId, allowed: set[str]) -> None:
        """The discovery tools are never listed, and stay all the same."""
        if self.is_open(scope):
            self.runtime.restrict(scope, allow=(allowed & self.inherited(scope)) | ALWAYS_THERE)

    def inherited(self, scope: ScopeId) -> set[str]:
        return {tool.name for tool in self.runtime.tools(self.parents[scope])}

    @rule(definitions=st.lists(st.tuples(names, descriptions)))
    def mount_or_change_the_list(self, definitions: list[tuple[str, str]]) -> None:
        """The first list of a server mounts its tools; each later one says how they have changed."""
        listed: list[JsonValue] = [
            {"name": name, "description": description, "inputSchema": dict(NO_PARAMETERS)}
            for name, description in definitions
        ]

        async def arrange() -> None:
            await self.shelf.arrange(Listing(listed, unread=0))

        anyio.run(arrange)
        seen = {tool.name for tool in self.runtime.tools() if tool.name.startswith("mcp__srv__")}
        assert len(seen) == len({name for name, _ in definitions})

    @rule()
    def unmount(self) -> None:
        self.shelf.clear()
        assert not [tool for tool in self.runtime.tools() if tool.name.startswith("mcp__")]

    @rule(scope=st.none() | scopes, query=st.sampled_from(QUERIES))
    def search(self, scope: ScopeId | None, query: str) -> None:
        scope = GLOBAL if scope is None else scope
        if not self.is_open(scope):
            return

        async def compare() -> None:
            found = await value_of(self.runtime, "search_tools", scope, query=query)
            fresh = Catalog(self.runtime, eager=frozenset(EAGER))
            view, ranked = await fresh.ranked(query, scope)
            assert found_names(found) == [tool.name for tool in (ranked or view.tools)]

        anyio.run(compare)

    @invariant()
    def every_prefix_is_the_first_one(self) -> None:
        for scope in self.open:
            assert self.all_prefixes(scope) == self.prefixes

    @invariant()
    def every_listing_is_what_the_scope_sees(self) -> None:
        async def compare() -> None:
            for scope in self.open:
                listed = found_names(await value_of(self.runtime, "search_tools", scope))
                hidden = {"search_tools", "describe_tools", "invoke_tool", *ALWAYS_THERE}
                seen = {schema.name for schema in self.runtime.schemas(scope)} - hidden
                assert listed == sorted(seen, key=text_order)

        anyio.run(compare)


@pytest.mark.hypothesis
@pytest.mark.timeout(0)  # a nightly run takes many minutes, and the profile bounds it
def test_the_prefix_stays_and_no_answer_is_stale_whatever_comes_and_goes() -> None:
    run_state_machine_as_test(PrefixMachine, settings=settings(stateful_step_count=STEPS_MAX))
