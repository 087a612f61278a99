"""What is shown of a search, to the letter, from outcomes made by hand."""

from collections.abc import Mapping

import pytest

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
from tool_fs.search.limits import SearchLimits
from tool_fs.search.render import show_glob, show_grep, show_list_dir, text_of
from tool_fs.search.results import glob_value, grep_value, list_dir_value

LIMITS = SearchLimits()
ROOT = Target(TargetKey("."), ".")
SRC = Target(TargetKey("src"), "src")


def file(path: str, size_bytes: int | None = 3) -> TreeEntry:
    return TreeEntry(path=path, kind=FileKind.FILE, size_bytes=size_bytes)


def listed(
    *entries: TreeEntry,
    total: int | None = None,
    bound: Bound | None = None,
    skipped: Mapping[SkipReason, int] | None = None,
    is_exact: bool = True,
    depth: int = 1,
    start: Target = ROOT,
) -> list[str]:
    outcome = TreeListed(
        start=start,
        entries=entries,
        total=len(entries) if total is None else total,
        is_exact=is_exact,
        bound=bound,
        skipped=skipped or {},
    )
    return text_of(show_list_dir(list_dir_value(outcome, []), depth=depth, limits=LIMITS)).split("\n")


def globbed(*paths: str, total: int | None = None, bound: Bound | None = None, is_exact: bool = True) -> list[str]:
    count = len(paths) if total is None else total
    outcome = Globbed(start=ROOT, paths=paths, total=count, bound=bound, is_exact=is_exact)
    return text_of(show_glob(glob_value(outcome), limits=LIMITS)).split("\n")


def grepped(
    *files: FileMatches,
    searched: int = 5,
    left: int = 0,
    bound: Bound | None = None,
    is_exact: bool = True,
    skipped: Mapping[SkipReason, int] | None = None,
) -> list[str]:
    outcome = Grepped(
        start=ROOT,
        files=files,
        matches=sum(line.is_match for found in files for line in found.lines),
        files_searched=searched,
        files_left=left,
        is_exact=is_exact,
        bound=bound,
        skipped=skipped or {},
    )
    return text_of(show_grep(grep_value(outcome, []), limits=LIMITS)).split("\n")


def test_entries_are_shown_with_what_they_are() -> None:
    assert listed(
        TreeEntry(path="bin", kind=FileKind.DIRECTORY),
        TreeEntry(path="lib", kind=FileKind.DIRECTORY, omitted=12),
        file("a b.txt", 1_234),
        file("vanished.txt", None),
        TreeEntry(path="current", kind=FileKind.DIRECTORY, is_link=True),
        TreeEntry(path="dangling", kind=FileKind.OTHER, is_link=True),
        TreeEntry(path="pipe", kind=FileKind.OTHER),
        TreeEntry(path="a//b", kind=FileKind.FILE, size_bytes=7, addressable=False),
    ) == [
        "bin/",
        "lib/\t12 in it not shown",
        "a b.txt\t1234",
        "vanished.txt",
        "current\tlink",
        "dangling\tlink",
        "pipe\tspecial",
        "a//b\t7, no path can name it",
        "(8 entries.)",
    ]


def test_one_entry_is_counted_as_one() -> None:
    assert listed(file("a"))[-1] == "(1 entry.)"


def test_an_empty_directory_is_told_apart_from_one_whose_entries_are_left_out() -> None:
    assert listed(start=SRC) == ["(src is empty.)"]
    assert listed(skipped={SkipReason.IGNORED: 2}, start=SRC) == ["(src holds nothing to show. Skipped: 2 ignored.)"]


def test_a_directory_that_was_not_listed_in_time_is_not_called_empty() -> None:
    assert listed(bound=Bound.SECONDS, start=SRC)[-1].startswith("(0 of 0 entries by the end of the 30 s")


@pytest.mark.parametrize(
    ("depth", "way"),
    [
        (1, "To see others list a directory in it, or find names with glob."),
        (2, "To see others list a directory in it, or a smaller depth."),
    ],
)
def test_a_cut_listing_tells_how_many_there_are_and_how_to_see_them(depth: int, way: str) -> None:
    shown = listed(file("a"), file("b"), total=9, bound=Bound.ENTRIES, depth=depth)
    assert shown[-1] == f"(2 of 9 entries, the first in order, as many as a result holds. {way})"


@pytest.mark.parametrize(
    ("bound", "reason"),
    [
        (Bound.ENTRIES, ", the first in order, as many as a result holds"),
        (Bound.BYTES, ", the first in order, as many as fit into 51200 bytes"),
    ],
)
def test_cut_paths_tell_the_bound(bound: Bound, reason: str) -> None:
    shown = globbed("a", total=3, bound=bound)
    assert shown == ["a", f"(1 of 3 paths{reason}. Narrow it with path or a narrower pattern.)"]


def test_a_search_that_ran_out_of_time_tells_no_exact_number() -> None:
    assert globbed("a", bound=Bound.SECONDS, is_exact=False)[-1] == (
        "(1 of at least 1 path by the end of the 30 s that a search has. Narrow it with path or a narrower pattern.)"
    )
    assert globbed(bound=Bound.SECONDS, is_exact=False) == [
        "(No path matches by the end of the 30 s that a search has.)"
    ]
    assert grepped(searched=2, left=7, bound=Bound.SECONDS, is_exact=False) == [
        "(No line matches by the end of the 30 s that a search has; 2 files searched, at least 7 left. "
        "Narrow it with path, include or a narrower pattern.)"
    ]


def test_what_was_not_looked_at_without_a_cut_makes_the_number_a_lower_bound() -> None:
    assert globbed("a", "b", is_exact=False)[-1] == "(At least 2 paths.)"


def test_paths_that_match_are_shown_one_a_line() -> None:
    assert globbed("a-b", "a.c", "a/") == ["a-b", "a.c", "a/", "(3 paths.)"]


def test_no_path_is_said() -> None:
    assert globbed() == ["(No path matches.)"]


def test_lines_are_shown_by_file_with_those_around_them() -> None:
    assert grepped(
        FileMatches("src/a.py", (MatchLine(9, "before", is_match=False), MatchLine(10, "\tx = 1"), MatchLine(40, ""))),
        FileMatches("src/b.py", (MatchLine(3, "x"),)),
        searched=57,
        skipped={SkipReason.BINARY: 2, SkipReason.IGNORED: 3},
    ) == [
        "src/a.py",
        "9- before",
        "10: \tx = 1",
        "40: ",
        "",
        "src/b.py",
        "3: x",
        "(3 matching lines in 2 files; 57 files searched. Skipped: 3 ignored, 2 binary.)",
    ]


def test_a_search_that_did_not_see_all_names_says_so() -> None:
    assert grepped(searched=2, is_exact=False, skipped={SkipReason.TOO_LARGE: 1}) == [
        "(No line matches; 2 files searched, not all there are, since a directory has more names than are looked at; "
        "search below it with path. Skipped: 1 too large.)"
    ]


def test_no_line_is_said_with_how_many_files_were_searched() -> None:
    assert grepped(searched=57) == ["(No line matches; 57 files searched.)"]
    assert grepped(searched=1) == ["(No line matches; 1 file searched.)"]


def test_a_cut_search_tells_what_is_left_and_how_to_narrow_it() -> None:
    assert grepped(FileMatches("a", (MatchLine(1, "x"),)), left=12, bound=Bound.MATCHES)[-1] == (
        "(1 matching line in 1 file, the first in order, as many as a result holds; 5 files searched, 12 left. "
        "Narrow it with path, include or a narrower pattern.)"
    )


def test_everything_that_can_be_skipped_has_a_word() -> None:
    assert grepped(skipped={SkipReason.LINK: 2, SkipReason.SPECIAL: 3}) == [
        "(No line matches; 5 files searched. Skipped: 2 links, 3 special files.)"
    ]
    assert grepped(skipped=dict.fromkeys(SkipReason, 1)) == [
        "(No line matches; 5 files searched. Skipped: 1 ignored, 1 link, 1 special file, 1 not permitted, "
        "1 that no path can name, 1 binary, 1 not UTF-8, 1 too large, 1 changed meanwhile, 1 failed.)"
    ]


@pytest.mark.parametrize(
    ("path", "shown"),
    [
        pytest.param("a\nb", r"'a\nb'", id="newline"),
        pytest.param("a\tlink", r"'a\tlink'", id="tab"),
        pytest.param("a\x1b[31m", r"'a\x1b[31m'", id="escape"),
        pytest.param("a\u2028b", r"'a\u2028b'", id="line separator"),
        pytest.param("a\x85b", r"'a\x85b'", id="next line"),
        pytest.param(" a", "' a'", id="leading space"),
        pytest.param("(9 entries.)", "'(9 entries.)'", id="like the last line"),
        pytest.param("12: x = 1", "'12: x = 1'", id="like a matching line"),
        pytest.param("12-", "'12-'", id="like a line around that is empty, without its space"),
        pytest.param("12- x = 1", "'12- x = 1'", id="like a line around one"),
        pytest.param("'a'", "\"'a'\"", id="in quotes already"),
        pytest.param("12", "12", id="a number alone"),
        pytest.param("caf\u00e9 (1).txt", "caf\u00e9 (1).txt", id="ordinary"),
        pytest.param("x" * 600, "x" * 600, id="long"),
    ],
)
def test_no_name_can_make_up_a_row(path: str, shown: str) -> None:
    note = " Paths in quotes are written as in Python." if shown != path else ""
    assert listed(file(path)) == [f"{shown}\t3", f"(1 entry.{note})"]
    assert globbed(path) == [shown, f"(1 path.{note})"]
    assert grepped(FileMatches(path, (MatchLine(1, "x"),)), searched=1) == [
        shown,
        "1: x",
        f"(1 matching line in 1 file; 1 file searched.{note})",
    ]


def test_the_name_of_a_directory_is_quoted_with_its_slash() -> None:
    assert listed(TreeEntry(path="a\nb", kind=FileKind.DIRECTORY))[0] == r"'a\nb/'"


def test_text_of_a_line_stands_raw_and_what_cannot_be_seen_in_it_is_named() -> None:
    assert grepped(FileMatches("a\nb", (MatchLine(2, "x\r(No line\x1b matches.)\u2028"),)))[1:] == [
        "2: x\r(No line\x1b matches.)\u2028",
        r"(Note: 'a\nb' line 2 holds U+000D CARRIAGE RETURN, U+001B ESCAPE, U+2028 LINE SEPARATOR.)",
        "(1 matching line in 1 file; 5 files searched. Paths in quotes are written as in Python.)",
    ]


def test_a_cut_line_tells_which_part_of_it_is_shown() -> None:
    shown = grepped(
        FileMatches("a", tuple(MatchLine(number, "x" * 9, length_chars=50, from_char=20) for number in range(1, 8)))
    )
    notes = shown[8:-1]
    assert notes[0] == "(Note: a line 1 is cut: characters 21 to 29 of 50 are shown.)"
    assert len(notes) == 6
    assert notes[-1] == "(Note: 2 more lines are cut.)"
