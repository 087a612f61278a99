"""What a search returns, within its bounds, and the text of it."""

from collections.abc import Sequence
from typing import Any, Final, cast
from weakref import WeakKeyDictionary

from pydantic import JsonValue

from progressive.options import DisclosureOptions
from progressive.texts import one_line
from tool_runtime import JsonObject, Tool
from tool_runtime.payload import encode

__all__ = ["Listings", "render_search", "with_note"]

_NO_MATCH: Final = "no tool matches the query; these are all that are not declared"
_FRAME_BYTES: Final = 512
"""Room for everything around the entries of a result."""


class Listings:
    """Search results, made of entries that each tool has once for all."""

    def __init__(self, options: DisclosureOptions) -> None:
        self._options = options
        self._summaries = WeakKeyDictionary[Tool[Any], tuple[str, int]]()

    def catalog(self, tools: Sequence[Tool[Any]], *, limit: int | None, is_fallback: bool) -> JsonObject:
        """Return a catalog in the order of names: all of it, unless a limit was asked for.

        Names are never left out; descriptions are, from that entry on with which the result would be too large.
        """
        shown = tools if limit is None else tools[:limit]
        notes = [_NO_MATCH] if is_fallback and tools else []
        if len(shown) < len(tools):
            notes.append("leave out the limit for the complete list")
        return self._result(shown, total=len(tools), notes=notes)

    def matches(self, ranked: Sequence[Tool[Any]], *, limit: int) -> JsonObject:
        """Return the best matches of a query."""
        shown = ranked[:limit]
        notes = ["more specific words bring others to the front"] if len(shown) < len(ranked) else []
        return self._result(shown, total=len(ranked), notes=notes)

    def _result(self, tools: Sequence[Tool[Any]], *, total: int, notes: Sequence[str]) -> JsonObject:
        entries: list[JsonValue] = [{"name": tool.name} for tool in tools]
        described = self._describe(entries, tools)
        if described < len(entries):
            notes = [*notes, f"descriptions from entry {described + 1} on are left out to keep the result small"]
        result: JsonObject = {"total": total, "truncated": len(tools) < total, "matches": entries}
        for note in notes:
            result = with_note(result, note)
        return result

    def _describe(self, entries: list[JsonValue], tools: Sequence[Tool[Any]]) -> int:
        """Add descriptions to the entries from the first on, as far as the bound allows; return how many have one."""
        left_bytes = self._options.max_result_bytes - len(encode(entries)) - _FRAME_BYTES
        for number, tool in enumerate(tools):
            summary, size_bytes = self._summary(tool)
            left_bytes -= size_bytes
            if left_bytes < 0:
                return number
            entries[number] = {"name": tool.name, "description": summary}
        return len(tools)

    def _summary(self, tool: Tool[Any]) -> tuple[str, int]:
        """Return the short description of a tool, and what it adds to its entry in bytes of JSON."""
        known = self._summaries.get(tool)
        if known is None:
            summary = one_line(tool.description, self._options.max_summary_chars)
            known = self._summaries[tool] = (summary, len(encode({"description": summary})))
        return known


def with_note(result: JsonObject, note: str) -> JsonObject:
    """Return a result that says one thing more."""
    before = result.get("note")
    return {**result, "note": f"{before}; {note}" if before else note}


def render_search(value: JsonObject) -> str:
    """Return the text of a search result: how many there are, then one line for each."""
    entries = cast("list[dict[str, str]]", value["matches"])
    count, total = len(entries), cast("int", value["total"])
    head = f"{count} of {total} tools" if value["truncated"] else f"{total} tool{'s' * (total != 1)}"
    note = value.get("note")
    lines = [f"{head} ({note})" if note else head]
    for entry in entries:
        description = entry.get("description")
        lines.append(f"{entry['name']}: {description}" if description else entry["name"])
    return "\n".join(lines)
