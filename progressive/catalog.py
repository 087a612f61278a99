"""What a scope can discover: asked anew of the runtime whenever something has changed, and never otherwise."""

from bisect import bisect_left, insort
from collections import Counter
from dataclasses import dataclass
from typing import Any, Final

from anyio.lowlevel import checkpoint

from progressive.names import RESERVED, name_order, text_order
from progressive.ranking import ToolIndex
from tool_runtime import GLOBAL, Runtime, ScopeId, Tool, UnknownScopeError

__all__ = ["Catalog", "CatalogView"]

# Taking up a tool that was never analysed costs some hundred microseconds: others run in between.
_TAKEN_UP_AT_ONCE: Final = 4

# Each moves the rest of a list, which for some is still far less than sorting it again.
_CHANGES_ONE_BY_ONE_MAX: Final = 32

_NOTHING: Final = frozenset[Tool[Any]]()


@dataclass(frozen=True, slots=True)
class CatalogView:
    """The catalog of one scope at one moment.

    Attributes:
        tools: Without the reserved and the eager ones, in the order of names.
        members: The same.
    """

    tools: tuple[Tool[Any], ...]
    members: frozenset[Tool[Any]]

    def get(self, name: str) -> Tool[Any] | None:
        """Return the tool of exactly this name."""
        place = bisect_left(self.tools, text_order(name), key=name_order)
        found = self.tools[place : place + 1]
        return found[0] if found and found[0].name == name else None


_EMPTY: Final = CatalogView((), _NOTHING)


class Catalog:
    """The catalogs of all scopes of a runtime over one index, which one change of a tool costs one update.

    Attributes:
        index: Holds the tools of every open scope that has been searched.
    """

    def __init__(self, runtime: Runtime, *, eager: frozenset[str]) -> None:
        self._runtime = runtime
        self._left_out = RESERVED | eager
        self._revision = runtime.revision
        # As of the moment when each scope last asked; `_current` holds those of now.
        self._views: dict[ScopeId, CatalogView] = {}
        self._current: set[ScopeId] = set()
        self.index = ToolIndex()
        # What the index holds, and for which scopes: a tool that no scope holds any more leaves it.
        self._held: dict[ScopeId, set[Tool[Any]]] = {}
        self._holders = Counter[Tool[Any]]()
        self._taken_up: dict[ScopeId, CatalogView] = {}

    def view(self, scope: ScopeId | None = None) -> CatalogView:
        """Return the catalog of a scope as it is now.

        Raises:
            UnknownScopeError: The scope is not open.
        """
        if self._revision != self._runtime.revision:
            self._current.clear()
            self._release_closed_scopes()
            self._revision = self._runtime.revision
        scope = GLOBAL if scope is None else scope
        if scope not in self._current:
            # A pass over the names of a large catalog would cost more than all the rest.
            left_out = {self._runtime.get(name, scope) for name in self._left_out}
            members = frozenset(self._runtime.tools(scope)) - left_out
            self._views[scope] = _changed(self._views.get(scope, _EMPTY), members)
            self._current.add(scope)
        return self._views[scope]

    async def ranked(self, query: str, scope: ScopeId | None = None) -> tuple[CatalogView, list[Tool[Any]]]:
        """Return the catalog of a scope and its tools that match a query, best first.

        Others run while new tools are taken up; the answer is of the moment when it is given.

        Raises:
            UnknownScopeError: The scope is not open, or was closed meanwhile.
        """
        scope = GLOBAL if scope is None else scope
        view = self.view(scope)
        while True:
            await self._prepare(scope, view)
            current = self.view(scope)
            if current is view:
                break
            view = current
        self._take_up(scope, view)
        return view, self.index.rank(query, view.members)

    async def _prepare(self, scope: ScopeId, view: CatalogView) -> None:
        """Do the most of `_take_up` in steps, each of which leaves the index right for everybody."""
        if self._taken_up.get(scope) is view:
            return
        missing = view.members - self._held.get(scope, _NOTHING)
        for number, tool in enumerate(missing, start=1):
            self._hold(scope, tool)
            if number % _TAKEN_UP_AT_ONCE == 0:
                await checkpoint()

    def _take_up(self, scope: ScopeId, view: CatalogView) -> None:
        if self._taken_up.get(scope) is view:
            return
        held = self._held.get(scope, _NOTHING)
        for tool in view.members - held:
            self._hold(scope, tool)
        for tool in held - view.members:
            self._release(scope, tool)
        self._taken_up[scope] = view

    def _hold(self, scope: ScopeId, tool: Tool[Any]) -> None:
        held = self._held.setdefault(scope, set())
        if tool in held:
            return
        if not self._holders[tool]:
            self.index.add(tool)
        self._holders[tool] += 1
        held.add(tool)

    def _release(self, scope: ScopeId, tool: Tool[Any]) -> None:
        self._held[scope].remove(tool)
        self._holders[tool] -= 1
        if not self._holders[tool]:
            del self._holders[tool]
            self.index.remove(tool)

    def _release_closed_scopes(self) -> None:
        for scope in [scope for scope in self._views if not self._is_open(scope)]:
            for tool in tuple(self._held.get(scope, ())):
                self._release(scope, tool)
            self._held.pop(scope, None)
            self._taken_up.pop(scope, None)
            del self._views[scope]

    def _is_open(self, scope: ScopeId) -> bool:
        try:
            self._runtime.get("", scope)
        except UnknownScopeError:
            return False
        return True


def _changed(view: CatalogView, members: frozenset[Tool[Any]]) -> CatalogView:
    """Return the view of these tools, made of an earlier one; that itself if nothing has changed."""
    added, gone = members - view.members, view.members - members
    if not added and not gone:
        return view
    if len(added) + len(gone) > _CHANGES_ONE_BY_ONE_MAX:
        return CatalogView(tuple(sorted(members, key=name_order)), members)
    tools = list(view.tools)
    for tool in gone:
        del tools[bisect_left(tools, name_order(tool), key=name_order)]
    for tool in added:
        insort(tools, tool, key=name_order)
    return CatalogView(tuple(tools), members)
