"""Lines of a descriptor, waited for in the event loop."""

import os
from collections.abc import Generator
from pathlib import Path

import anyio
import pytest
from anyio.lowlevel import checkpoint

from seamfs.input_lines import InputLines

pytestmark = pytest.mark.anyio


@pytest.fixture
def pipe() -> Generator[tuple[int, int]]:
    ours, theirs = os.pipe()
    yield ours, theirs
    for descriptor in (ours, theirs):
        try:
            os.close(descriptor)
        except OSError:
            continue  # a test has closed its end to say that the input is over


async def test_lines_come_whole_whatever_the_pieces(pipe: tuple[int, int]) -> None:
    ours, theirs = pipe
    os.write(theirs, b"one\ntw")
    lines = InputLines(ours)
    assert await anext(lines) == "one\n"
    os.write(theirs, "o caf\u00e9".encode()[:-1])
    os.write(theirs, "\u00e9".encode()[1:] + b"\n\nlast")
    os.close(theirs)
    assert [line async for line in lines] == ["two caf\u00e9\n", "\n", "last\n"]


async def test_waiting_for_a_line_can_be_given_up(pipe: tuple[int, int]) -> None:
    with anyio.move_on_after(0.01) as scope:
        await anext(InputLines(pipe[0]))
    assert scope.cancelled_caught


async def test_a_regular_file_and_the_null_device_end(tmp_path: Path) -> None:
    file = tmp_path / "input"
    file.write_bytes(b"a\nb\n")
    for path, expected in ((file, ["a\n", "b\n"]), (Path(os.devnull), [])):
        descriptor = os.open(path, os.O_RDONLY)
        try:
            await checkpoint()
            assert [line async for line in InputLines(descriptor)] == expected
        finally:
            os.close(descriptor)
