"""What a search returns, within its bounds, and the text of it."""

import json
from collections.abc import Sequence
from typing import Any, Final, cast

from pydantic import JsonValue

from progressive.graphemes import cut_text, one_line
from progressive.options import DisclosureOptions
from tool_runtime import JsonObject, Tool
from tool_runtime.payload import encode

__all__ = ["listing", "matches", "render_search"]

_NO_MATCH: Final = "no tool matches the query; these are all there are"
_FRAME_BYTES: Final = 256
"""Room for everything around the entries of a result."""


def listing(
    tools: Sequence[Tool[Any]], *, limit: int | None, options: DisclosureOptions, is_fallback: bool = False
) -> JsonObject:
    """Return a catalog in the order of names: all of it, unless a limit was asked for."""
    shown = tools if limit is None else tools[:limit]
    notes = [_NO_MATCH] if is_fallback and tools else []
    if len(shown) < len(tools):
        notes.append("leave out the limit for the complete list")
    return _result(shown, total=len(tools), notes=notes, options=options)


def matches(ranked: Sequence[Tool[Any]], *, limit: int, options: DisclosureOptions) -> JsonObject:
    """Return the best matches of a query."""
    shown = ranked[:limit]
    notes = ["more specific words bring others to the front"] if len(shown) < len(ranked) else []
    return _result(shown, total=len(ranked), notes=notes, options=options)


def render_search(value: JsonObject) -> str:
    """Return the text of a search result: how many there are, then one line for each."""
    entries = cast("list[dict[str, str]]", value["matches"])
    count, total = len(entries), cast("int", value["total"])
    head = f"{count} of {total} tools" if value["truncated"] else f"{total} tool{'s' * (total != 1)}"
    note = value.get("note")
    lines = [f"{head} ({note})" if note else head]
    for entry in entries:
        name, description = _shown_name(entry["name"]), entry.get("description")
        lines.append(f"{name}: {description}" if description else name)
    return "\n".join(lines)


def _result(tools: Sequence[Tool[Any]], *, total: int, notes: Sequence[str], options: DisclosureOptions) -> JsonObject:
    entries: list[JsonValue] = [{"name": tool.name} for tool in tools]
    described = _describe(entries, tools, options)
    if described < len(entries):
        notes = [*notes, f"descriptions from entry {described + 1} on are left out to keep the result small"]
    result: JsonObject = {"total": total, "truncated": len(tools) < total, "matches": entries}
    if notes:
        result["note"] = "; ".join(notes)
    return result


def _describe(entries: list[JsonValue], tools: Sequence[Tool[Any]], options: DisclosureOptions) -> int:
    """Add descriptions to the entries from the first on, as far as the bound allows; return how many have one."""
    left_bytes = options.max_result_bytes - len(encode(entries)) - _FRAME_BYTES
    for number, tool in enumerate(tools):
        summary = cut_text(one_line(tool.description), options.max_summary_chars)
        left_bytes -= len(encode({"description": summary}))
        if left_bytes < 0:
            return number
        entries[number] = {"name": tool.name, "description": summary}
    return len(tools)


def _shown_name(name: str) -> str:
    """Return a name as it is, or quoted where it would not be one word on one line."""
    return name if name.isprintable() and " " not in name else json.dumps(name, ensure_ascii=False)
