"""The tools of a Messages request that a `tool_reference` may name."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING, cast

from progressive.formats import AnthropicTool, UnsupportedToolError, anthropic_tools
from progressive.native._anthropic_blocks import field, text_field
from progressive.native.disclosures import Definition, Described, Disclosures
from tool_runtime.checks import DRAFT_2020_12, is_schema

if TYPE_CHECKING:
    from anthropic.types import ToolParam

__all__ = ["Loaded", "Loads"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Loaded:
    """What becomes of one describe result.

    Attributes:
        names: Of the tools that references at its place load.
        rest: What it says of other tools, which the model has to read instead.
        refused: Names among those that no tool of this API may have, with the rule.
    """

    names: tuple[str, ...]
    rest: tuple[Definition, ...]
    refused: dict[str, str]


class Loads:
    """Tools that are loaded where they are referred to: those that the request defers itself, and the disclosed ones.

    Attributes:
        declared: Names of the tools that the model sees from the beginning.
        added: Declarations of the disclosed tools, in the order of their first disclosure.
    """

    def __init__(self, tools: Sequence[object]) -> None:
        named = {name: tool for tool in tools if (name := text_field(tool, "name"))}
        self.declared = frozenset(name for name, tool in named.items() if not field(tool, "defer_loading"))
        self.added: list[ToolParam] = []
        self._disclosures = Disclosures(named.keys())
        self._has_sets = len(named) < len(tools)
        self._deferred: dict[str, object] = {name: named[name] for name in named.keys() - self.declared}

    def __contains__(self, name: str) -> bool:
        """Whether a reference to a name is allowed at this place of the transcript."""
        return name in self._deferred

    def may_be_in_a_set(self, name: str) -> bool:
        """Whether a set of tools may hold it: its members have no entry of their own, and can be deferred."""
        return self._has_sets and name not in self.declared

    def take(self, described: Described) -> Loaded:
        """Take up the next describe result of the transcript."""
        first = {tool.name: tool for tool in self._disclosures.take(described)}
        names: dict[str, None] = {}
        rest: list[Definition] = []
        refused: dict[str, str] = {}
        for definition in described.tools:
            try:
                tool = _declaration(definition)
            except UnsupportedToolError as error:
                refused[definition.name] = error.rule
                rest.append(definition)
                continue
            if first.get(definition.name) is definition:
                deferred = cast("ToolParam", {**tool, "defer_loading": True})
                self._deferred[definition.name] = deferred
                self.added.append(deferred)
            if self._says_the_same(tool):
                names[definition.name] = None
            else:
                rest.append(definition)
        return Loaded(names=tuple(names), rest=tuple(rest), refused=refused)

    def _says_the_same(self, tool: AnthropicTool) -> bool:
        """Whether a reference would load just this; a name may stand for a tool that has changed since."""
        known = self._deferred.get(tool["name"])
        return (
            known is not None
            and field(known, "description") == tool["description"]
            and field(known, "input_schema") == tool["input_schema"]
        )


def _declaration(definition: Definition) -> AnthropicTool:
    """Return a tool as the API takes it, with its own schema wherever the API takes that.

    Raises:
        UnsupportedToolError: The API takes no tool of that name.
    """
    # If the API would refuse it for its schema, the open form is taken; if for its name, it refuses that form as well.
    with suppress(ValueError):
        # It refuses what is no schema of this draft, even if it names another.
        if is_schema(definition.parameters, draft=DRAFT_2020_12):
            return anthropic_tools([definition.schema()])[0]
    return anthropic_tools([definition.opened().schema()])[0]
