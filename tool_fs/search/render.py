"""What is shown of a search: rows, then what stands below them. Pure.

A row begins with a path or with the number of a line, and no name can make one up: a path that holds what ends a row,
or begins as another kind of row does, stands in quotes. Text of lines stands raw, as in `read`.
"""

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Final, Literal

from tool_fs.search.limits import SearchLimits
from tool_fs.search.values import EntryValue, GlobValue, GrepValue, ListDirValue, SkippedValue
from tool_fs.values import NoteValue

__all__ = ["Row", "Shown", "show_glob", "show_grep", "show_list_dir", "text_of"]

_LIKE_ANOTHER_ROW: Final = re.compile(r"[(\"']|[0-9]+[:-](?: |$)")
_SKIPPED_AS: Final = {
    "ignored": ("ignored", "ignored"),
    "link": ("link", "links"),
    "special": ("special file", "special files"),
    "denied": ("not permitted", "not permitted"),
    "unnameable": ("that no path can name", "that no path can name"),
    "binary": ("binary", "binary"),
    "undecodable": ("not UTF-8", "not UTF-8"),
    "too_large": ("too large", "too large"),
    "vanished": ("changed meanwhile", "changed meanwhile"),
    "failed": ("failed", "failed"),
}
"""What one skipped thing of a kind is called, and several."""


@dataclass(frozen=True, slots=True)
class Row:
    """One row: a path, the number of a line, or nothing between two files; and what follows it."""

    kind: Literal["path", "match", "context", "gap"]
    head: str = ""
    tail: str = ""


@dataclass(frozen=True, slots=True)
class Shown:
    """A result for a reader: its rows, and the lines below them, of which the last says how much there is."""

    rows: Sequence[Row]
    below: Sequence[str]


def text_of(shown: Shown) -> str:
    """Return the text for a model."""
    return "\n".join([*(row.head + row.tail for row in shown.rows), *shown.below])


def show_list_dir(value: ListDirValue, *, depth: int, limits: SearchLimits) -> Shown:
    """Return entries, one path a row: `/` behind directories, sizes and what else there is to know behind a tab."""
    rows = [_entry_row(entry) for entry in value["entries"]]
    if rows or value["total"] or value["truncated_by"]:
        narrower = "a smaller depth" if depth > 1 else "find names with glob"
        narrower = f"To see others list a directory in it, or {narrower}."
        count = _share(len(rows), value, ("entry", "entries"), limits, narrower)
    else:
        count = f"{_path(value['path'])} {'holds nothing to show' if value['skipped'] else 'is empty'}."
    return Shown(rows, _below(rows, value["notes"], count, value["skipped"]))


def show_glob(value: GlobValue, *, limits: SearchLimits) -> Shown:
    """Return paths, one a row."""
    rows = [Row("path", _path(path)) for path in value["paths"]]
    if rows or value["total"]:
        count = _share(len(rows), value, ("path", "paths"), limits, "Narrow it with path or a narrower pattern.")
    else:
        count = f"No path matches{_ended(value['truncated_by'], limits)}."
    return Shown(rows, _below(rows, value["notes"], count, value["skipped"]))


def show_grep(value: GrepValue, *, limits: SearchLimits) -> Shown:
    """Return lines by file: its path, then `N: text` for a line that matches and `N- text` for one around it."""
    rows = [*_line_rows(value)]
    searched, left = _count(value["files_searched"], "file", "files"), ""
    if value["truncated_by"]:
        at_least = "" if value["exact"] else "at least "
        left = f", {at_least}{value['files_left']} left. Narrow it with path, include or a narrower pattern"
    elif not value["exact"]:
        left = ", not all there are, since a directory has more names than are looked at; search below it with path"
    if rows:
        matches = _count(value["matches"], "matching line", "matching lines")
        found = f"{matches} in {_count(len(value['files']), 'file', 'files')}"
    else:
        found = "No line matches"
    count = f"{found}{_ended(value['truncated_by'], limits)}; {searched} searched{left}."
    return Shown(rows, _below(rows, value["notes"], count, value["skipped"]))


def _line_rows(value: GrepValue) -> Iterator[Row]:
    for index, file in enumerate(value["files"]):
        if index:
            yield Row("gap")
        yield Row("path", _path(file["path"]))
        for line in file["lines"]:
            if line["match"]:
                yield Row("match", str(line["number"]), f": {line['text']}")
            else:
                yield Row("context", str(line["number"]), f"- {line['text']}")


def _path(path: str) -> str:
    """Return a path for the beginning of a row, whole, so that it can be sent back."""
    is_plain = path.isprintable() and path.strip() == path and not _LIKE_ANOTHER_ROW.match(path)
    return path if is_plain else repr(path)


def _entry_row(entry: EntryValue) -> Row:
    is_directory = entry["type"] == "directory" and not entry["link"]
    facts: list[str] = []
    if entry["link"]:
        facts.append("link")
    elif entry["type"] == "other":
        facts.append("special")
    if (size_bytes := entry.get("size")) is not None:
        facts.append(str(size_bytes))
    if omitted := entry.get("omitted"):
        facts.append(f"{omitted} in it not shown")
    if not entry["addressable"]:
        facts.append("no path can name it")
    # No path that stands without quotes holds a tab.
    return Row("path", _path(entry["path"] + "/" * is_directory), f"\t{', '.join(facts)}" if facts else "")


def _share(
    shown: int, value: ListDirValue | GlobValue, nouns: tuple[str, str], limits: SearchLimits, narrower: str
) -> str:
    """Return how many there are, how many of them are shown, and how to get at the others."""
    total = _count(value["total"], *nouns)
    if shown == value["total"] and not value["truncated_by"]:
        return f"{'' if value['exact'] else 'At least '}{total}."
    total = total if value["exact"] else f"at least {total}"
    return f"{shown} of {total}{_ended(value['truncated_by'], limits)}. {narrower}"


def _ended(truncated_by: str | None, limits: SearchLimits) -> str:
    """Return which bound ended a search, as a part of a sentence."""
    match truncated_by:
        case "entries" | "matches":
            return ", the first in order, as many as a result holds"
        case "bytes":
            return f", the first in order, as many as fit into {limits.max_result_bytes} bytes"
        case "seconds":
            return f" by the end of the {limits.timeout_s:g} s that a search has"
        case _:
            return ""


def _below(rows: Sequence[Row], notes: Iterable[NoteValue], count: str, skipped: Sequence[SkippedValue]) -> list[str]:
    kinds = ", ".join(_count(entry["count"], *_SKIPPED_AS[entry["kind"]]) for entry in skipped)
    about_skipped = f" Skipped: {kinds}." if kinds else ""
    is_quoted = any(row.kind == "path" and row.head[0] in "'\"" for row in rows)
    about_quotes = " Paths in quotes are written as in Python." if is_quoted else ""
    return [*(f"(Note: {note['text']}.)" for note in notes), f"({count}{about_skipped}{about_quotes})"]


def _count(number: int, noun: str, nouns: str) -> str:
    return f"{number} {noun if number == 1 else nouns}"
