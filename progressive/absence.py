"""Why a name cannot be had, and what may have been meant."""

from collections.abc import Sequence
from typing import Final, Protocol

from progressive.catalog import CatalogView
from progressive.names import RESERVED
from tool_runtime import RuntimeCode, ToolContext, ToolError
from tool_runtime.problems import cut
from tool_runtime.suggestions import close_names

__all__ = ["NAME_CHARS_SHOWN_MAX", "Absences", "unavailable"]

NAME_CHARS_SHOWN_MAX: Final = 100
_SUGGESTIONS_MAX: Final = 3


class Absences(Protocol):
    """Knows of tools that are not there for the moment, such as those of servers that are not connected."""

    def absent_note(self) -> str | None:
        """Return in one line what is missing from the catalog for the moment; None if nothing is."""
        ...

    def why_absent(self, name: str) -> str | None:
        """Return in one line why a tool of this name may be missing; None if nothing is known of it."""
        ...


def unavailable(
    names: Sequence[str],
    view: CatalogView,
    context: ToolContext,
    *,
    eager: Sequence[str],
    absences: Absences | None,
) -> ToolError:
    """Return the error that says of each name why it is no entry of the catalog."""
    known = [tool.name for tool in view.tools]
    reasons = [_reason(name, known, context, eager=eager, absences=absences) for name in names]
    return ToolError(RuntimeCode.UNKNOWN_TOOL, "; ".join(reasons))


def _reason(
    name: str, known: Sequence[str], context: ToolContext, *, eager: Sequence[str], absences: Absences | None
) -> str:
    shown = repr(cut(name, NAME_CHARS_SHOWN_MAX))  # with escapes for whatever cannot be printed
    is_visible = context.runtime.get(name, context.scope) is not None
    if is_visible and name in eager:
        return f"{shown} is already declared: call it by its name"
    if is_visible and name in RESERVED:
        return f"{shown} belongs to the discovery of tools and is no entry of the catalog"
    why = absences.why_absent(name) if absences is not None else None
    if why is not None:
        return f"there is no tool {shown} now: {why}"
    close = _own_name(name, known) or close_names(name, known, count_max=_SUGGESTIONS_MAX)
    hint = f"did you mean {' or '.join(close)}?" if close else "search_tools lists what there is"
    return f"there is no tool {shown}; {hint}"


def _own_name(name: str, known: Sequence[str]) -> list[str]:
    """Return the mounted tools that are called so on their servers."""
    return [other for other in known if other.endswith(f"__{name}")][:_SUGGESTIONS_MAX]
