"""Outcomes of searches as structured values. Pure."""

from collections.abc import Iterator, Mapping, Sequence
from itertools import islice
from typing import Final

from fs_core.errors import quote_path
from fs_core.search.outcomes import Bound, Globbed, Grepped, MatchLine, SkipReason, TreeEntry, TreeListed
from tool_fs.page_notes import unseen_notes
from tool_fs.search.values import (
    EntryValue,
    FileMatchesValue,
    GlobValue,
    GrepValue,
    LineValue,
    ListDirValue,
    SkippedValue,
    TruncatedBy,
)
from tool_fs.values import NoteValue

__all__ = ["glob_value", "grep_value", "list_dir_value"]

_LINES_NAMED_MAX: Final = 5
_TRUNCATED_BY: Final[Mapping[Bound, TruncatedBy]] = {
    Bound.ENTRIES: "entries",
    Bound.MATCHES: "matches",
    Bound.BYTES: "bytes",
    Bound.SECONDS: "seconds",
}


def list_dir_value(listed: TreeListed, notes: Sequence[NoteValue]) -> ListDirValue:
    """Return the value of a listed tree, with `notes` on the arguments."""
    return ListDirValue(
        path=listed.start.display_path,
        entries=[_entry(entry) for entry in listed.entries],
        total=listed.total,
        exact=listed.is_exact,
        truncated_by=_truncated_by(listed.bound),
        skipped=_skipped(listed.skipped),
        notes=[*notes],
    )


def glob_value(globbed: Globbed) -> GlobValue:
    """Return the value of paths that match."""
    return GlobValue(
        path=globbed.start.display_path,
        paths=[*globbed.paths],
        total=globbed.total,
        exact=globbed.is_exact,
        truncated_by=_truncated_by(globbed.bound),
        skipped=_skipped(globbed.skipped),
        notes=[],
    )


def grep_value(grepped: Grepped, notes: Sequence[NoteValue]) -> GrepValue:
    """Return the value of lines that match, with `notes` on the arguments before those on what is shown."""
    return GrepValue(
        path=grepped.start.display_path,
        files=[FileMatchesValue(path=file.path, lines=[_line(line) for line in file.lines]) for file in grepped.files],
        matches=grepped.matches,
        files_searched=grepped.files_searched,
        files_left=grepped.files_left,
        exact=grepped.is_exact,
        truncated_by=_truncated_by(grepped.bound),
        skipped=_skipped(grepped.skipped),
        notes=[*notes, *_cut_lines(grepped), *_unseen_characters(grepped)],
    )


def _truncated_by(bound: Bound | None) -> TruncatedBy | None:
    return None if bound is None else _TRUNCATED_BY[bound]


def _skipped(skipped: Mapping[SkipReason, int]) -> list[SkippedValue]:
    return [SkippedValue(kind=reason.value, count=skipped[reason]) for reason in SkipReason if skipped.get(reason)]


def _entry(entry: TreeEntry) -> EntryValue:
    value = EntryValue(path=entry.path, type=entry.kind.value, link=entry.is_link, addressable=entry.addressable)
    if entry.size_bytes is not None:
        value["size"] = entry.size_bytes
    if entry.omitted:
        value["omitted"] = entry.omitted
    return value


def _line(line: MatchLine) -> LineValue:
    value = LineValue(number=line.number, text=line.text, match=line.is_match)
    if line.length_chars is not None:
        value["length"] = line.length_chars
        value["start"] = line.from_char
    return value


def _cut_lines(grepped: Grepped) -> Iterator[NoteValue]:
    cut = [(file.path, line) for file in grepped.files for line in file.lines if line.length_chars is not None]
    for path, line in islice(cut, _LINES_NAMED_MAX):
        first, last = line.from_char + 1, line.from_char + len(line.text)
        shown = f"characters {first} to {last} of {line.length_chars} are shown"
        yield NoteValue(kind="line_cut", text=f"{_place((path, line.number))} is cut: {shown}")
    if len(cut) > _LINES_NAMED_MAX:
        yield NoteValue(kind="line_cut", text=f"{len(cut) - _LINES_NAMED_MAX} more lines are cut")


def _unseen_characters(grepped: Grepped) -> Iterator[NoteValue]:
    lines = (((file.path, line.number), line.text) for file in grepped.files for line in file.lines)
    return unseen_notes(lines, _place)


def _place(line: tuple[str, int]) -> str:
    path, number = line
    return f"{quote_path(path)} line {number}"
