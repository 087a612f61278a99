"""Lines of a descriptor, waited for in the event loop."""

import os
from collections.abc import Generator
from io import FileIO
from pathlib import Path

import anyio
import pytest
from anyio.lowlevel import checkpoint

from seamfs.input_lines import InputLines

pytestmark = pytest.mark.anyio


@pytest.fixture
def pipe() -> Generator[tuple[FileIO, FileIO]]:
    """Our end and the writer's. A file is closed once: its number may be another's by then."""
    ours, theirs = os.pipe()
    with FileIO(ours, "r") as reader, FileIO(theirs, "w") as writer:
        yield reader, writer


async def test_lines_come_whole_whatever_the_pieces(pipe: tuple[FileIO, FileIO]) -> None:
    ours, theirs = pipe
    theirs.write(b"one\ntw")
    lines = InputLines(ours.fileno())
    assert await anext(lines) == "one\n"
    theirs.write("o caf\u00e9".encode()[:-1])
    theirs.write("\u00e9".encode()[1:] + b"\n\nlast")
    theirs.close()
    assert [line async for line in lines] == ["two caf\u00e9\n", "\n", "last\n"]


async def test_waiting_for_a_line_can_be_given_up(pipe: tuple[FileIO, FileIO]) -> None:
    with anyio.move_on_after(0.01) as scope:
        await anext(InputLines(pipe[0].fileno()))
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
