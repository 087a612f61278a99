from array import array

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fs_core.lineindex import ENTRY_OVERHEAD_BYTES, TOTAL_BYTES_MAX, LineIndex, LineIndexer, LineIndexes
from fs_core.text import BOM
from fs_core.types import TargetKey, Version
from tests.fs_core.text_reference import chunked, cuts, indexed, texts

KEY, OTHER = TargetKey("key"), TargetKey("other")
VERSION, LATER = Version("1"), Version("2")
TWO_BLOCKS = indexed([b"a\nb\n"], block_bytes=2)


@given(data=texts, at=cuts, block_bytes=st.integers(1, 9))
def test_an_index_counts_newlines_and_code_points_up_to_the_end_of_each_block(
    data: bytes, at: list[int], block_bytes: int
) -> None:
    index = indexed(chunked(data, at), block_bytes=block_bytes)
    ends = [min(start + block_bytes, len(data)) for start in range(0, len(data), block_bytes)]
    assert list(index.newlines) == [data.count(b"\n", 0, end) for end in ends]
    assert (index.code_points is None) == data.isascii()
    borders = [0, *ends]
    points = [sum(byte & 0xC0 != 0x80 for byte in data[:end]) for end in borders]
    assert [index.code_points_before(end) for end in borders] == points
    assert [index.newlines_before(end) for end in borders[:-1]] == [data.count(b"\n", 0, end) for end in borders[:-1]]


@given(data=texts, at=cuts)
def test_an_index_tells_of_the_file_what_the_whole_text_tells(data: bytes, at: list[int]) -> None:
    index = indexed(chunked(data, at), block_bytes=4)
    body = data.removeprefix(BOM)
    assert index.size_bytes == len(data)
    assert index.total_lines == body.count(b"\n") + (body != b"" and not body.endswith(b"\n"))
    assert index.has_final_newline == body.endswith(b"\n")
    assert index.has_cr_only_endings == (b"\r" in body and b"\n" not in body)


@pytest.mark.parametrize(("number", "block"), [(0, 0), (1, 0), (2, 2), (3, 6), (4, 7)])
def test_the_block_of_a_newline_is_found(number: int, block: int) -> None:
    assert indexed([b"a\n", b"\nbcd", b"\n"], block_bytes=2).block_of_newline(number) == block


def test_pieces_that_are_known_to_be_ascii_need_no_look() -> None:
    indexer = LineIndexer(block_bytes=2)
    indexer.feed(b"abc\n", is_ascii=True)
    indexer.feed("é".encode())
    indexer.feed(b"\n", is_ascii=True)
    assert indexer.finish() == indexed(["abc\né\n".encode()], block_bytes=2)


def test_what_is_kept_of_a_file_is_its_last_index() -> None:
    indexes = LineIndexes()
    assert indexes.get(KEY) is None
    indexes.put(KEY, VERSION, TWO_BLOCKS)
    indexes.put(KEY, LATER, TWO_BLOCKS)
    kept = indexes.get(KEY)
    assert kept is not None
    assert (kept.version, kept.lines) == (LATER, TWO_BLOCKS)


@pytest.mark.parametrize(
    ("version", "lines"),
    [
        pytest.param(Version("2", settled=False), TWO_BLOCKS, id="a version that is not settled"),
        pytest.param(LATER, indexed([b"a\n"], block_bytes=2), id="a file of one block"),
        pytest.param(LATER, indexed([], block_bytes=2), id="an empty file"),
    ],
)
def test_what_is_not_worth_it_or_not_safe_is_not_kept_and_the_old_index_goes(
    version: Version, lines: LineIndex
) -> None:
    indexes = LineIndexes()
    indexes.put(KEY, VERSION, TWO_BLOCKS)
    indexes.put(KEY, version, lines)
    assert indexes.get(KEY) is None


def test_an_index_is_dropped_if_it_is_of_that_version() -> None:
    indexes = LineIndexes()
    indexes.put(KEY, LATER, TWO_BLOCKS)
    indexes.drop(KEY, VERSION)
    indexes.drop(OTHER, LATER)
    assert indexes.get(KEY) is not None
    indexes.drop(KEY, LATER)
    assert indexes.get(KEY) is None


def of_size(held_bytes: int) -> LineIndex:
    counts = array("Q", bytes(held_bytes))
    return LineIndex(
        size_bytes=0,
        total_lines=0,
        has_final_newline=False,
        has_cr_only_endings=False,
        block_bytes=1,
        newlines=counts,
        code_points=None,
    )


def test_the_index_that_was_used_longest_ago_makes_room() -> None:
    half = of_size(TOTAL_BYTES_MAX // 2 - ENTRY_OVERHEAD_BYTES)
    indexes = LineIndexes()
    indexes.put(KEY, VERSION, half)
    indexes.put(OTHER, VERSION, half)
    assert indexes.get(KEY) is not None
    indexes.put(TargetKey("third"), VERSION, TWO_BLOCKS)
    assert indexes.get(KEY) is not None
    assert indexes.get(OTHER) is None


def test_an_index_beyond_the_bound_is_not_kept_and_drives_no_other_out() -> None:
    indexes = LineIndexes()
    indexes.put(OTHER, VERSION, TWO_BLOCKS)
    indexes.put(KEY, VERSION, of_size(TOTAL_BYTES_MAX))
    assert indexes.get(KEY) is None
    assert indexes.get(OTHER) is not None


def test_counts_of_code_points_are_held_too() -> None:
    assert indexed(["é\n".encode()], block_bytes=1).held_bytes == 2 * indexed([b"abc"], block_bytes=1).held_bytes == 48
