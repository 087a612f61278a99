"""Which tools a scope sees, answered anew at every question."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from tool_runtime.scopes import GLOBAL, Disposer, ScopedTable, ScopeId, ScopeTree
from tool_runtime.tool import Tool, ToolSchema

__all__ = ["Registry", "UnknownToolNameError"]


class UnknownToolNameError(ValueError):
    """Raised when a restriction names a tool that its scope does not inherit."""


@dataclass(frozen=True, slots=True, eq=False)
class _Registered:
    tool: Tool[Any]
    needs_listing: bool


@dataclass(frozen=True, slots=True)
class _Restriction:
    allow: frozenset[str] | None
    deny: frozenset[str]

    def admits(self, registered: _Registered) -> bool:
        name = registered.tool.name
        is_listed = self.allow is None or name in self.allow or not registered.needs_listing
        return is_listed and name not in self.deny


class Registry:
    """The tools of all scopes. A hidden tool is absent from every answer."""

    def __init__(self, scopes: ScopeTree) -> None:
        self._scopes = scopes
        self._tools = ScopedTable[_Registered]("tool")
        self._restrictions: dict[ScopeId, list[_Restriction]] = {}
        self.revision = 0
        """Grows with every change of what some scope may see, so that answers can be cached."""

    def register(self, tool: Tool[Any], scope: ScopeId | None = None, *, needs_listing: bool = True) -> Disposer:
        """Add a tool to a scope, by default the global one; it shadows tools of that name further out.

        Args:
            tool: The tool.
            scope: Where.
            needs_listing: Whether an allow list that leaves the tool out hides it. False is for what shows or runs
                other tools under the caller's own scope, and so gives nothing that was not allowed; a denial by name
                hides it all the same.

        Raises:
            DuplicateNameError: The scope has a tool of that name.
            UnknownScopeError: The scope is not open.
        """
        remove = self._tools.add(tool.name, _Registered(tool, needs_listing), self._scopes.resolved(scope))
        self.revision += 1

        def dispose() -> None:
            remove()
            self.revision += 1

        return dispose

    def restrict(self, scope: ScopeId, *, allow: Iterable[str] | None = None, deny: Iterable[str] = ()) -> None:
        """Narrow what a scope, and all inside it, inherits; its own tools stay. Restrictions add up and stay.

        Args:
            scope: Not the global one, which inherits nothing.
            allow: Only these; a tool registered later under another name stays hidden.
            deny: All but these; a tool registered later is seen.

        Raises:
            UnknownToolNameError: A name is not among the tools that the scope inherits.
            UnknownScopeError: The scope is not open.
        """
        if self._scopes.resolved(scope) == GLOBAL:
            raise ValueError("the global scope inherits nothing that could be restricted")
        restriction = _Restriction(None if allow is None else frozenset(allow), frozenset(deny))
        inherited = self._visible(self._scopes.lineage(scope)[1:])
        unknown = sorted((restriction.deny | (restriction.allow or frozenset())) - inherited.keys())
        if unknown:
            known = ", ".join(sorted(inherited)) or "none"
            raise UnknownToolNameError(
                f"scope {scope} inherits no tool named {', '.join(unknown)}; it inherits: {known}"
            )
        self._restrictions.setdefault(scope, []).append(restriction)
        self.revision += 1

    def get(self, name: str, scope: ScopeId | None = None) -> Tool[Any] | None:
        """Return the tool that a scope sees under a name.

        Raises:
            UnknownScopeError: The scope is not open.
        """
        restrictions: list[_Restriction] = []
        for ancestor in self._scopes.lineage(scope):
            registered = self._tools.own(ancestor).get(name)
            if registered is not None:
                return registered.tool if _admitted(registered, restrictions) else None
            restrictions += self._restrictions.get(ancestor, ())
        return None

    def tools(self, scope: ScopeId | None = None) -> list[Tool[Any]]:
        """Return all tools that a scope sees, sorted by name; the objects themselves, so identity can key a cache.

        Raises:
            UnknownScopeError: The scope is not open.
        """
        visible = self._visible(self._scopes.lineage(scope))
        return [visible[name].tool for name in sorted(visible)]

    def schemas(self, scope: ScopeId | None = None) -> list[ToolSchema]:
        """Return detached descriptions of all tools that a scope sees, sorted by name.

        Raises:
            UnknownScopeError: The scope is not open.
        """
        return [tool.schema() for tool in self.tools(scope)]

    def drop(self, scopes: tuple[ScopeId, ...]) -> None:
        """Forget the tools and restrictions of closed scopes."""
        for scope in scopes:
            self._restrictions.pop(scope, None)
        self._tools.drop(scopes)
        self.revision += 1

    def _visible(self, lineage: tuple[ScopeId, ...]) -> dict[str, _Registered]:
        visible: dict[str, _Registered] = {}
        for scope in reversed(lineage):
            restrictions = self._restrictions.get(scope)
            if restrictions:
                visible = {name: entry for name, entry in visible.items() if _admitted(entry, restrictions)}
            visible.update(self._tools.own(scope))
        return visible


def _admitted(registered: _Registered, restrictions: Iterable[_Restriction]) -> bool:
    return all(restriction.admits(registered) for restriction in restrictions)
