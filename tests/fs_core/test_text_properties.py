from hypothesis import example, given
from hypothesis import strategies as st

from fs_core.page import Page, Window
from fs_core.text import NotTextFinding, find_not_text
from tests.fs_core.text_reference import (
    chunked,
    cuts,
    expected_page,
    first_offence,
    near_texts,
    scan,
    texts,
    windows,
)


@given(data=texts, at=cuts, window=windows)
@example(data=b"a\nb\n", at=[2], window=Window(first_line=2))
@example(data=b"a\nb\nc\n", at=[4], window=Window(first_line=3))
def test_every_page_is_the_one_that_splitting_the_whole_text_gives(data: bytes, at: list[int], window: Window) -> None:
    assert scan(chunked(data, at), window) == expected_page(data, window)


@given(data=texts, window=windows)
def test_bytes_fed_one_by_one_give_the_same_page(data: bytes, window: Window) -> None:
    assert scan([data[index : index + 1] for index in range(len(data))], window) == expected_page(data, window)


@given(data=texts, at=cuts, window=windows)
def test_following_the_pages_gives_every_line_once(data: bytes, at: list[int], window: Window) -> None:
    numbers: list[int] = []
    next_line: int | None = 1
    while next_line is not None:
        page = scan(
            chunked(data, at),
            Window(
                first_line=next_line,
                lines_max=window.lines_max,
                line_chars_max=window.line_chars_max,
                bytes_max=window.bytes_max,
            ),
        )
        assert isinstance(page, Page)
        numbers.extend(line.number for line in page.lines)
        next_line = page.next_line
    assert numbers == list(range(1, expected_page(data, window).total_lines + 1))


@given(data=st.one_of(near_texts, st.binary(max_size=40)), at=cuts)
def test_the_first_offence_is_where_strict_decoding_fails_or_the_first_nul(data: bytes, at: list[int]) -> None:
    offence = first_offence(data)
    found = scan(chunked(data, at), Window())
    assert (found.offset if isinstance(found, NotTextFinding) else None) == offence
    whole = find_not_text(data)
    assert (None if whole is None else whole.offset) == offence
    assert whole is None or whole == found
