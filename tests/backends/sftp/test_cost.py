"""What reads and writes of large files cost: flights of requests, and full packets."""

import paramiko
import pytest

from backends.sftp import _wire as wire
from backends.sftp._wire import Kind
from fs_core.digest import content_digest
from fs_core.errors import TooLarge
from fs_core.splice import Replacement, Splice
from fs_core.types import IfVersion
from tests.support.sftp_faults import RoundTrips
from tests.support.sftp_servers import SftpHarness, target_of

pytestmark = pytest.mark.anyio

_PACKET_BYTES = 255 * 1024
_DATA = bytes(range(256)) * 8 * 1024


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


def _kinds(flights: list[list[wire.Request]]) -> list[list[Kind]]:
    return [[request.kind for request in flight] for flight in flights]


async def test_a_part_is_read_in_one_flight_behind_looking_and_opening(
    sftp_harness: SftpHarness, round_trips: RoundTrips
) -> None:
    sftp_harness.put("a", _DATA)
    backend = await sftp_harness.open_sftp()
    target = await target_of(backend, "a")
    seen = (await backend.read(target, limit=1)).version
    round_trips.take()
    part = await backend.read(target, offset=1_000_001, limit=600_000, pinned=seen)
    flights = round_trips.take_flights()
    await backend.aclose()
    assert part.data == _DATA[1_000_001:1_600_001]
    assert _kinds(flights) == [
        [Kind.REALPATH, Kind.LSTAT],
        [Kind.OPEN],
        [Kind.FSTAT, *[Kind.READ] * 3, Kind.FSTAT, Kind.LSTAT],
    ]


async def test_a_whole_read_opens_nothing_that_is_too_large(sftp_harness: SftpHarness, round_trips: RoundTrips) -> None:
    sftp_harness.put("a", _DATA)
    backend = await sftp_harness.open_sftp()
    target = await target_of(backend, "a")
    round_trips.take()
    with pytest.raises(TooLarge, match=f"has {len(_DATA)} bytes"):
        await backend.read_whole(target, size_bytes_max=len(_DATA) - 1)
    refused = round_trips.take_flights()
    whole = await backend.read_whole(target, size_bytes_max=len(_DATA))
    cost = round_trips.take()
    await backend.aclose()
    assert _kinds(refused) == [[Kind.REALPATH, Kind.LSTAT]]
    assert (whole.data == _DATA, whole.version.digest, cost) == (True, content_digest(_DATA), 3)


async def test_an_answer_is_waited_for_twice_in_however_many_packets_it_comes(
    sftp_harness: SftpHarness, round_trips: RoundTrips, monkeypatch: pytest.MonkeyPatch
) -> None:
    sftp_harness.put("a", _DATA)
    backend = await sftp_harness.open_sftp()
    target = await target_of(backend, "a")
    waits: list[int] = []
    recv = paramiko.Channel.recv

    def counted(channel: paramiko.Channel, nbytes: int) -> bytes:
        waits.append(nbytes)
        return recv(channel, nbytes)

    monkeypatch.setattr(paramiko.Channel, "recv", counted)
    round_trips.take()
    whole = await backend.read_whole(target, size_bytes_max=len(_DATA))
    answers = sum(len(flight) for flight in round_trips.take_flights())
    await backend.aclose()
    assert whole.data == _DATA
    assert len(waits) == 2 * answers


async def test_a_patch_sends_full_packets(sftp_harness: SftpHarness, round_trips: RoundTrips) -> None:
    sftp_harness.put("a", _DATA)
    backend = await sftp_harness.open_sftp()
    target = await target_of(backend, "a")
    seen = await backend.read_whole(target, size_bytes_max=len(_DATA))
    splice = Splice(seen.data, (Replacement(5, 6, b"longer"), Replacement(1_000_000, 1_000_010, b"")))
    round_trips.take()
    receipt = await backend.patch(target, splice, condition=IfVersion(seen.version))
    flights = round_trips.take_flights()
    await backend.aclose()
    sent = [len(request.data) for flight in flights for request in flight if request.kind is Kind.WRITE]
    assert sftp_harness.get("a") == splice.joined()
    assert receipt.version.digest == content_digest(splice.joined())
    assert sent == [_PACKET_BYTES] * 8 + [splice.size_bytes - 8 * _PACKET_BYTES]
