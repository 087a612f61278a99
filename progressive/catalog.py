"""What a scope can discover: asked anew of the runtime whenever something has changed, and never otherwise."""

from collections import Counter
from collections.abc import Mapping
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from typing import Any, Final

from anyio.lowlevel import checkpoint

from progressive.names import RESERVED, name_order
from progressive.ranking import ToolIndex
from tool_runtime import GLOBAL, Runtime, ScopeId, Tool, UnknownScopeError

__all__ = ["Catalog", "CatalogView"]

# Taking up a tool that was never analysed costs some hundred microseconds: others run in between.
_TAKEN_UP_AT_ONCE: Final = 8

_NOTHING: Final[AbstractSet[Tool[Any]]] = frozenset[Tool[Any]]()


@dataclass(frozen=True, slots=True)
class CatalogView:
    """The catalog of one scope at one moment.

    Attributes:
        tools: Without the reserved and the eager ones, in the order of names.
        by_name: The same.
        members: The same.
    """

    tools: tuple[Tool[Any], ...]
    by_name: Mapping[str, Tool[Any]]
    members: frozenset[Tool[Any]]


class Catalog:
    """The catalogs of all scopes of a runtime over one index, which one change of a tool costs one update.

    Attributes:
        index: Holds the tools of every open scope that has been searched.
    """

    def __init__(self, runtime: Runtime, *, eager: frozenset[str]) -> None:
        self._runtime = runtime
        self._left_out = RESERVED | eager
        self._revision = runtime.revision
        self._views: dict[ScopeId, CatalogView] = {}
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
            self._views.clear()
            self._release_closed_scopes()
            self._revision = self._runtime.revision
        scope = GLOBAL if scope is None else scope
        view = self._views.get(scope)
        if view is None:
            view = self._views[scope] = self._asked(scope)
        return view

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

    def _asked(self, scope: ScopeId) -> CatalogView:
        tools = [tool for tool in self._runtime.tools(scope) if tool.name not in self._left_out]
        tools.sort(key=name_order)
        return CatalogView(tuple(tools), {tool.name: tool for tool in tools}, frozenset(tools))

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
        for scope in tuple(self._held):
            if not self._is_open(scope):
                for tool in tuple(self._held[scope]):
                    self._release(scope, tool)
                del self._held[scope]
                self._taken_up.pop(scope, None)

    def _is_open(self, scope: ScopeId) -> bool:
        try:
            self._runtime.get("", scope)
        except UnknownScopeError:
            return False
        return True
