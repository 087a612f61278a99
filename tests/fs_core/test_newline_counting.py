"""Counting at the speed of memory gives what counting byte by byte gives, on any bytes and any kind of buffer."""

import itertools
import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fs_core._bytes_search import (
    BLOCK_BYTES_MAX,
    NewlineCounter,
    after_newlines,
    count,
    count_code_points,
    count_newlines,
)

SOURCE = random.Random(7)
BLOCKS = [
    b"",
    b"\n",
    b"\n" * BLOCK_BYTES_MAX,
    b"a" * BLOCK_BYTES_MAX,
    b"a\n" * 3000,
    (b"b" * 90 + b"\n") * 700,
    SOURCE.randbytes(BLOCK_BYTES_MAX),
    SOURCE.randbytes(BLOCK_BYTES_MAX - 1),
    SOURCE.randbytes(4097),
]


def test_a_counter_is_right_whatever_the_density_before() -> None:
    counter = NewlineCounter()
    for pair in itertools.permutations(BLOCKS, 2):
        assert [counter.count(bytearray(block)) for block in pair] == [block.count(b"\n") for block in pair]


@pytest.mark.parametrize("size", [0, 5000, BLOCK_BYTES_MAX, 3 * BLOCK_BYTES_MAX + 5])
def test_newlines_of_any_buffer_are_counted(size: int) -> None:
    data = SOURCE.randbytes(size)
    for buffer in (data, bytearray(data), memoryview(data)):
        assert count_newlines(buffer) == data.count(b"\n")


@given(data=st.binary(max_size=300), times=st.integers(1, 40))
def test_code_points_are_the_bytes_that_continue_none(data: bytes, times: int) -> None:
    assert count_code_points(data * times) == sum(byte & 0xC0 != 0x80 for byte in data) * times


@pytest.mark.parametrize(
    "data", [b"", b"\r", b"\n\r", b"\r\n", b"\r\r\n\n", b"a\r\nb\rc\n" * 500, SOURCE.randbytes(100_000)]
)
def test_line_endings_of_two_bytes_are_counted(data: bytes) -> None:
    assert count(bytearray(data), b"\r\n") == data.count(b"\r\n")


@given(data=st.text("a\n", max_size=60), start=st.integers(0, 10))
def test_the_position_after_some_newlines_is_the_one_that_splitting_gives(data: str, start: int) -> None:
    raw = data.encode()
    *ended, _ = raw[start:].split(b"\n")
    position = min(start, len(raw))
    for number, line in enumerate(ended, start=1):
        position += len(line) + 1
        assert after_newlines(raw, number, start) == position
    with pytest.raises(ValueError, match="fewer newlines"):
        after_newlines(raw, len(ended) + 1, start)


def test_the_position_is_found_over_several_blocks() -> None:
    data = (b"c" * 999 + b"\n") * 200
    assert [after_newlines(bytearray(data), number, 500) for number in (0, 1, 65, 66, 131, 200)] == [
        500,
        1000,
        65_000,
        66_000,
        131_000,
        200_000,
    ]
