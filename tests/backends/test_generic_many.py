"""Several directories and files of a store behind fsspec in one call."""

import threading
from collections.abc import Iterator
from typing import Any

import anyio
import pytest
from anyio import to_thread

from backends.options import FsspecOptions
from fs_core.errors import IoFault, NotDirectory, NotFound, NotRegularFile, PermissionDenied, TooLarge, Unavailable
from fs_core.types import Entry, FileKind, Level
from tests.support.scripted_fsspec import Endless, Scripted, ScriptedFileSystem, at, opened, scripted_store
from tests.support.waiting import WAIT_S

pytestmark = pytest.mark.anyio


@pytest.fixture
def script() -> Iterator[Scripted]:
    with scripted_store() as script:
        yield script


async def test_names_that_lead_elsewhere_and_links_are_nothing_to_walk_into(script: Scripted) -> None:
    script.files = {"root": b"", "root/a": b"x"}
    script.file_types = {"root": "directory"}
    listed: list[dict[str, Any]] = [
        {"name": "root/a", "type": "file", "size": 1},
        {"name": "root/d", "type": "directory"},
        {"name": "root/../../etc", "type": "directory"},
        {"name": "/etc", "type": "directory"},
        {"name": "root/..", "type": "directory"},
        {"name": "root/link", "type": "link"},
        {"name": "root/linked", "type": "directory", "islink": True},
    ]
    script.entries = listed
    async with opened("scripted://root") as backend:
        root = await at(backend, ".")
        level, missing, no_directory = await backend.list_many(
            [root, backend.child(root, "gone"), backend.child(root, "a")], entries_max=10, with_sizes=True
        )
    assert isinstance(level, Level)
    assert (level.files, level.sizes, level.directories) == (["a"], [1], ["d"])
    assert level.others == [
        Entry("..", FileKind.DIRECTORY, addressable=False),
        Entry("../../etc", FileKind.DIRECTORY, addressable=False),
        Entry("/etc", FileKind.DIRECTORY, addressable=False),
        Entry("link", FileKind.OTHER, is_link=True),
        Entry("linked", FileKind.DIRECTORY, is_link=True),
    ]
    assert isinstance(missing, NotFound)
    assert isinstance(no_directory, NotDirectory)


async def test_files_are_read_on_one_thread_and_refusals_stand_at_their_place(script: Scripted) -> None:
    script.files = {"a": b"hello", "denied": b"", "torn": b"x", "link": b"", "large": b"0123456789", "z": b""}
    script.file_types = {"link": "link"}
    script.details = {"torn": {"size": 9, "ETag": "x"}}
    threads: set[int] = set()

    def look(path: str) -> None:
        threads.add(threading.get_ident())
        if path == "denied":
            raise PermissionError(path)

    script.info_hook = look
    fed: dict[int, bytes] = {}
    async with opened("scripted://") as backend:
        files = [await at(backend, name) for name in ("a", "denied", "torn", "gone", "link", "large", "z")]
        refusals = await backend.read_many(files, fed.__setitem__, size_bytes_max=9)
    assert fed == {0: b"hello", 6: b""}
    assert [type(one) for one in refusals] == [
        type(None),
        PermissionDenied,
        IoFault,
        NotFound,
        NotRegularFile,
        TooLarge,
        type(None),
    ]
    assert len(threads) == 1


async def test_a_file_that_is_larger_than_announced_is_not_held(script: Scripted) -> None:
    script.files, script.details, script.open = {"a": b""}, {"a": {"size": None}}, Endless
    async with opened("scripted://", FsspecOptions(write_size_bytes_max=1 << 50)) as backend:
        (refusal,) = await backend.read_many([await at(backend, "a")], dict[int, bytes]().__setitem__, size_bytes_max=9)
    assert isinstance(refusal, TooLarge)


async def test_a_store_that_cannot_be_reached_ends_the_reading(script: Scripted) -> None:
    script.files = {"a": b"x", "b": b"x"}
    fed: dict[int, bytes] = {}

    def look(path: str) -> None:
        if path == "b":
            raise ConnectionResetError(path)

    script.info_hook = look
    async with opened("scripted://") as backend:
        files = [await at(backend, name) for name in "ab"]
        with pytest.raises(Unavailable):
            await backend.read_many(files, fed.__setitem__, size_bytes_max=9)
    assert fed == {0: b"x"}


async def test_cancelled_reading_feeds_its_sink_no_more(script: Scripted) -> None:
    script.files = {"a": b"x"}
    fed: list[int] = []
    first, go_on = threading.Event(), threading.Event()

    def look(path: str) -> None:
        if fed:
            first.set()
            go_on.wait(2 * WAIT_S)

    script.info_hook = look
    async with opened("scripted://") as backend:
        files = [await at(backend, "a")] * 100

        async def read() -> None:
            await backend.read_many(files, lambda index, _: fed.append(index), size_bytes_max=9)

        with anyio.fail_after(WAIT_S):
            async with anyio.create_task_group() as group:
                group.start_soon(read)
                await to_thread.run_sync(first.wait)
                group.cancel_scope.cancel()
        go_on.set()
        script.info_hook = str
        assert (await backend.read(files[0])).data == b"x"
    assert fed == [0]
    assert ScriptedFileSystem.made == 2
