"""The system prompt: named sections with an order, assembled to the same bytes for the same set of sections."""

from __future__ import annotations

from dataclasses import dataclass

from tool_runtime.scopes import Disposer, ScopedTable, ScopeId, ScopeTree

__all__ = ["PromptSection", "SystemPrompt"]


@dataclass(frozen=True, slots=True, eq=False)
class PromptSection:
    """A part of the prompt; the order decides where it stands, the name how it is replaced."""

    name: str
    text: str
    order: int = 0


class SystemPrompt:
    """Sections of the prompt; one in an inner scope shadows that of the same name outside."""

    def __init__(self, scopes: ScopeTree) -> None:
        self._scopes = scopes
        self._sections = ScopedTable[PromptSection]("prompt section")

    def add(self, name: str, text: str, *, order: int = 0, scope: ScopeId | None = None) -> Disposer:
        """Add a section; an empty text hides the outer section of that name.

        Raises:
            DuplicateNameError: The scope has a section of that name.
        """
        return self._sections.add(name, PromptSection(name, text, order), self._scopes.resolved(scope))

    def text(self, scope: ScopeId | None = None, *, outer: tuple[PromptSection, ...] = ()) -> str:
        """Return the sections a scope sees, by order and then by name, with one empty line between them.

        `outer` are sections that depend on who asks, such as on the mode of an agent; any registered section of the
        same name shadows them.
        """
        seen = {section.name: section for section in outer}
        for ancestor in reversed(self._scopes.lineage(scope)):
            seen.update(self._sections.own(ancestor))
        ordered = sorted(seen.values(), key=lambda section: (section.order, section.name))
        return "\n\n".join(section.text for section in ordered if section.text)

    def drop(self, scopes: tuple[ScopeId, ...]) -> None:
        """Forget the sections of closed scopes."""
        self._sections.drop(scopes)
