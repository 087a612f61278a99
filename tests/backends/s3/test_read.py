import anyio
import pytest

from backends.s3 import S3Backend
from fs_core.digest import content_digest
from fs_core.errors import (
    IoFault,
    NotDirectory,
    NotFound,
    NotRegularFile,
    PermissionDenied,
    Reason,
    StaleVersion,
    Unavailable,
)
from fs_core.types import Entry, FileKind
from tests.support.s3_proxy import Answer, Drop, FaultProxy, Hold
from tests.support.s3_servers import S3Harness, S3Server, target_of

pytestmark = pytest.mark.anyio


async def test_small_file_costs_one_get(proxied: S3Backend, proxy: FaultProxy, harness: S3Harness) -> None:
    harness.put("d/f", b"hello")
    snapshot = await proxied.read(await target_of(proxied, "d/f"), limit=256 * 1024)
    assert proxy.counts() == {"GET": 1}
    assert (snapshot.data, snapshot.size_bytes, snapshot.is_whole) == (b"hello", 5, True)
    assert snapshot.version.digest == content_digest(b"hello")


@pytest.mark.parametrize(
    ("offset", "limit", "expected"),
    [(0, 0, b""), (0, 3, b"012"), (4, 3, b"456"), (8, 100, b"89"), (4, None, b"456789"), (10, 5, b""), (99, None, b"")],
)
async def test_range_is_exact(
    backend: S3Backend, harness: S3Harness, offset: int, limit: int | None, expected: bytes
) -> None:
    harness.put("f", b"0123456789")
    snapshot = await backend.read(await target_of(backend, "f"), offset=offset, limit=limit)
    assert (snapshot.data, snapshot.offset, snapshot.size_bytes) == (expected, offset, 10)


@pytest.mark.parametrize("limit", [None, 0, 100])
async def test_empty_file_is_whole(backend: S3Backend, harness: S3Harness, limit: int | None) -> None:
    harness.put("empty", b"")
    snapshot = await backend.read(await target_of(backend, "empty"), limit=limit)
    assert (snapshot.data, snapshot.size_bytes, snapshot.is_whole) == (b"", 0, True)
    assert snapshot.version.digest == content_digest(b"")
    info = await backend.stat(await target_of(backend, "empty"))
    assert info is not None
    assert info.version == snapshot.version


async def test_pinned_read_of_a_changed_file_is_stale(backend: S3Backend, harness: S3Harness) -> None:
    harness.put("f", b"old content")
    target = await target_of(backend, "f")
    first = await backend.read(target, limit=3)
    assert (await backend.read(target, offset=4, limit=3, pinned=first.version)).data == b"con"
    harness.put("f", b"new")
    with pytest.raises(StaleVersion):
        await backend.read(target, limit=3, pinned=first.version)
    with pytest.raises(StaleVersion):
        await backend.read(target, offset=4, limit=3, pinned=first.version)
    harness.delete("f")
    with pytest.raises(NotFound):
        await backend.read(target, limit=3, pinned=first.version)


async def test_pinned_read_from_a_store_that_ignores_conditions_is_stale_too(rclone_server: S3Server) -> None:
    harness = rclone_server.harness()
    backend = await harness.open()
    try:
        harness.put("f", b"one version")
        target = await target_of(backend, "f")
        first = await backend.read(target, limit=4)
        assert (await backend.read(target, offset=4, limit=7, pinned=first.version)).data == b"version"
        harness.put("f", b"another one")
        with pytest.raises(StaleVersion):
            await backend.read(target, offset=4, limit=7, pinned=first.version)
    finally:
        await backend.aclose()


async def test_absent_file_and_directory_are_told_apart(backend: S3Backend, harness: S3Harness) -> None:
    harness.put("d/f", b"x")
    harness.mkdir("empty")
    for path in ("d", "empty", "."):
        with pytest.raises(NotRegularFile):
            await backend.read(await target_of(backend, path))
        info = await backend.stat(await target_of(backend, path))
        assert info is not None
        assert info.kind is FileKind.DIRECTORY
    for path, reason in (
        ("nothing", Reason.NO_SUCH_FILE),
        ("d/nothing", Reason.NO_SUCH_FILE),
        ("no/such/directory", Reason.NO_SUCH_FILE),
        ("d/f/below", Reason.THROUGH_FILE),
        ("d/f/deep/below", Reason.THROUGH_FILE),
    ):
        with pytest.raises(NotFound) as missing:
            await backend.read(await target_of(backend, path))
        assert missing.value.reason == reason
        assert await backend.stat(await target_of(backend, path)) is None


async def test_stat_is_fresh_and_costs_one_head(proxied: S3Backend, proxy: FaultProxy, harness: S3Harness) -> None:
    target = await target_of(proxied, "f")
    for data in (b"1", b"22"):
        harness.put("f", data)
        info = await proxied.stat(target)
        assert info is not None
        assert info.size_bytes == len(data)
        assert info.version == (await proxied.read(target)).version
    assert proxy.counts() == {"HEAD": 2, "GET": 2}


NAMES = ["a#b", "a?b", "a+b", "a%20b", "a b", "ä", "日本", "😀", "a&b=c", "a'b\"c", "<x>", "v1..v2", "~", "$HOME"]


async def test_odd_names_round_trip(backend: S3Backend, harness: S3Harness) -> None:
    for name in NAMES:
        harness.put(f"odd/{name}", name.encode())
    listing = await backend.list(await target_of(backend, "odd"), limit=100)
    assert [entry.name for entry in listing.entries] == sorted(NAMES)
    assert all(entry.addressable for entry in listing.entries)
    for name in NAMES:
        assert (await backend.read(await target_of(backend, f"odd/{name}"))).data == name.encode()


async def test_listing_is_sorted_by_name_and_hides_unfinished_writes(backend: S3Backend, harness: S3Harness) -> None:
    for path in ("l/a/x", "l/a-b", "l/a0", "l/.seamfs-0123456789abcdef.tmp", "l/b"):
        harness.put(path, b"12")
    harness.mkdir("l/empty")
    listing = await backend.list(await target_of(backend, "l"), limit=10)
    assert listing.entries == (
        Entry("a", FileKind.DIRECTORY),
        Entry("a-b", FileKind.FILE, 2),
        Entry("a0", FileKind.FILE, 2),
        Entry("b", FileKind.FILE, 2),
        Entry("empty", FileKind.DIRECTORY),
    )
    assert listing.is_complete
    assert (await backend.list(await target_of(backend, "l/empty"), limit=10)).entries == ()


async def test_listing_says_whether_it_was_cut(backend: S3Backend, harness: S3Harness) -> None:
    for number in range(5):
        harness.put(f"n/{number}", b"")
    target = await target_of(backend, "n")
    whole = await backend.list(target, limit=5)
    assert (len(whole.entries), whole.is_complete) == (5, True)
    cut = await backend.list(target, limit=4)
    assert ([entry.name for entry in cut.entries], cut.is_complete) == (["0", "1", "2", "3"], False)


async def test_keys_that_no_path_names_are_marked(moto_server: S3Server) -> None:
    # SeaweedFS itself refuses some of these keys.
    harness = moto_server.harness()
    for key in ("a//b", "x/../y", "/lead", "marker/"):
        harness.put(key, b"1")
    backend = await harness.open()
    try:
        shown = {
            path: {entry.name: entry.addressable for entry in (await backend.list(target, limit=9)).entries}
            for path in (".", "a", "x", "marker")
            for target in [await target_of(backend, path)]
        }
    finally:
        await backend.aclose()
    assert shown["."] == {"/": False, "a": True, "marker": True, "x": True}
    assert shown["a"] == {"/": False}
    assert shown["x"] == {"..": False}
    assert shown["marker"] == {"/": False}


async def test_listing_of_what_is_no_directory_is_refused(backend: S3Backend, harness: S3Harness) -> None:
    harness.put("f", b"")
    with pytest.raises(NotDirectory):
        await backend.list(await target_of(backend, "f"), limit=5)
    with pytest.raises(NotFound):
        await backend.list(await target_of(backend, "nothing"), limit=5)
    empty = await harness.server.harness().open()
    try:
        listing = await empty.list(await target_of(empty, "."), limit=5)
    finally:
        await empty.aclose()
    assert (listing.entries, listing.is_complete) == ((), True)


@pytest.mark.parametrize("fault", [Answer(503, "SlowDown"), Answer(500, "InternalError"), Drop(forward=True)])
async def test_read_outlives_a_passing_fault(
    proxied: S3Backend, proxy: FaultProxy, harness: S3Harness, fault: Answer | Drop
) -> None:
    harness.put("f", b"hello")
    proxy.inject("GET", fault)
    assert (await proxied.read(await target_of(proxied, "f"))).data == b"hello"
    assert proxy.counts() == {"GET": 2}


async def test_read_gives_up_on_a_lasting_fault(proxied: S3Backend, proxy: FaultProxy) -> None:
    proxy.inject("GET", *[Answer(503, "SlowDown")] * 3)
    with pytest.raises(Unavailable) as caught:
        await proxied.read(await target_of(proxied, "f"))
    assert caught.value.retryable
    assert proxy.counts() == {"GET": 3}


async def test_refused_access_is_told_from_bad_credentials(proxied: S3Backend, proxy: FaultProxy) -> None:
    target = await target_of(proxied, "f")
    proxy.inject("GET", Answer(403, "AccessDenied"))
    with pytest.raises(PermissionDenied):
        await proxied.read(target)
    proxy.inject("HEAD", Answer(403))
    with pytest.raises(PermissionDenied):
        await proxied.stat(target)
    proxy.inject("HEAD", Answer(400))
    proxy.inject("LIST", Answer(400, "ExpiredToken"))
    with pytest.raises(Unavailable, match="credentials"):
        await proxied.stat(target)


async def test_answer_without_an_etag_is_a_fault(proxied: S3Backend, proxy: FaultProxy) -> None:
    proxy.inject("GET", Answer(200, headers={"Content-Type": "text/plain"}))
    with pytest.raises(IoFault):
        await proxied.read(await target_of(proxied, "f"))


async def test_silent_store_ends_within_the_time_limit(
    proxied: S3Backend, proxy: FaultProxy, monkeypatch: pytest.MonkeyPatch
) -> None:
    proxy.inject("GET", Hold())
    client = proxied._client  # pyright: ignore[reportPrivateUsage] - so that the limit is that of one request
    monkeypatch.setattr(client, "_timeout_s", 0.5)
    with anyio.fail_after(15), pytest.raises(Unavailable, match="did not answer in time"):
        await proxied.read(await target_of(proxied, "f"))
