import tracemalloc

import pytest

from fs_core.page import Page, TextScanner, Window
from fs_core.text import BOM, NotTextFinding, find_not_text, fold_newlines
from tests.fs_core.text_reference import scan


def page_of(data: bytes, window: Window | None = None) -> Page:
    page = scan([data], window or Window())
    assert isinstance(page, Page)
    return page


def lines_of(data: bytes) -> list[str]:
    return [line.text for line in page_of(data).lines]


@pytest.mark.parametrize(
    ("data", "lines"),
    [
        pytest.param(b"", [], id="empty file"),
        pytest.param(b"\n", [""], id="one empty line"),
        pytest.param(b"a", ["a"], id="no final newline"),
        pytest.param(b"a\n", ["a"], id="final newline starts no line"),
        pytest.param(b"a\n\n", ["a", ""], id="empty last line"),
        pytest.param(b"a\r\nb\r\n", ["a", "b"], id="crlf"),
        pytest.param(b"a\r\r\n", ["a\r"], id="one cr belongs to the ending"),
        pytest.param(b"a\rb\n", ["a\rb"], id="cr inside"),
        pytest.param(b"a\r", ["a\r"], id="cr at the end of the file"),
        pytest.param(b"\r", ["\r"], id="cr alone"),
        pytest.param(
            "a\x0bb\x0cc\x1cd\x85e\u2028f\u2029g".encode(),
            ["a\x0bb\x0cc\x1cd\x85e\u2028f\u2029g"],
            id="vt ff nel ls ps",
        ),
        pytest.param(BOM, [], id="byte order mark alone"),
        pytest.param(BOM + b"a\n", ["a"], id="byte order mark"),
        pytest.param(BOM + BOM + b"a", ["\ufeffa"], id="second byte order mark is a character"),
        pytest.param(b"a" + BOM, ["a\ufeff"], id="byte order mark inside"),
        pytest.param("a\ufffdb".encode(), ["a\ufffdb"], id="replacement character"),
    ],
)
def test_a_line_ends_at_lf_and_nowhere_else(data: bytes, lines: list[str]) -> None:
    assert lines_of(data) == lines
    assert page_of(data).total_lines == len(lines)


@pytest.mark.parametrize("border", [1, 2, 3, 4])
def test_a_byte_order_mark_split_over_pieces_is_hidden(border: int) -> None:
    data = BOM + b"a\n"
    page = scan([data[:border], b"", data[border:]], Window())
    assert isinstance(page, Page)
    assert [line.text for line in page.lines] == ["a"]


def test_text_that_begins_like_a_byte_order_mark_keeps_its_start() -> None:
    text = "\uff21a"  # EF BC A1: shares its first byte with the mark
    data = text.encode()
    page = scan([data[:1], data[1:2], data[2:]], Window())
    assert isinstance(page, Page)
    assert page.lines[0].text == text


def test_a_window_that_starts_where_a_piece_starts_gets_its_lines() -> None:
    page = scan([b"1\n2\n", b"3\n4\n", b"5\n"], Window(first_line=3, lines_max=2))
    assert isinstance(page, Page)
    assert [(line.number, line.text) for line in page.lines] == [(3, "3"), (4, "4")]
    assert (page.total_lines, page.next_line) == (5, 5)


def test_cr_and_lf_in_different_pieces_are_one_ending() -> None:
    page = scan([b"a\r", b"\nb\r", b"", b"\n"], Window())
    assert isinstance(page, Page)
    assert [line.text for line in page.lines] == ["a", "b"]


def test_a_cut_line_tells_its_length_in_code_points_without_its_ending() -> None:
    page = page_of(("é" * 5 + "\r\n").encode(), Window(line_chars_max=3))
    assert (page.lines[0].text, page.lines[0].length_chars, page.lines[0].is_cut) == ("ééé", 5, True)


@pytest.mark.parametrize("ending", [b"", b"\n", b"\r\n"])
def test_a_line_of_just_the_longest_length_is_not_cut(ending: bytes) -> None:
    page = page_of("😀".encode() * 3 + ending, Window(line_chars_max=3))
    assert (page.lines[0].text, page.lines[0].is_cut) == ("😀😀😀", False)


def test_a_window_past_the_end_is_empty_and_still_counts() -> None:
    page = page_of(b"a\nb", Window(first_line=9))
    assert (page.lines, page.total_lines, page.next_line, page.truncated_by) == ((), 2, None, None)
    assert not page.has_final_newline


def test_the_last_line_of_a_full_window_ends_the_file() -> None:
    page = page_of(b"a\nb\n", Window(lines_max=2))
    assert (page.next_line, page.truncated_by) == (None, None)


@pytest.mark.parametrize(
    ("bytes_max", "shown", "truncated_by"),
    [
        pytest.param(1, ["aaaa"], "bytes", id="the first line whatever its size"),
        pytest.param(6, ["aaaa"], "bytes", id="a break counts one byte"),
        pytest.param(7, ["aaaa", "bb"], "bytes", id="just fits"),
        pytest.param(9, ["aaaa", "bb", "c"], None, id="no break after the last line"),
    ],
)
def test_the_byte_cap_counts_shown_text_and_the_breaks_between(
    bytes_max: int, shown: list[str], truncated_by: str | None
) -> None:
    page = page_of(b"aaaa\r\nbb\r\nc\r\n", Window(bytes_max=bytes_max))
    assert [line.text for line in page.lines] == shown
    assert page.truncated_by == truncated_by
    assert page.next_line == (None if truncated_by is None else len(shown) + 1)


def test_the_byte_cap_counts_what_is_shown_of_a_cut_line() -> None:
    page = page_of(b"a" * 1000 + b"\nb\n", Window(line_chars_max=2, bytes_max=4))
    assert [line.text for line in page.lines] == ["aa", "b"]


def test_the_byte_cap_counts_bytes_not_characters() -> None:
    page = page_of("é\né\n".encode(), Window(bytes_max=4))
    assert [line.text for line in page.lines] == ["é"]


def test_only_cr_as_line_ending_is_told() -> None:
    assert page_of(b"a\rb\rc").has_cr_only_endings
    assert not page_of(b"a\rb\r\n").has_cr_only_endings
    assert not page_of(b"abc").has_cr_only_endings


@pytest.mark.parametrize(
    ("data", "offset"),
    [
        pytest.param(b"ab\0c", 2, id="nul"),
        pytest.param(b"ab\xff", 2, id="byte that never occurs"),
        pytest.param(b"a\xc3", 1, id="sequence cut at the end of the file"),
        pytest.param(b"a\xc3\n", 1, id="sequence cut by a newline"),
        pytest.param(b"a\xe2\x82\0", 1, id="sequence cut by a nul"),
        pytest.param(b"a\0\xff", 1, id="nul before invalid byte"),
        pytest.param(b"a\xff\0", 1, id="invalid byte before nul"),
        pytest.param(b"a\xed\xa0\x80", 1, id="surrogate in utf-8"),
        pytest.param(b"\xc0\xaf", 0, id="overlong slash"),
        pytest.param(b"\xf4\x90\x80\x80", 0, id="past the last code point"),
        pytest.param(b"\xef\xbb", 0, id="half a byte order mark"),
        pytest.param(BOM + b"\0", 3, id="offset counts the byte order mark"),
    ],
)
def test_what_is_not_text_is_found_at_its_offset(data: bytes, offset: int) -> None:
    finding = find_not_text(data)
    assert finding is not None
    assert finding.offset == offset
    assert scan([data[index : index + 1] for index in range(len(data))], Window()) == finding


@pytest.mark.parametrize(
    ("data", "reason"),
    [
        pytest.param("hé".encode("utf-16"), "UTF-16 little-endian", id="utf-16 with mark"),
        pytest.param(b"\xfe\xff\0h", "UTF-16 big-endian", id="utf-16 big-endian with mark"),
        pytest.param("h".encode("utf-32"), "UTF-32 little-endian", id="utf-32 with mark"),
        pytest.param(b"\0\0\xfe\xff\0\0\0h", "UTF-32 big-endian", id="utf-32 big-endian with mark"),
        pytest.param("hello".encode("utf-16-le"), "UTF-16 little-endian text without", id="utf-16 without mark"),
        pytest.param("hello".encode("utf-16-be"), "UTF-16 big-endian text without", id="utf-16be without mark"),
        pytest.param(b"\x7fELF\0\0\0\1", "NUL", id="binary"),
        pytest.param(b"a" * 5000 + b"\0", "NUL", id="nul far behind the start"),
        pytest.param("café".encode("latin-1"), "legacy encoding", id="latin-1"),
        pytest.param(b"a" * 5000 + b"\xe9 ", "legacy encoding", id="latin-1 far behind the start"),
    ],
)
def test_the_likely_reason_is_named(data: bytes, reason: str) -> None:
    finding = find_not_text(data)
    assert finding is not None
    assert reason in finding.reason()


def test_after_the_first_offence_nothing_counts() -> None:
    scanner = TextScanner(Window())
    for piece in (b"a\n", b"\0", b"b\n", b"\xff"):
        scanner.feed(piece)
    finding = scanner.finish()
    assert isinstance(finding, NotTextFinding)
    assert finding.offset == 2


def test_a_very_long_line_is_held_only_as_far_as_it_is_shown() -> None:
    scanner = TextScanner(Window(line_chars_max=2000))
    piece = "é".encode() * 50_000
    scanner.feed(piece)
    tracemalloc.start()
    for _ in range(100):
        scanner.feed(piece)
    held_bytes, _ = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    page = scanner.finish()
    assert isinstance(page, Page)
    assert (len(page.lines[0].text), page.lines[0].length_chars) == (2000, 5_050_000)
    assert held_bytes < 100_000


def test_a_line_of_200_000_characters_is_cut_and_the_next_one_follows() -> None:
    page = page_of(b"x" * 200_000 + b"\nnext\n")
    assert [(len(line.text), line.length_chars) for line in page.lines] == [(2000, 200_000), (4, 4)]


def test_lines_outside_the_window_are_not_held() -> None:
    scanner = TextScanner(Window(first_line=2, lines_max=1))
    piece = b"some text\n" * 10_000
    scanner.feed(piece)
    tracemalloc.start()
    for _ in range(20):
        scanner.feed(piece)
    held_bytes, _ = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    page = scanner.finish()
    assert isinstance(page, Page)
    assert page.total_lines == 210_000
    assert held_bytes < 50_000


def test_folding_turns_crlf_alone() -> None:
    assert fold_newlines("a\r\nb\rc\n\r\n\r\r\n") == "a\nb\rc\n\n\r\n"
