"""Nested scopes (the global one, an agent, its child) and tables of named things that live in them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Generic, NewType, TypeAlias, TypeVar

__all__ = ["GLOBAL", "Disposer", "DuplicateNameError", "ScopeId", "ScopeTree", "ScopedTable", "UnknownScopeError"]

ScopeId = NewType("ScopeId", int)

GLOBAL = ScopeId(0)
"""The scope that every other one inherits from; it cannot be closed."""

Disposer: TypeAlias = Callable[[], None]
"""Undoes one registration; calling it again, or after its scope was closed, does nothing."""

ValueT = TypeVar("ValueT")


class UnknownScopeError(LookupError):
    """Raised when a scope was closed or never created."""


class DuplicateNameError(ValueError):
    """Raised when a name is already taken in the same scope."""


class ScopeTree:
    """The scopes that are open. Ids are never used again."""

    def __init__(self) -> None:
        self._parents: dict[ScopeId, ScopeId | None] = {GLOBAL: None}
        self._next = GLOBAL + 1

    def open(self, parent: ScopeId | None = None) -> ScopeId:
        """Return a new scope inside a parent, by default inside the global one."""
        parent = self.resolved(parent)
        scope = ScopeId(self._next)
        self._next += 1
        self._parents[scope] = parent
        return scope

    def close(self, scope: ScopeId) -> tuple[ScopeId, ...]:
        """Close a scope and everything inside it; return all that were closed.

        Raises:
            UnknownScopeError: The scope is not open.
            ValueError: The scope is the global one.
        """
        if self.resolved(scope) == GLOBAL:
            raise ValueError("the global scope cannot be closed")
        closed = tuple(inner for inner in self._parents if scope in self.lineage(inner))
        for inner in closed:
            del self._parents[inner]
        return closed

    def resolved(self, scope: ScopeId | None) -> ScopeId:
        """Return the scope itself, the global one for None.

        Raises:
            UnknownScopeError: The scope is not open.
        """
        scope = GLOBAL if scope is None else scope
        if scope not in self._parents:
            raise UnknownScopeError(f"scope {scope} is closed or was never created")
        return scope

    def lineage(self, scope: ScopeId | None) -> tuple[ScopeId, ...]:
        """Return the scope and its ancestors, innermost first, the global one last."""
        lineage: list[ScopeId] = []
        current: ScopeId | None = self.resolved(scope)
        while current is not None:
            lineage.append(current)
            current = self._parents[current]
        return tuple(lineage)


class ScopedTable(Generic[ValueT]):
    """Named values, each registered in one scope; a name is unique within its scope only."""

    def __init__(self, kind: str) -> None:
        self._kind = kind
        self._entries: dict[ScopeId, dict[str, ValueT]] = {}

    def add(self, name: str, value: ValueT, scope: ScopeId) -> Disposer:
        """Register a value.

        Raises:
            DuplicateNameError: The scope has that name already.
        """
        entries = self._entries.setdefault(scope, {})
        if name in entries:
            raise DuplicateNameError(f"the {self._kind} {name!r} is already registered in scope {scope}")
        entries[name] = value

        def dispose() -> None:
            if entries.get(name) is value:
                del entries[name]

        return dispose

    def own(self, scope: ScopeId) -> Mapping[str, ValueT]:
        """Return what was registered in the scope itself."""
        return self._entries.get(scope, {})

    def drop(self, scopes: Iterable[ScopeId]) -> None:
        """Forget everything registered in these scopes."""
        for scope in scopes:
            self._entries.pop(scope, None)
