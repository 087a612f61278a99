from typing import Any

import pytest

from fs_core.edit import PLACES_COUNTED_MAX, Ambiguous, Edit, Missing, Places, Spliced, apply_edit
from fs_core.text import BOM
from tests.fs_core.edit_reference import Content, told


def edited(data: bytes, old_string: str, new_string: str, *, replace_all: bool = False) -> bytes:
    outcome = apply_edit(data, Edit(old_string, new_string, replace_all=replace_all))
    assert isinstance(outcome, Spliced), outcome
    return outcome.splice.joined()


@pytest.mark.parametrize(
    ("before", "old", "new", "after"),
    [
        pytest.param(b"a\r\nb\nc", "b", "B", b"a\r\nB\nc", id="mixed endings around stay"),
        pytest.param(
            b"a\r\nb\nc\r\n", "a\nb\nc", "x\ny\nz", b"x\r\ny\nz\r\n", id="each new line takes the ending it replaces"
        ),
        pytest.param(b"a\r\nb\n", "a\nb\n", "1\n2\n3\n4\n", b"1\r\n2\n3\n4\n", id="further lines take the last ending"),
        pytest.param(b"a\r\nb\r\n", "a\nb", "a\nx\nb", b"a\r\nx\r\nb\r\n", id="crlf file, lf needle"),
        pytest.param(b"a\r\nb\r\n", "a\r\nb", "a\r\nx\r\nb", b"a\r\nx\r\nb\r\n", id="crlf file, crlf needle"),
        pytest.param(b"a\nb\n", "a\r\nb", "x\r\ny", b"x\ny\n", id="lf file, crlf needle"),
        pytest.param(b"a\r\nb", "b", "b\nc", b"a\r\nb\r\nc", id="the line before lends its ending"),
        pytest.param(b"a\nb\r\n", "a", "x\ny", b"x\ny\nb\r\n", id="the own line's ending comes first"),
        pytest.param(b"a\nb\r\n", "b", "x\ny", b"a\nx\r\ny\r\n", id="not the line before if there is an own ending"),
        pytest.param(b"a", "a", "x\ny", b"x\ny", id="no ending anywhere: lf"),
        pytest.param(b"a\rb", "a", "x\ny", b"x\ny\rb", id="cr lends no ending"),
        pytest.param(b"10%\r20%\r100%\ndone\n", "done", "DONE", b"10%\r20%\r100%\nDONE\n", id="lone cr is data"),
        pytest.param(b"a\r\n", "\n", "", b"a", id="deleting a crlf takes both bytes"),
        pytest.param(b"a\r\nb\r\n", "\nb", "", b"a\r\n", id="needle that starts with a newline"),
        pytest.param(b"a\r\nb\r\n", "a\n", "", b"b\r\n", id="needle that ends with a newline"),
        pytest.param(b"a\r\nb\nc", "\nb\n", "|", b"a|c", id="newline at both ends, mixed"),
        pytest.param(b"a\r\r\nb\n", "a\r", "x", b"x\r\nb\n", id="cr before crlf is a character"),
        pytest.param(b"x\ra\r\n", "\ra", "b", b"xb\r\n", id="needle that starts with cr"),
        pytest.param(BOM + b"a\n", "a", "b", BOM + b"b\n", id="byte order mark stays"),
        pytest.param(BOM + b"\xef\xbb\xbfa", "\ufeff", "", BOM + b"a", id="the mark itself never matches"),
        pytest.param(b"a$b", "a", r"$& \1 \t \\n", rb"$& \1 \t \\n$b", id="the replacement is literal"),
        pytest.param(b"a.c abc", "a.c", "x", b"x abc", id="the needle is literal"),
        pytest.param(b"A a", "a", "x", b"A x", id="letter case counts"),
        pytest.param("é e\u0301".encode(), "e\u0301", "x", "é x".encode(), id="unicode forms differ"),
        pytest.param(b"a", "a", "", b"", id="to an empty file"),
    ],
)
def test_only_the_replaced_bytes_change(before: bytes, old: str, new: str, after: bytes) -> None:
    assert edited(before, old, new) == after


@pytest.mark.parametrize(
    ("before", "old", "new", "after"),
    [
        pytest.param(b"aaa", "aa", "b", b"ba", id="left to right without overlap"),
        pytest.param(b"aaaa", "aa", "b", b"bb", id="all of an even run"),
        pytest.param(b"ab ab", "ab", "abab", b"abab abab", id="never rescanned"),
        pytest.param(b"a\r\na\na", "a", "x\ny", b"x\r\ny\r\nx\ny\nx\ny", id="each place by its own line"),
        pytest.param(b"a\r\n\r\n\nb", "\n", "", b"ab", id="every ending of any kind"),
        pytest.param(b"a-a-a\n", "-", "\n", b"a\na\na\n", id="several places in one line"),
        pytest.param(b"x\na-a-a", "-", "\n", b"x\na\na\na", id="several places in an open last line"),
        pytest.param(b"x\r\na-a-a", "-", "\n", b"x\r\na\r\na\r\na", id="the same after crlf"),
        pytest.param(b"a", "a", "b", b"b", id="a single place"),
    ],
)
def test_replace_all_goes_left_to_right(before: bytes, old: str, new: str, after: bytes) -> None:
    assert edited(before, old, new, replace_all=True) == after


@pytest.mark.parametrize("replace_all", [False, True])
@pytest.mark.parametrize(
    ("data", "old"),
    [
        pytest.param(b"abc", "x", id="other text"),
        pytest.param(b"", "x", id="empty file"),
        pytest.param(b"a\r\nb", "a\r", id="cr of a crlf, no newline in the needle"),
        pytest.param(b"x\r\na\r\nb", "x\na\r", id="cr of a crlf, newline in the needle"),
        pytest.param(b"x\na\r\nb", "x\na\r", id="cr of a crlf, mixed file"),
        pytest.param(b"a\r\nb", "\r", id="cr alone"),
        pytest.param(b"a\rb", "a\nb", id="cr is no newline"),
        pytest.param(b"a\rb", "a\r\nb", id="cr is no crlf"),
        pytest.param(b"a b", "a  b", id="white space counts"),
        pytest.param(BOM + b"a", "\ufeffa", id="the byte order mark is no text"),
        pytest.param("é".encode(), "\udcc3", id="lone surrogate"),
        pytest.param("😀".encode(), "\ud83d\ude00", id="surrogate pair as two"),
    ],
)
def test_what_does_not_occur_is_missing(data: bytes, old: str, *, replace_all: bool) -> None:
    assert apply_edit(data, Edit(old, "new", replace_all=replace_all)) == Missing()


@pytest.mark.parametrize(
    ("data", "old", "places", "lines"),
    [
        pytest.param(b"a\nb\na\n", "a", 2, (1, 3), id="two lines"),
        pytest.param(b"a a a\n", "a", 3, (1,), id="one line is named once"),
        pytest.param(b"aaa", "aa", 2, (1,), id="overlapping places"),
        pytest.param(b"\n\n\n", "\n\n", 2, (1, 2), id="overlapping newlines"),
        pytest.param(b"\r\n\r\n\r\n", "\n\n", 2, (1, 2), id="overlapping crlf"),
        pytest.param(b"\r\n\n\r\n", "\n\n", 2, (1, 2), id="overlapping mixed endings"),
        pytest.param(b"a\n" * 30, "a", 30, tuple(range(1, 11)), id="ten lines are named"),
        pytest.param(b"a" * (PLACES_COUNTED_MAX + 5), "a", PLACES_COUNTED_MAX, (1,), id="counting is bounded"),
    ],
)
def test_several_places_are_counted_and_their_lines_named(
    data: bytes, old: str, places: int, lines: tuple[int, ...]
) -> None:
    counted = Places(places, is_bound=places == PLACES_COUNTED_MAX)
    assert apply_edit(data, Edit(old, "x")) == Ambiguous(places=counted, lines=lines)


def test_the_changed_region_and_the_number_of_places_are_told() -> None:
    outcome = apply_edit(b"..a..a...", Edit("a", "bb", replace_all=True))
    assert told(outcome) == Content(data=b"..bb..bb...", replacements=2, prefix_bytes=2, suffix_bytes=3)


def test_an_edit_that_looks_for_nothing_cannot_be_made() -> None:
    with pytest.raises(ValueError, match="old_string is empty"):
        Edit("", "a")


@pytest.mark.parametrize(
    ("old", "new", "is_nothing"),
    [("a", "a", True), ("a\r\nb", "a\nb", True), ("a\rb", "a\nb", False), ("a", "A", False), ("a", "a ", False)],
)
def test_a_change_of_newline_style_alone_is_nothing(old: str, new: str, *, is_nothing: bool) -> None:
    assert Edit(old, new).changes_nothing is is_nothing


class SearchedBytes(bytes):
    """Bytes that count how far `find` had to look."""

    looked_at_bytes = 0

    def find(self, sub: Any, start: Any = 0, end: Any = None, /) -> int:
        position = super().find(sub, start, end)
        self.looked_at_bytes += (len(self) if position < 0 else position + len(sub)) - start
        return position


@pytest.mark.parametrize("tail", [b"", b"\n", b"\r\n", b"\nb"])
@pytest.mark.parametrize("head", [b"", b"b\n", b"b\r\n"])
def test_the_ending_of_many_new_lines_is_looked_for_once(head: bytes, tail: bytes) -> None:
    data = SearchedBytes(head + b"a" * 20_000 + tail)
    outcome = apply_edit(data, Edit("a", "x\ny", replace_all=True))
    assert isinstance(outcome, Spliced)
    assert outcome.replacements == 20_000
    assert data.looked_at_bytes < 4 * len(data)


@pytest.mark.parametrize(
    ("data", "old"),
    [
        pytest.param(b"a" * 1_000_000, "a" * 1_000, id="run of one letter"),
        pytest.param(b"\n" * 1_000_000, "\n" * 1_000, id="run of newlines"),
        pytest.param(b"\n" * 500_000 + b"\r\n" * 250_000, "\n" * 1_000, id="run of mixed endings"),
        pytest.param(b"a\r\na\n" * 150_000, "a\n" * 500, id="lines of mixed endings"),
        pytest.param(b"-" * 1_000_000, "-" * 200_000, id="a needle as long as a file"),
        pytest.param(b"ab" * 2_000_000, "ab" * 1_000_000, id="a periodic needle of two megabytes"),
    ],
)
@pytest.mark.timeout(20)
def test_overlapping_places_without_end_are_refused_in_good_time(data: bytes, old: str) -> None:
    outcome = apply_edit(data, Edit(old, "x"))
    assert isinstance(outcome, Ambiguous)
    assert outcome.places.is_bound


@pytest.mark.timeout(20)
def test_cr_before_every_newline_is_passed_over_in_good_time() -> None:
    assert apply_edit(b"\r\n" * 500_000, Edit("\r", "x")) == Missing()
