"""What the operations of a session cost in requests, counted on their way to the store."""

import asyncio
import re
from unittest.mock import AsyncMock

import pytest

from backends.s3 import S3Backend
from backends.s3._client import S3Client
from backends.s3._errors import Failure, RequestFailed
from fs_core.edit import Edit
from fs_core.filesystem import BackedFileSystem
from fs_core.page import Window
from fs_core.policy import MemoryObservations, OwnerId, ReadBeforeWrite
from fs_core.session import FileSession
from fs_core.types import IfAbsent, Level
from tests.support.s3_proxy import FaultProxy
from tests.support.s3_servers import S3Harness, S3Server, target_of
from tests.support.simulated_bucket import NumberedKeys, SimulatedBucket, simulated_backend

pytestmark = pytest.mark.anyio

SLACK_BYTES = 128 << 10
SMALL = b"one\ntwo\nthree\n"
LARGE = b"".join(b"%06d a line of some length, as code has them\n" % number for number in range(1, 60_001))
"""3 MB: too much to be kept as content."""


@pytest.fixture
def server(seaweedfs_server: S3Server) -> S3Server:
    return seaweedfs_server


@pytest.fixture
def session(proxied: S3Backend) -> FileSession:
    policy = ReadBeforeWrite(owner=OwnerId("me"), store=MemoryObservations())
    return FileSession(BackedFileSystem(proxied), policy=policy)


async def test_small_file_is_read_with_one_get(session: FileSession, proxy: FaultProxy, harness: S3Harness) -> None:
    harness.put("f", SMALL)
    for _ in range(2):
        assert (await session.read("f", Window())).page.total_lines == 3
        assert proxy.counts() == {"GET": 1}


@pytest.mark.parametrize("first_line", [1, 30_001, 60_000])
async def test_later_page_of_a_large_file_is_one_pinned_get_of_a_page(
    session: FileSession, proxy: FaultProxy, harness: S3Harness, first_line: int
) -> None:
    harness.put("f", LARGE)
    await session.read("f", Window())
    proxy.counts()
    proxy.ranges()
    page = (await session.read("f", Window(first_line=first_line))).page
    assert proxy.counts() == {"GET": 1}
    assert proxy.headers["GET"]["if-match"]
    asked = re.fullmatch(r"bytes=(\d+)-(\d+)", proxy.ranges()[0])
    assert asked is not None
    page_bytes = sum(len(line.text) + 1 for line in page.lines)
    assert int(asked[2]) + 1 - int(asked[1]) <= page_bytes + SLACK_BYTES
    assert page.lines[0].number == first_line


@pytest.mark.parametrize(("data", "expected"), [(SMALL, {"PUT": 1}), (LARGE, {"GET": 1, "PUT": 1})])
async def test_edit_after_a_read_reads_again_only_what_was_not_kept(
    session: FileSession, proxy: FaultProxy, harness: S3Harness, data: bytes, expected: dict[str, int]
) -> None:
    harness.put("f", b"the first line\n" + data)
    await session.read("f", Window())
    proxy.counts()
    await session.edit("f", Edit(old_string="the first line", new_string="another first line"))
    assert proxy.counts() == expected
    assert harness.get("f") == b"another first line\n" + data


async def test_edits_one_after_another_are_one_put_each(
    session: FileSession, proxy: FaultProxy, harness: S3Harness
) -> None:
    harness.put("f", SMALL)
    await session.read("f", Window())
    proxy.counts()
    await session.edit("f", Edit(old_string="two", new_string="2"))
    await session.edit("f", Edit(old_string="three", new_string="3"))
    assert proxy.counts() == {"PUT": 2}
    assert harness.get("f") == b"one\n2\n3\n"


async def test_write_after_a_read_is_at_most_one_get_and_one_put(
    session: FileSession, proxy: FaultProxy, harness: S3Harness
) -> None:
    harness.put("f", SMALL)
    await session.read("f", Window())
    proxy.counts()
    await session.write("f", "new\n")
    counts = proxy.counts()
    assert counts.pop("PUT") == 1
    assert counts in ({}, {"GET": 1})
    assert harness.get("f") == b"new\n"


async def test_creation_is_one_put_and_a_look_below_the_name_and_into_its_directory(
    session: FileSession, proxy: FaultProxy, harness: S3Harness
) -> None:
    harness.put("d/other", b"")
    await session.write("d/f", "new\n")
    assert proxy.counts() == {"LIST": 2, "PUT": 1}
    assert harness.get("d/f") == b"new\n"


async def test_flat_listing_of_2500_keys_is_three_lists() -> None:
    bucket = SimulatedBucket(NumberedKeys(2_500, prefix="p"))
    backend = simulated_backend(bucket, "s3://b/p")
    directory = await target_of(backend, ".")
    part = await backend.list_below(directory)
    files = len(part.files)
    while part.resume is not None:
        part = await backend.list_below(directory, resume=part.resume)
        files += len(part.files)
    assert files == 2_500
    assert bucket.counts == {"LIST": 3}


async def test_flat_listing_of_a_server_is_one_list_for_each_page(
    proxied: S3Backend, proxy: FaultProxy, harness: S3Harness, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("backends.s3._flat.PAGE_KEYS_MAX", 10)
    for number in range(25):
        harness.put(f"d{number % 5}/f{number}", b"x")
    directory = await target_of(proxied, ".")
    part = await proxied.list_below(directory)
    while part.resume is not None:
        part = await proxied.list_below(directory, resume=part.resume)
    assert proxy.counts() == {"LIST": 3}
    await proxied.list_below(directory, after="d3")
    assert proxy.counts() == {"LIST": 1}


async def test_forty_small_files_are_forty_gets_and_ten_directories_ten_lists(
    proxied: S3Backend, proxy: FaultProxy, harness: S3Harness
) -> None:
    paths = [f"d{number % 10}/f{number}" for number in range(40)]
    for path in paths:
        harness.put(path, b"" if path.endswith("7") else path.encode())
    fed: dict[str, bytes] = {}
    files = [await target_of(proxied, path) for path in paths]
    refusals = await proxied.read_many(files, lambda at, data: fed.update({paths[at]: data}), size_bytes_max=1 << 20)
    assert proxy.counts() == {"GET": 40}
    assert refusals == [None] * 40
    assert fed == {path: b"" if path.endswith("7") else path.encode() for path in paths}
    directories = [await target_of(proxied, f"d{number}") for number in range(10)]
    levels = await proxied.list_many(directories, entries_max=100, with_sizes=True)
    assert proxy.counts() == {"LIST": 10}
    assert sum(len(level.files) for level in levels if isinstance(level, Level)) == 40


@pytest.mark.parametrize(("size_bytes", "asks_first"), [(0, False), (1 << 20, False), (2 << 20, True)])
async def test_only_a_large_put_asks_before_it_sends_its_body(
    proxied: S3Backend, proxy: FaultProxy, harness: S3Harness, size_bytes: int, asks_first: bool
) -> None:
    data = b"x" * size_bytes
    await proxied.write(await target_of(proxied, "f"), data, condition=IfAbsent())
    assert proxy.headers["PUT"].get("expect") == ("100-continue" if asks_first else None)
    assert harness.get("f") == data


@pytest.mark.parametrize("size_bytes", [0, 1 << 20, 2 << 20])
async def test_refused_put_leaves_its_connection_in_use(
    harness: S3Harness, monkeypatch: pytest.MonkeyPatch, size_bytes: int
) -> None:
    harness.put("f", b"theirs")
    loop = asyncio.get_running_loop()
    connect = AsyncMock(side_effect=loop.create_connection)
    monkeypatch.setattr(loop, "create_connection", connect)
    client = await S3Client.connect(bucket=harness.bucket, options=harness.server.options())
    try:
        for _ in range(3):
            with pytest.raises(RequestFailed) as refused:
                await client.put(harness.key("f"), b"x" * size_bytes, parameters={"IfNoneMatch": "*"})
            assert refused.value.failure is Failure.PRECONDITION
            assert await client.head(harness.key("f")) is not None
    finally:
        await client.aclose()
    assert connect.await_count == 1
    assert harness.get("f") == b"theirs"
