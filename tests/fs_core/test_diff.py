import difflib
import re
import time

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from fs_core.diff import common_affixes, content_diff, unified_diff
from fs_core.edit import Edit, Spliced, apply_edit
from fs_core.splice import Replacement, Splice

NO_NEWLINE = "\\ No newline at end of file"


def diff_of(before: bytes, after: bytes, *, path: str = "a.txt") -> str:
    return content_diff(before, after, path=path)


def split(text: bytes) -> list[str]:
    """Return the lines, each with its newline if it has one."""
    return [line for line in re.split(r"(?<=\n)", text.decode()) if line]


def hunks_of(diff: str) -> list[list[str]]:
    head, *rows = diff.removesuffix("\n").split("\n")
    assert head.startswith("--- ")
    assert rows[0].startswith("+++ ")
    hunks: list[list[str]] = []
    for row in rows[1:]:
        if row.startswith("@@"):
            hunks.append([])
        hunks[-1].append(row)
    return hunks


def sides(hunk: list[str]) -> tuple[list[str], list[str]]:
    """Return the old and the new lines of a hunk without its header."""
    old: list[str] = []
    new: list[str] = []
    touched: list[list[str]] = []
    for row in hunk[1:]:
        if row == NO_NEWLINE:
            for side in touched:
                side[-1] = side[-1].removesuffix("\n")
            continue
        touched = {" ": [old, new], "-": [old], "+": [new]}[row[0]]
        for side in touched:
            side.append(row[1:] + "\n")
    return old, new


def placed(header: str) -> tuple[int, int, int, int]:
    """Return where a hunk starts in the old and the new lines, from 0, and how many lines it has in each."""
    match = re.fullmatch(r"@@ -(\d+)(?:,(\d+))? \+(\d+)(?:,(\d+))? @@", header)
    assert match is not None, header
    old_line, old_count, new_line, new_count = (int(group or 1) for group in match.groups())
    return old_line - (old_count > 0), old_count, new_line - (new_count > 0), new_count


def patched(before: bytes, diff: str) -> bytes:
    """Apply a diff as strictly as can be: every range and every context line must be right."""
    old = split(before)
    new: list[str] = []
    position = 0
    for hunk in hunks_of(diff):
        removed, added = sides(hunk)
        old_start, old_count, new_start, new_count = placed(hunk[0])
        new += old[position:old_start]
        assert (old_count, new_count) == (len(removed), len(added))
        assert new_start == len(new)
        assert old[old_start : old_start + old_count] == removed
        new += added
        position = old_start + old_count
    return "".join(new + old[position:]).encode()


lines = st.sampled_from([b"\n", b"a\n", b"b\n", b"a\r\n", b"c d\n", b"-\n", b"+\n", "é\n".encode(), b"\r\n", b"@@\n"])
files = st.builds(bytes.__add__, st.lists(lines, max_size=14).map(b"".join), st.sampled_from([b"", b"a", b"b", b"\r"]))


@given(before=files, after=files)
@example(before=b"aXc\n1\n2\n3\n4\n5\n", after=b"a\nc\n1\n2\n3\n4\n5\n")
@example(before=b"a", after=b"a\n")
@example(before=b"", after=b"a")
def test_applying_the_diff_gives_the_new_text(before: bytes, after: bytes) -> None:
    diff = diff_of(before, after)
    if before == after:
        assert diff == ""
    else:
        assert patched(before, diff) == after


@given(
    before=files,
    old=st.sampled_from(["a", "a\n", "\n", "b\na"]),
    new=st.sampled_from(["", "a\nb\n", "\n", "x", "\n\n"]),
)
def test_applying_the_diff_of_an_edit_gives_the_edited_text(before: bytes, old: str, new: str) -> None:
    outcome = apply_edit(before, Edit(old, new, replace_all=True))
    if not isinstance(outcome, Spliced):
        assert old.encode() not in before
        return
    diff = unified_diff(outcome.splice, path="a.txt")
    assert outcome.splice.joined() == (patched(before, diff) if diff else before)


@given(before=files, after=files, ends=st.tuples(st.integers(0, 40), st.integers(0, 40)), cut=st.integers(0, 40))
def test_a_splice_is_shown_as_the_whole_new_text_is(
    before: bytes, after: bytes, ends: tuple[int, int], cut: int
) -> None:
    first, last = sorted(min(end, len(before)) for end in ends)
    middle = min(max(cut, first), last)
    halves = (Replacement(first, middle, after[:cut]), Replacement(middle, last, after[cut:]))
    in_two = Splice(before, tuple(one for one in halves if one.data or one.end > one.start))
    whole = Splice(before, (Replacement(first, last, after),))
    assert in_two.joined() == whole.joined()
    assert unified_diff(in_two, path="a.txt") == unified_diff(whole, path="a.txt")


@given(length=st.integers(0, 14), at=st.integers(0, 14), added=st.integers(0, 3), removed=st.integers(0, 3))
def test_one_change_looks_as_the_standard_library_shows_it(length: int, at: int, added: int, removed: int) -> None:
    # All lines differ, so that there is one smallest difference.
    old = [f"{number}\n" for number in range(length)]
    new = [*old[:at], *(f"new {number}\n" for number in range(added)), *old[at + removed :]]
    assert diff_of("".join(old).encode(), "".join(new).encode()) == "".join(
        difflib.unified_diff(old, new, "a.txt", "a.txt")
    )


@given(before=st.binary(max_size=30), after=st.binary(max_size=30), middle=st.binary(max_size=300))
def test_common_ends_are_the_longest_and_do_not_overlap(before: bytes, after: bytes, middle: bytes) -> None:
    one, other = middle + before + middle, middle + after + middle
    prefix, suffix = common_affixes(one, other)
    limit = min(len(one), len(other))
    assert prefix == next((index for index in range(limit) if one[index] != other[index]), limit)
    rest = limit - prefix
    assert suffix == next((index for index in range(rest) if one[-1 - index] != other[-1 - index]), rest)


def test_common_ends_are_found_across_blocks() -> None:
    before = b"a" * 200_000 + b"x" + b"b" * 300_000
    after = b"a" * 200_000 + b"yy" + b"b" * 300_000
    assert common_affixes(before, after) == (200_000, 300_000)
    assert common_affixes(before, before) == (500_001, 0)
    assert common_affixes(b"", before) == (0, 0)


@pytest.mark.parametrize(
    ("before", "after", "rows"),
    [
        pytest.param(b"a\nb\nc\n", b"a\nB\nc\n", ["@@ -1,3 +1,3 @@", " a", "-b", "+B", " c"], id="one line"),
        pytest.param(b"", b"a\n", ["@@ -0,0 +1 @@", "+a"], id="into an empty file"),
        pytest.param(b"a\n", b"", ["@@ -1 +0,0 @@", "-a"], id="to an empty file"),
        pytest.param(b"a", b"a\n", ["@@ -1 +1 @@", "-a", NO_NEWLINE, "+a"], id="newline at the end added"),
        pytest.param(b"a\n", b"a", ["@@ -1 +1 @@", "-a", "+a", NO_NEWLINE], id="newline at the end removed"),
        pytest.param(b"a\nb", b"A\nb", ["@@ -1,2 +1,2 @@", "-a", "+A", " b", NO_NEWLINE], id="context without newline"),
        pytest.param(b"a\r\nb\r\n", b"a\r\nc\r\n", ["@@ -1,2 +1,2 @@", " a\r", "-b\r", "+c\r"], id="crlf"),
        pytest.param(b"a\r\n", b"a\n", ["@@ -1 +1 @@", "-a\r", "+a"], id="line ending alone"),
        pytest.param(
            b"1\n2\n3\n4\n5\n", b"1\n2\n3\n4\nx\n5\n", ["@@ -2,4 +2,5 @@", " 2", " 3", " 4", "+x", " 5"], id="inserted"
        ),
        pytest.param(b"a\n" * 9, b"a\n" * 8, ["@@ -6,4 +6,3 @@", " a", " a", " a", "-a"], id="one of equal lines"),
    ],
)
def test_small_changes_look_as_people_know_them(before: bytes, after: bytes, rows: list[str]) -> None:
    assert diff_of(before, after).split("\n") == ["--- a.txt", "+++ a.txt", *rows, ""]


def test_line_numbers_are_those_of_the_file_far_behind_its_start() -> None:
    before = b"".join(b"%d\n" % number for number in range(1, 50_001))
    after = before.replace(b"\n40000\n", b"\nnew\n")
    assert diff_of(before, after).split("\n")[2:6] == ["@@ -39997,7 +39997,7 @@", " 39997", " 39998", " 39999"]


def test_a_long_line_is_cut_and_its_missing_newline_still_told() -> None:
    rows = diff_of(b"x" * 1000, b"x" * 1000 + b"\n").split("\n")
    assert rows[2:] == ["@@ -1 +1 @@", "-" + "x" * 399 + "...", NO_NEWLINE, "+" + "x" * 399 + "...", ""]


def test_a_change_deep_inside_a_very_long_line_shows_the_text_before_it() -> None:
    diff = diff_of(b"head\n" + b"x" * 300_000 + b"a" + b"y" * 1000, b"head\n" + b"x" * 300_000 + b"b" + b"y" * 1000)
    assert len(diff) < 2_000
    assert "@@ -2 +2 @@" in diff


@pytest.mark.parametrize("lines_between", [0, 1, 2, 3, 4])
def test_a_very_long_line_before_a_change_is_whole_context_or_none(lines_between: int) -> None:
    between = [f"{number}" for number in range(lines_between)]
    before = "".join(f"{line}\n" for line in ["x" * 100_000, *between, "old"])
    rows = diff_of(before.encode(), before.replace("old", "new").encode()).rstrip("\n").split("\n")
    context = between[-3:]
    first = lines_between + 2 - len(context)
    size = len(context) + 1
    header = f"@@ -{first},{size} +{first},{size} @@" if context else f"@@ -{first} +{first} @@"
    assert rows[2:] == [header, *(f" {line}" for line in context), "-old", "+new"]


def test_a_change_of_many_bytes_of_long_lines_is_told_not_shown() -> None:
    diff = diff_of(b"a" * 2_000_000, b"b" * 2_000_000)
    assert diff.split("\n")[2:] == ["[the change spans 2000000 bytes of long lines and is not shown]", ""]


def test_what_is_left_out_of_a_long_diff_is_counted() -> None:
    before = b"".join(b"%d\n" % number for number in range(400))
    rows = diff_of(before, b"").rstrip("\n").split("\n")
    assert rows[2] == "@@ -1,400 +0,0 @@"
    assert len(rows) == 2 + 120 + 1
    assert rows[-1] == "[281 more lines of the diff are not shown]"


def test_a_change_of_thousands_of_lines_is_one_block_with_context() -> None:
    before = b"0\n1\n2\n3\n" + b"old\n" * 1_500 + b"4\n5\n6\n7\n"
    after = before.replace(b"old\n", b"new\n")
    head = ["@@ -2,1506 +2,1506 @@", " 1", " 2", " 3", "-old"]
    assert diff_of(before, after).split("\n")[2:7] == head
    splice = Splice(before, (Replacement(8, len(before) - 8, after[8:-8]),))
    assert unified_diff(splice, path="a.txt").split("\n")[2:7] == head


def test_repetitive_lines_are_compared_in_good_time() -> None:
    before, after = b"a\nb\n" * 499, b"b\nb\na\n" * 330
    started_s = time.thread_time()
    diff = diff_of(before, after)
    assert time.thread_time() - started_s < 6
    assert diff.split("\n")[2] == "@@ -1,998 +1,990 @@"


def test_a_path_with_control_characters_keeps_the_header_to_two_lines() -> None:
    assert diff_of(b"a\n", b"b\n", path="x\ny").split("\n")[:3] == [r"--- 'x\ny'", r"+++ 'x\ny'", "@@ -1 +1 @@"]
