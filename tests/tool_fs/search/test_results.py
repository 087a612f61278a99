"""The structured values of outcomes made by hand."""

from fs_core.search.outcomes import (
    Bound,
    FileMatches,
    Globbed,
    Grepped,
    MatchLine,
    SkipReason,
    TreeEntry,
    TreeListed,
)
from fs_core.types import FileKind, Target, TargetKey
from tool_fs.search.results import glob_value, grep_value, list_dir_value
from tool_fs.values import NoteValue

SRC = Target(TargetKey("src"), "src")
NOTE = NoteValue(kind="depth_clamped", text="so")


def test_the_value_of_a_listed_tree() -> None:
    outcome = TreeListed(
        start=SRC,
        entries=(
            TreeEntry(path="src/a", kind=FileKind.FILE, size_bytes=0),
            TreeEntry(path="src/b", kind=FileKind.DIRECTORY, omitted=5),
            TreeEntry(path="src/c", kind=FileKind.OTHER, is_link=True),
            TreeEntry(path="src//d", kind=FileKind.FILE, size_bytes=1, addressable=False),
        ),
        total=9,
        is_exact=False,
        bound=Bound.SECONDS,
        skipped={SkipReason.DENIED: 1, SkipReason.IGNORED: 2, SkipReason.LINK: 0},
    )
    assert list_dir_value(outcome, [NOTE]) == {
        "path": "src",
        "entries": [
            {"path": "src/a", "type": "file", "link": False, "addressable": True, "size": 0},
            {"path": "src/b", "type": "directory", "link": False, "addressable": True, "omitted": 5},
            {"path": "src/c", "type": "other", "link": True, "addressable": True},
            {"path": "src//d", "type": "file", "link": False, "addressable": False, "size": 1},
        ],
        "total": 9,
        "exact": False,
        "truncated_by": "seconds",
        "skipped": [{"kind": "ignored", "count": 2}, {"kind": "denied", "count": 1}],
        "notes": [{"kind": "depth_clamped", "text": "so"}],
    }


def test_the_value_of_paths() -> None:
    assert glob_value(Globbed(start=SRC, paths=("src/a", "src/b/"), total=3, bound=Bound.ENTRIES)) == {
        "path": "src",
        "paths": ["src/a", "src/b/"],
        "total": 3,
        "exact": True,
        "truncated_by": "entries",
        "skipped": [],
        "notes": [],
    }


def test_the_value_of_matching_lines() -> None:
    lines = (
        MatchLine(1, "before", is_match=False),
        MatchLine(2, "hit"),
        MatchLine(3, "cut", length_chars=90, from_char=40),
    )
    outcome = Grepped(
        start=SRC, files=(FileMatches("src/a", lines),), matches=2, files_searched=4, files_left=5, bound=Bound.BYTES
    )
    assert grep_value(outcome, [NOTE]) == {
        "path": "src",
        "files": [
            {
                "path": "src/a",
                "lines": [
                    {"number": 1, "text": "before", "match": False},
                    {"number": 2, "text": "hit", "match": True},
                    {"number": 3, "text": "cut", "match": True, "length": 90, "start": 40},
                ],
            }
        ],
        "matches": 2,
        "files_searched": 4,
        "files_left": 5,
        "exact": True,
        "truncated_by": "bytes",
        "skipped": [],
        "notes": [
            {"kind": "depth_clamped", "text": "so"},
            {"kind": "line_cut", "text": "src/a line 3 is cut: characters 41 to 43 of 90 are shown"},
        ],
    }
