"""Pages from parts of a file: the same ones as a scan of the whole gives, and few bytes read."""

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from fs_core.lineindex import BLOCK_BYTES, LineIndexer
from fs_core.page import Line, Page, PageReader, Span, TextScanner, Window
from fs_core.text import BOM
from tests.fs_core.text_reference import chunked, cuts, expected_page, indexed, read, texts, windows

MIB = 1 << 20

long_lines = st.lists(
    st.one_of(
        st.tuples(st.sampled_from([b"a", "é".encode(), "日".encode(), "😀".encode(), b"\r"]), st.integers(1, 200)),
        st.tuples(st.sampled_from([b"\n", b"\r\n", b"b\n"]), st.integers(1, 3)),
    ),
    max_size=8,
).map(lambda runs: b"".join(piece * count for piece, count in runs))


@given(data=st.one_of(texts, long_lines), at=cuts, window=windows, block_bytes=st.integers(1, 16))
@example(data=b"a" * 60 + b"\r\nb", at=[], window=Window(line_chars_max=1), block_bytes=1)
@example(data=b"a" * 63 + b"\r\nb", at=[], window=Window(line_chars_max=1), block_bytes=2)
@example(data=BOM + b"a\n", at=[1, 2], window=Window(), block_bytes=2)
@example(data=BOM, at=[], window=Window(), block_bytes=1)
def test_every_page_from_parts_is_the_one_that_the_whole_text_gives(
    data: bytes, at: list[int], window: Window, block_bytes: int
) -> None:
    index = indexed(chunked(data, at), block_bytes=block_bytes)
    page, spans = read(data, index, window)
    assert page == expected_page(data, window)
    assert all(span.limit > 0 and span.offset + span.limit <= len(data) for span in spans)


def scanned(data: bytes, window: Window) -> tuple[Page, TextScanner]:
    scanner = TextScanner(window)
    for start in range(0, len(data), BLOCK_BYTES):
        scanner.feed(bytearray(data[start : start + BLOCK_BYTES]))
    page = scanner.finish()
    assert isinstance(page, Page)
    return page, scanner


def spans_of(data: bytes, window: Window) -> list[Span]:
    """Return what was read of the file for a page, which is the one that a scan gives."""
    page, scanner = scanned(data, window)
    warm, spans = read(data, scanner.lines, window)
    assert warm == page
    return spans


CODE = b"".join(b"    line %d of some code\n" % number for number in range(40_000))


@pytest.mark.parametrize("ending", [b"\n", b"\r\n"])
@pytest.mark.parametrize("first_line", [1, 17, 20_000, 39_990])
def test_a_page_without_cut_lines_is_one_part_of_its_size_and_two_blocks(first_line: int, ending: bytes) -> None:
    data = CODE.replace(b"\n", ending)
    for window in (Window(first_line), Window(first_line, lines_max=20), Window(first_line, bytes_max=10)):
        page, _ = scanned(data, window)
        (span,) = spans_of(data, window)
        assert span.limit <= sum(len(text) + len(ending) for text in page.texts) + 2 * BLOCK_BYTES


def test_a_page_of_wide_characters_is_one_part() -> None:
    data = ("日本語のテキスト" * 8 + "\n").encode() * 20_000
    (span,) = spans_of(data, Window(first_line=10_000))
    assert span.limit <= 51_200 + 2 * BLOCK_BYTES


@pytest.mark.parametrize("ending", [b"", b"\n", b"\r\n"])
@pytest.mark.parametrize("character", ["x", "日"])
def test_of_one_endless_line_its_start_and_its_end_are_read(character: str, ending: bytes) -> None:
    data = character.encode() * (3 * MIB) + ending
    spans = spans_of(data, Window())
    assert len(spans) <= 2
    assert sum(span.limit for span in spans) < MIB // 2


def test_the_cr_of_an_ending_before_the_border_of_a_block_is_no_part_of_a_long_line() -> None:
    data = b"x" * (32 * BLOCK_BYTES - 1) + b"\r\nnext\n"
    page, scanner = scanned(data, Window())
    warm, _ = read(data, scanner.lines, Window())
    assert warm == page
    assert warm.cut_lengths == {1: 32 * BLOCK_BYTES - 1}


def test_lines_of_two_megabytes_cost_some_blocks_each() -> None:
    data = (b"y" * (2 * MIB) + b"\n") * 4
    spans = spans_of(data, Window(first_line=2, lines_max=2))
    assert sum(span.limit for span in spans) < MIB


def test_lines_that_are_cut_a_little_are_read_in_growing_parts() -> None:
    data = (b"z" * 40_000 + b"\n") * 100
    limits = [span.limit for span in spans_of(data, Window())]
    assert len(limits) <= 5
    assert max(limits) <= MIB


def test_a_window_past_the_end_wants_nothing_and_has_no_lines() -> None:
    page, spans = read(b"a\nb", indexed([b"a\nb"], block_bytes=2), Window(first_line=3))
    assert (page.texts, page.total_lines, page.next_line, spans) == ((), 2, None, [])


def test_an_empty_file_wants_nothing() -> None:
    page, spans = read(b"", indexed([], block_bytes=2), Window())
    assert (page.total_lines, spans) == (0, [])


def test_bytes_that_were_not_wanted_are_refused() -> None:
    reader = PageReader(indexed([b"a\nb\n"], block_bytes=4), Window())
    with pytest.raises(ValueError, match="wanted"):
        reader.feed(b"a\n")
    with pytest.raises(RuntimeError, match="not complete"):
        reader.page()


@pytest.mark.parametrize(
    "other", [pytest.param(b"aaaaaaaa", id="fewer lines before"), pytest.param(b"\xff\n" * 4, id="no text")]
)
def test_bytes_of_another_file_are_refused(other: bytes) -> None:
    reader = PageReader(indexed([b"a\nb\nc\nd\n"], block_bytes=8), Window(first_line=3))
    with pytest.raises(ValueError, match=r"fewer newlines|decode"):
        reader.feed(other)


def test_lines_that_end_elsewhere_than_indexed_are_refused() -> None:
    reader = PageReader(indexed([b"a\nb\nc\nd\ne\n"], block_bytes=2), Window(first_line=2, lines_max=1))
    span = reader.wanted
    assert span is not None
    with pytest.raises(ValueError, match="other bytes"):
        reader.feed(b"\n" + b"x" * (span.limit - 1))


def test_the_index_is_there_after_the_scan_of_a_text_alone() -> None:
    scanner = TextScanner(Window())
    with pytest.raises(RuntimeError, match="not ended"):
        _ = scanner.lines
    scanner.feed(b"a\n\0")
    scanner.finish()
    with pytest.raises(RuntimeError, match="no text"):
        _ = scanner.lines


def test_the_lines_of_a_page_tell_their_number_and_real_length() -> None:
    page, _ = scanned(b"a\nlong\n", Window(first_line=1, line_chars_max=2))
    assert page.lines == (Line(1, "a", 1), Line(2, "lo", 4))
    assert [line.is_cut for line in page.lines] == [False, True]


def test_the_scan_and_a_lone_indexer_make_the_same_index() -> None:
    data = BOM + ("ascii\n" * 30_000 + "日本語\n" * 30_000).encode()
    _, scanner = scanned(data, Window())
    indexer = LineIndexer()
    indexer.feed(data)
    assert scanner.lines == indexer.finish()
