"""Text to a descriptor that is waited for in the event loop, and whose standard output it is."""

import os
import subprocess
import sys
from collections.abc import Generator
from io import FileIO
from pathlib import Path

import anyio
import pytest

from seamfs.output_lines import OutputLines
from tests.seamfs.processes import TIMEOUT_S

pytestmark = pytest.mark.anyio

LONG = "caf\u00e9 " * 100_000 + "\n"
"""More than a pipe holds."""

PRINTS = """
import sys
from seamfs.output_lines import claimed_output
print("before", flush=True)
with claimed_output() as descriptor, open(descriptor, "w", closefd=False) as output:
    print("aside", flush=True)
    output.write("the protocol\\n")
print("after")
"""


@pytest.fixture
def pipe() -> Generator[tuple[FileIO, FileIO]]:
    """The reader's end and ours. A file is closed once: its number may be another's by then."""
    theirs, ours = os.pipe()
    with FileIO(theirs, "r") as reader, FileIO(ours, "w") as writer:
        yield reader, writer


async def read_bytes(descriptor: int, size_bytes: int) -> bytes:
    data = b""
    while len(data) < size_bytes:
        await anyio.wait_readable(descriptor)
        data += os.read(descriptor, size_bytes - len(data))
    return data


async def test_texts_come_whole_and_in_order_though_a_pipe_holds_less(pipe: tuple[FileIO, FileIO]) -> None:
    theirs = pipe[0].fileno()
    output = OutputLines(pipe[1].fileno())
    assert await output.write(LONG) == len(LONG)
    assert await output.write("last\n") == 5
    expected = f"{LONG}last\n".encode()
    # In the same event loop, which a write that blocks would stop for ever.
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(output.flush)
        assert await read_bytes(theirs, len(expected)) == expected
    await output.flush()
    os.set_blocking(theirs, False)
    with pytest.raises(BlockingIOError):
        os.read(theirs, 1)


async def test_a_text_that_an_empty_pipe_holds_wakes_its_reader_once(
    pipe: tuple[FileIO, FileIO], monkeypatch: pytest.MonkeyPatch
) -> None:
    pieces: list[int] = []
    write = os.write

    def counted(descriptor: int, data: bytes) -> int:
        if descriptor == pipe[1].fileno():
            pieces.append(len(data))
        return write(descriptor, data)

    output = OutputLines(pipe[1].fileno())
    monkeypatch.setattr(os, "write", counted)
    await output.write("x" * 20_000)
    await output.flush()
    assert pieces == [20_000]


async def test_waiting_for_room_can_be_given_up(pipe: tuple[FileIO, FileIO]) -> None:
    output = OutputLines(pipe[1].fileno())
    await output.write(LONG)
    with anyio.move_on_after(0.01) as scope:
        await output.flush()
    assert scope.cancelled_caught


async def test_a_reader_that_is_gone_is_an_error(pipe: tuple[FileIO, FileIO]) -> None:
    output = OutputLines(pipe[1].fileno())
    pipe[0].close()
    await output.write("text\n")
    with pytest.raises(BrokenPipeError):
        await output.flush()


async def test_a_reader_that_goes_while_there_is_no_room_is_an_error(pipe: tuple[FileIO, FileIO]) -> None:
    output = OutputLines(pipe[1].fileno())
    await output.write(LONG)

    async def leave() -> None:
        await anyio.wait_readable(pipe[0])
        pipe[0].close()

    async with anyio.create_task_group() as tasks:
        tasks.start_soon(leave)
        with pytest.raises(BrokenPipeError):
            await output.flush()


async def test_a_regular_file_is_written_to(tmp_path: Path) -> None:
    file = tmp_path / "output"
    with file.open("wb") as opened:
        output = OutputLines(opened.fileno())
        await output.write(LONG)
        await output.flush()
    assert file.read_text(encoding="utf-8") == LONG


def test_what_is_printed_meanwhile_goes_to_standard_error() -> None:
    done = subprocess.run([sys.executable, "-c", PRINTS], capture_output=True, text=True, check=True, timeout=TIMEOUT_S)
    assert done.stdout == "before\nthe protocol\nafter\n"
    assert done.stderr == "aside\n"


def test_what_is_printed_meanwhile_goes_nowhere_without_a_standard_error() -> None:
    program = ["sh", "-c", 'exec "$0" -c "$1" 2>&-', sys.executable, PRINTS]
    done = subprocess.run(program, stdout=subprocess.PIPE, text=True, check=True, timeout=TIMEOUT_S)
    assert done.stdout == "before\nthe protocol\nafter\n"
