"""Structured results of the search tools: plain JSON.

Paths are relative to the root, as read takes them, and in one order on every store: as byte strings of whole paths,
with `/` behind the name of a directory.
"""

from typing import Annotated, Literal, NotRequired

from pydantic import Field
from typing_extensions import TypedDict

from tool_fs.values import NoteValue

__all__ = [
    "EntryValue",
    "FileMatchesValue",
    "GlobValue",
    "GrepValue",
    "LineValue",
    "ListDirValue",
    "SkippedValue",
    "TruncatedBy",
]

TruncatedBy = Literal["entries", "matches", "bytes", "seconds"]
_StartPath = Annotated[str, Field(description="Where the search began.")]
_Exact = Annotated[bool, Field(description="False where counts are lower bounds.")]
_OptionalNumber = Annotated[int | None, Field(json_schema_extra={"default": None})]


class SkippedValue(TypedDict):
    """How many things of a kind were not looked at: ignored, binary, undecodable, link and others."""

    kind: str
    count: int


class EntryValue(TypedDict):
    """One entry. `size` is in bytes; `link` marks a symbolic link, `addressable` is false for what no path can name.

    `omitted` is how many entries of a directory that was listed are not shown.
    """

    path: str
    type: Literal["file", "directory", "other"]
    size: NotRequired[_OptionalNumber]
    omitted: NotRequired[_OptionalNumber]
    link: bool
    addressable: bool


class ListDirValue(TypedDict):
    """Entries of a directory, and of those below it down to a depth."""

    path: _StartPath
    entries: list[EntryValue]
    total: Annotated[int, Field(description="All entries, shown or not.")]
    exact: _Exact
    truncated_by: TruncatedBy | None
    skipped: list[SkippedValue]
    notes: list[NoteValue]


class GlobValue(TypedDict):
    """Paths that match a pattern."""

    path: _StartPath
    paths: Annotated[list[str], Field(description="That of a directory ends with /.")]
    total: Annotated[int, Field(description="All paths that match, shown or not.")]
    exact: _Exact
    truncated_by: TruncatedBy | None
    skipped: list[SkippedValue]
    notes: list[NoteValue]


class LineValue(TypedDict):
    """A line, numbered as read numbers it.

    Where it is cut `length` is how many characters it has, and `start` how many of them come before `text`.
    """

    number: int
    text: str
    match: Annotated[bool, Field(description="False for a line around one that matches.")]
    length: NotRequired[_OptionalNumber]
    start: NotRequired[_OptionalNumber]


class FileMatchesValue(TypedDict):
    """Lines of one file that match, with those around them."""

    path: str
    lines: list[LineValue]


class GrepValue(TypedDict):
    """Lines that match a pattern, by file."""

    path: _StartPath
    files: list[FileMatchesValue]
    matches: Annotated[int, Field(description="Matching lines that are here.")]
    files_searched: int
    files_left: Annotated[int, Field(description="Not searched, as the search ended early.")]
    exact: _Exact
    truncated_by: TruncatedBy | None
    skipped: list[SkippedValue]
    notes: list[NoteValue]
