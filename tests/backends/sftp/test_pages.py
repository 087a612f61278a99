"""Pages of a settled file through the seam: what a later one costs, and that no replacement relies on it."""

import os
import time
from pathlib import Path

import pytest

from backends.sftp import SftpBackend
from backends.sftp._wire import Kind
from fs_core.errors import StaleVersion
from fs_core.filesystem import BackedFileSystem
from fs_core.outcomes import DIFF_SOURCE_BYTES_MAX
from fs_core.page import Window
from fs_core.policy import MemoryObservations, OwnerId, ReadBeforeWrite
from fs_core.session import FileSession
from tests.support.sftp_faults import RoundTrips
from tests.support.sftp_servers import SftpHarness

pytestmark = pytest.mark.anyio

_LINES = 60_000
_TEXT = b"".join(
    b"line %06d, one of so many that more is to be compared than is held at once\n" % n for n in range(_LINES)
)


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


def _put_settled(file: Path, data: bytes) -> None:
    file.write_bytes(data)
    then_s = int(time.time()) - 3600
    os.utime(file, (then_s, then_s))


def _session(backend: SftpBackend) -> FileSession:
    policy = ReadBeforeWrite(owner=OwnerId("agent"), store=MemoryObservations())
    return FileSession(BackedFileSystem(backend), policy=policy)


async def test_a_later_page_is_one_flight_of_reads_behind_resolving_looking_and_opening(
    sftp_harness: SftpHarness, round_trips: RoundTrips
) -> None:
    _put_settled(sftp_harness.directory / "a", _TEXT)
    backend = await sftp_harness.open_sftp()
    session = _session(backend)
    first = await session.read("a", Window(lines_max=10))
    round_trips.take()
    later = await session.read("a", Window(first_line=41_000, lines_max=200))
    flights = round_trips.take_flights()
    await backend.aclose()
    assert first.page.total_lines == later.page.total_lines == _LINES
    assert (len(later.page.lines), later.version) == (200, first.version)
    assert [[request.kind for request in flight] for flight in flights] == [
        [Kind.LSTAT],
        [Kind.REALPATH, Kind.LSTAT],
        [Kind.OPEN],
        [Kind.FSTAT, Kind.READ, Kind.FSTAT, Kind.LSTAT],
    ]


async def test_a_large_file_that_was_changed_under_its_old_time_is_not_replaced(sftp_harness: SftpHarness) -> None:
    assert len(_TEXT) > DIFF_SOURCE_BYTES_MAX
    file = sftp_harness.directory / "a"
    _put_settled(file, _TEXT)
    backend = await sftp_harness.open_sftp()
    session = _session(backend)
    await session.read("a", Window(lines_max=1))
    theirs = _TEXT[:-5] + b"them\n"
    times = (file.stat().st_atime, file.stat().st_mtime)
    file.write_bytes(theirs)
    os.utime(file, times)
    with pytest.raises(StaleVersion):
        await session.write("a", "ours")
    await backend.aclose()
    assert file.read_bytes() == theirs
