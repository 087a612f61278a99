"""What a scope can discover: asked anew of the runtime whenever something has changed, and never otherwise."""

import time
from bisect import bisect_left, insort
from collections import Counter, OrderedDict
from dataclasses import dataclass, field
from typing import Any, Final

from anyio.lowlevel import checkpoint

from progressive.names import RESERVED, name_order, text_order
from progressive.ranking import ToolIndex
from tool_runtime import GLOBAL, Runtime, ScopeId, Tool, UnknownScopeError

__all__ = ["Catalog", "CatalogView"]

# How long a search works on new tools before others have their turn.
_SLICE_S: Final = 0.002
# How often a search starts again because the tools have changed meanwhile; then it does the rest in one go.
_ROUNDS_MAX: Final = 3
# Each costs about a megabyte for 10,000 tools. One beyond that takes its own tools into the index again at a search.
_SCOPES_KEPT_MAX: Final = 32
# Each moves the rest of a list, which for some is still far less than sorting it again.
_CHANGES_ONE_BY_ONE_MAX: Final = 32


@dataclass(frozen=True, slots=True, eq=False)
class CatalogView:
    """What some scopes see at one moment: all visible tools but the reserved and the eager ones.

    Attributes:
        tools: In the order of names.
        members: The same tools, for set operations.
    """

    tools: tuple[Tool[Any], ...]
    members: frozenset[Tool[Any]]

    def get(self, name: str) -> Tool[Any] | None:
        """Return the tool of exactly this name."""
        place = bisect_left(self.tools, text_order(name), key=name_order)
        found = self.tools[place : place + 1]
        return found[0] if found and found[0].name == name else None


@dataclass(slots=True)
class _Kept:
    """What the index holds for a scope.

    Attributes:
        tools: Those.
        view: Whose tools they are; None while, or after a cancelled search, they are not all.
    """

    tools: set[Tool[Any]] = field(default_factory=set[Tool[Any]])
    view: CatalogView | None = None


class Catalog:
    """The catalogs of all scopes of a runtime, over one index that a change of one tool costs one update.

    Attributes:
        index: Holds the tools of the scopes that searched last, as they were then.
    """

    def __init__(self, runtime: Runtime, *, eager: frozenset[str]) -> None:
        self._runtime = runtime
        self._views = _Views(runtime, left_out=RESERVED | eager)
        self.index = ToolIndex()
        # The least recently searched scope first.
        self._kept = OrderedDict[ScopeId, _Kept]()
        self._holders = Counter[Tool[Any]]()

    def view(self, scope: ScopeId | None = None) -> CatalogView:
        """Return the catalog of a scope as it is now.

        Raises:
            UnknownScopeError: The scope is not open.
        """
        if self._views.forget_if_changed():
            for kept in [kept for kept in self._kept if not self._is_open(kept)]:
                self._drop(kept)
        return self._views.of(GLOBAL if scope is None else scope)

    async def ranked(self, query: str, scope: ScopeId | None = None) -> tuple[CatalogView, list[Tool[Any]]]:
        """Return the catalog of a scope and its tools that match a query, best first.

        Others run while new tools are taken into the index; the answer is of the moment when it is given.

        Raises:
            UnknownScopeError: The scope is not open, or was closed meanwhile.
        """
        scope = GLOBAL if scope is None else scope
        view = self.view(scope)
        for _ in range(_ROUNDS_MAX):
            await self._hold_in_slices(scope, view)
            before, view = view, self.view(scope)
            if view is before:
                break
        self._hold(scope, view)
        return view, self.index.rank(query, view.members)

    async def _hold_in_slices(self, scope: ScopeId, view: CatalogView) -> None:
        """Do most of what `_hold` does, in steps that each leave the index right for everybody."""
        kept = self._kept_for(scope)
        if kept.view is view:
            return
        kept.view = None
        slice_end_s = time.perf_counter() + _SLICE_S
        for tool in view.members - kept.tools:
            self._hold_one(kept, tool)
            if time.perf_counter() >= slice_end_s:
                await checkpoint()
                if self._kept.get(scope) is not kept:
                    return  # it was dropped: the scope was closed, or many others have searched
                slice_end_s = time.perf_counter() + _SLICE_S

    def _hold(self, scope: ScopeId, view: CatalogView) -> None:
        """Have the index hold the tools of a view for a scope, and no others for it."""
        kept = self._kept_for(scope)
        if kept.view is view:
            return
        for tool in view.members - kept.tools:
            self._hold_one(kept, tool)
        for tool in kept.tools - view.members:
            self._release_one(kept, tool)
        kept.view = view

    def _kept_for(self, scope: ScopeId) -> _Kept:
        """Return what is held for a scope; it will be the last to be dropped."""
        kept = self._kept.setdefault(scope, _Kept())
        self._kept.move_to_end(scope)
        if len(self._kept) > _SCOPES_KEPT_MAX:
            self._drop(next(iter(self._kept)))
        return kept

    def _hold_one(self, kept: _Kept, tool: Tool[Any]) -> None:
        if tool in kept.tools:
            return
        if not self._holders[tool]:
            self.index.add(tool)
        self._holders[tool] += 1
        kept.tools.add(tool)

    def _release_one(self, kept: _Kept, tool: Tool[Any]) -> None:
        kept.tools.remove(tool)
        self._holders[tool] -= 1
        if not self._holders[tool]:
            del self._holders[tool]
            self.index.remove(tool)

    def _drop(self, scope: ScopeId) -> None:
        kept = self._kept.pop(scope)
        for tool in tuple(kept.tools):
            self._release_one(kept, tool)

    def _is_open(self, scope: ScopeId) -> bool:
        try:
            self._runtime.get("", scope)
        except UnknownScopeError:
            return False
        return True


class _Views:
    """The views of the scopes that have asked since the last change."""

    def __init__(self, runtime: Runtime, *, left_out: frozenset[str]) -> None:
        self._runtime = runtime
        self._left_out = left_out
        self._revision = runtime.revision
        self._of_scopes: dict[ScopeId, CatalogView] = {}
        self._of_members: dict[frozenset[Tool[Any]], CatalogView] = {}
        # The next one differs little from it.
        self._latest = CatalogView((), frozenset())

    def forget_if_changed(self) -> bool:
        """Forget all views if something has changed since, and tell whether it has."""
        has_changed = self._revision != self._runtime.revision
        if has_changed:
            self._of_scopes.clear()
            self._of_members.clear()
            self._revision = self._runtime.revision
        return has_changed

    def of(self, scope: ScopeId) -> CatalogView:
        view = self._of_scopes.get(scope)
        if view is None:
            view = self._of_scopes[scope] = self._asked(scope)
        return view

    def _asked(self, scope: ScopeId) -> CatalogView:
        # A pass over the names of a large catalog would cost more than all the rest.
        left_out = {self._runtime.get(name, scope) for name in self._left_out}
        members = frozenset(self._runtime.tools(scope)) - left_out
        if members not in self._of_members:
            self._latest = self._of_members[members] = _changed(self._latest, members)
        return self._of_members[members]


def _changed(view: CatalogView, members: frozenset[Tool[Any]]) -> CatalogView:
    """Return the view of these tools, made of another one; that itself if it is of the same tools."""
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
