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


@dataclass(frozen=True, slots=True)
class _Restriction:
    allow: frozenset[str] | None
    deny: frozenset[str]

    def admits(self, name: str) -> bool:
        return name not in self.deny and (self.allow is None or name in self.allow)


class Registry:
    """The tools of all scopes. A hidden tool is absent from every answer."""

    def __init__(self, scopes: ScopeTree) -> None:
        self._scopes = scopes
        self._tools = ScopedTable[Tool[Any]]("tool")
        self._restrictions: dict[ScopeId, list[_Restriction]] = {}

    def register(self, tool: Tool[Any], scope: ScopeId | None = None) -> Disposer:
        """Add a tool to a scope, by default the global one; it shadows tools of that name further out.

        Raises:
            DuplicateNameError: The scope has a tool of that name.
            UnknownScopeError: The scope is not open.
        """
        return self._tools.add(tool.name, tool, self._scopes.resolved(scope))

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

    def get(self, name: str, scope: ScopeId | None = None) -> Tool[Any] | None:
        """Return the tool that a scope sees under a name.

        Raises:
            UnknownScopeError: The scope is not open.
        """
        for ancestor in self._scopes.lineage(scope):
            tool = self._tools.own(ancestor).get(name)
            if tool is not None or not self._admits(ancestor, name):
                return tool
        return None

    def tools(self, scope: ScopeId | None = None) -> list[Tool[Any]]:
        """Return all tools that a scope sees, sorted by name; the objects themselves, so identity can key a cache.

        Raises:
            UnknownScopeError: The scope is not open.
        """
        visible = self._visible(self._scopes.lineage(scope))
        return [visible[name] for name in sorted(visible)]

    def schemas(self, scope: ScopeId | None = None) -> list[ToolSchema]:
        """Return detached descriptions of all tools that a scope sees, sorted by name.

        Raises:
            UnknownScopeError: The scope is not open.
        """
        return [tool.schema() for tool in self.tools(scope)]

    def drop(self, scopes: tuple[ScopeId, ...]) -> None:
        """Forget the tools and restrictions of closed scopes."""
        self._tools.drop(scopes)
        for scope in scopes:
            self._restrictions.pop(scope, None)

    def _visible(self, lineage: tuple[ScopeId, ...]) -> dict[str, Tool[Any]]:
        visible: dict[str, Tool[Any]] = {}
        for scope in reversed(lineage):
            visible = {name: tool for name, tool in visible.items() if self._admits(scope, name)}
            visible.update(self._tools.own(scope))
        return visible

    def _admits(self, scope: ScopeId, name: str) -> bool:
        return all(restriction.admits(name) for restriction in self._restrictions.get(scope, ()))
