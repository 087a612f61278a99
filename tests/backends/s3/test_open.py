import gc
import socket
import traceback
from dataclasses import replace
from typing import Any

import anyio
import pytest
import trio

from backends.options import S3Options
from backends.s3 import S3Backend, open_s3
from fs_core.errors import FsError, InvalidPath, NotDirectory, NotFound, PermissionDenied, Unavailable, Unsupported
from fs_core.types import IfAbsent
from seamfs.embedded.s3 import embedded_s3
from tests.support.census import Census
from tests.support.s3_proxy import Answer, FaultProxy, Hold, fault_proxy
from tests.support.s3_servers import S3Harness, S3Server, target_of
from tests.support.waiting import WAIT_S

pytestmark = pytest.mark.anyio


async def refusal(url: str, options: S3Options) -> FsError:
    """The error of an `open_s3` that must fail."""
    with pytest.raises(FsError) as caught:
        await open_s3(url, options)
    error = caught.value
    assert str(error).count("\n") == 0
    assert error.operation == "open"
    return error


async def open_and_close(url: str, options: S3Options) -> None:
    await (await open_s3(url, options)).aclose()


async def test_missing_bucket_is_named(server: S3Server) -> None:
    error = await refusal("s3://no-such-bucket/p", server.options())
    assert isinstance(error, NotFound)
    assert "no-such-bucket" in str(error)


async def test_wrong_credentials_are_unavailable_and_never_shown(seaweedfs_server: S3Server) -> None:
    for wrong in ({"secret_access_key": "topsecret" * 4}, {"access_key_id": "NOSUCHACCESSKEY00000"}):
        error = await refusal("s3://seam/p", seaweedfs_server.options(**wrong))
        assert isinstance(error, Unavailable)
        assert "credentials" in str(error)
        shown = "".join(traceback.format_exception(error)) + repr(error) + repr(error.__cause__)
        assert "topsecret" not in shown
        assert seaweedfs_server.secret_access_key not in shown


async def test_unreachable_endpoint_is_named_within_the_time_limit(moto_server: S3Server) -> None:
    with socket.socket() as unused:
        unused.bind(("127.0.0.1", 0))
        endpoint = f"127.0.0.1:{unused.getsockname()[1]}"
        with anyio.fail_after(15):
            error = await refusal("s3://seam/p", moto_server.options(endpoint_url=f"http://{endpoint}"))
    assert isinstance(error, Unavailable)
    assert endpoint in str(error)


async def test_silent_endpoint_ends_within_the_time_limit(moto_server: S3Server) -> None:
    with socket.socket() as silent:
        silent.bind(("127.0.0.1", 0))
        silent.listen()
        url = f"http://127.0.0.1:{silent.getsockname()[1]}"
        with anyio.fail_after(15):
            error = await refusal("s3://seam", moto_server.options(endpoint_url=url, request_timeout_s=0.5))
    assert isinstance(error, Unavailable)
    assert error.retryable


@pytest.mark.parametrize(
    ("answer", "expected", "words"),
    [
        (Answer(301, "PermanentRedirect"), Unavailable, "region"),
        (Answer(400, "AuthorizationHeaderMalformed"), Unavailable, "region"),
        (Answer(403, "AccessDenied"), PermissionDenied, "permission"),
        (Answer(404, ""), NotFound, "bucket does not exist"),
    ],
)
async def test_answer_at_open_is_explained(
    moto_server: S3Server, answer: Answer, expected: type[FsError], words: str
) -> None:
    with fault_proxy(moto_server.endpoint_url) as proxy:
        proxy.inject("LIST", answer, answer)
        proxy.inject("HEAD", Answer(404), Answer(404))  # the client library asks for the region of the bucket
        error = await refusal("s3://seam/p", moto_server.options(endpoint_url=proxy.endpoint_url))
    assert isinstance(error, expected)
    assert words in str(error)


async def test_redirect_to_the_region_of_the_bucket_is_followed(moto_server: S3Server) -> None:
    with fault_proxy(moto_server.endpoint_url) as proxy:
        proxy.inject("LIST", Answer(301, "PermanentRedirect"))
        backend = await open_s3("s3://seam/p", moto_server.options(endpoint_url=proxy.endpoint_url))
        await backend.aclose()
        assert proxy.counts() == {"LIST": 2, "HEAD": 1 + 1}  # of the bucket for its region, and of the prefix


async def test_missing_credentials_and_profile_are_unavailable(
    moto_server: S3Server, monkeypatch: pytest.MonkeyPatch, tmp_path: Any
) -> None:
    for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", "AWS_SESSION_TOKEN", "AWS_PROFILE"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("AWS_EC2_METADATA_DISABLED", "true")
    for name in ("AWS_CONFIG_FILE", "AWS_SHARED_CREDENTIALS_FILE"):
        monkeypatch.setenv(name, str(tmp_path / "none"))
    none: dict[str, Any] = {"access_key_id": None, "secret_access_key": None}
    error = await refusal("s3://seam", moto_server.options(**none))
    assert isinstance(error, Unavailable)
    assert "no credentials were found" in str(error)
    error = await refusal("s3://seam", moto_server.options(**none, profile="absent"))
    assert isinstance(error, Unavailable)
    assert "no credentials were found" in str(error)


@pytest.mark.parametrize("below", ["", "/deeper"])
async def test_root_in_an_object_is_no_directory(moto_server: S3Server, below: str) -> None:
    harness = moto_server.harness()
    harness.put("file", b"x")
    error = await refusal(f"s3://{harness.bucket}/{harness.key('file')}{below}", moto_server.options())
    assert isinstance(error, NotDirectory)
    assert harness.names() == ["file"]


async def test_opening_waits_for_one_round_trip(harness: S3Harness, proxy: FaultProxy) -> None:
    listing, heads = Hold(), (Hold(), Hold())
    proxy.inject("LIST", listing)
    proxy.inject("HEAD", *heads)
    options = harness.server.options(endpoint_url=proxy.endpoint_url)
    async with anyio.create_task_group() as group:
        group.start_soon(open_and_close, f"s3://{harness.bucket}/some/{harness.prefix}", options)
        for hold in (listing, *heads):
            await hold.has_arrived()
        for hold in (listing, *heads):
            hold.release.set()
    assert proxy.counts() == {"LIST": 1, "HEAD": 2}


async def test_name_of_the_root_that_cannot_be_looked_at_is_told(moto_server: S3Server) -> None:
    with fault_proxy(moto_server.endpoint_url) as proxy:
        proxy.inject("HEAD", Answer(403), Answer(501))
        error = await refusal("s3://seam/p/q", moto_server.options(endpoint_url=proxy.endpoint_url))
    assert isinstance(error, Unsupported)
    assert "does not offer" in str(error)


async def test_of_a_listing_and_a_look_that_are_refused_the_listing_is_told(moto_server: S3Server) -> None:
    with fault_proxy(moto_server.endpoint_url) as proxy:
        proxy.inject("LIST", Answer(403, "ExpiredToken"))
        proxy.inject("HEAD", Answer(501))
        error = await refusal("s3://seam/p", moto_server.options(endpoint_url=proxy.endpoint_url))
    assert isinstance(error, Unavailable)
    assert "credentials" in str(error)


async def test_root_is_opened_though_its_name_may_not_be_looked_at(moto_server: S3Server) -> None:
    with fault_proxy(moto_server.endpoint_url) as proxy:
        proxy.inject("HEAD", Answer(403))
        backend = await open_s3("s3://seam/p", moto_server.options(endpoint_url=proxy.endpoint_url))
        await backend.aclose()
        assert proxy.counts()["HEAD"] == 1


async def test_credentials_in_the_endpoint_are_refused_and_never_shown(moto_server: S3Server) -> None:
    error = await refusal("s3://seam", moto_server.options(endpoint_url="http://user:topsecret@127.0.0.1:1"))
    assert isinstance(error, Unsupported)
    assert "topsecret" not in "".join(traceback.format_exception(error))


async def test_impossible_bucket_name_is_invalid(moto_server: S3Server) -> None:
    assert isinstance(await refusal("s3://bad bucket!/p", moto_server.options()), InvalidPath)


async def test_opening_writes_nothing(harness: S3Harness) -> None:
    backend = await harness.open()
    await backend.aclose()
    assert harness.names() == []


async def test_opening_that_is_cancelled_leaves_no_connection(harness: S3Harness, proxy: FaultProxy) -> None:
    hold = Hold()
    proxy.inject("LIST", hold)
    options = harness.server.options(endpoint_url=proxy.endpoint_url)
    async with anyio.create_task_group() as group:
        group.start_soon(open_s3, f"s3://{harness.bucket}", options)
        await hold.has_arrived()
        group.cancel_scope.cancel()
    gc.collect()  # an unclosed connection would warn here, and a warning fails the test
    assert proxy.counts() == {"LIST": 1}


def test_under_trio_it_is_unsupported(moto_server: S3Server) -> None:
    async def run() -> None:
        with pytest.raises(Unsupported, match="asyncio"):
            await open_s3("s3://seam", moto_server.options())

    trio.run(run)


async def test_secrets_are_in_no_repr(moto_server: S3Server, harness: S3Harness) -> None:
    backend = await harness.open()
    try:
        shown = f"{backend!r} {backend.root!r} {backend.capabilities!r} {harness.server.options()!r}"
    finally:
        await backend.aclose()
    assert harness.server.secret_access_key not in shown


async def test_closing_twice_and_using_afterwards_is_clean(harness: S3Harness) -> None:
    backend = await harness.open()
    harness.put("f", b"x")
    target = await target_of(backend, "f")
    await backend.read(target)
    await backend.aclose()
    await backend.aclose()
    with pytest.raises(Unavailable, match="closed"):
        await backend.read(target)
    with pytest.raises(Unavailable, match="closed"):
        await backend.write(target, b"", condition=IfAbsent())
    del backend
    gc.collect()


async def test_closing_waits_for_a_write_under_way(proxied: S3Backend, proxy: FaultProxy, harness: S3Harness) -> None:
    hold = Hold()
    proxy.inject("PUT", hold)
    target = await target_of(proxied, "f")
    async with anyio.create_task_group() as group:
        group.start_soon(lambda: proxied.write(target, b"mine", condition=IfAbsent()))
        await hold.has_arrived()
        group.start_soon(proxied.aclose)
        await anyio.wait_all_tasks_blocked()
        hold.release.set()
    assert harness.get("f") == b"mine"


async def test_cancelled_reads_give_their_connections_back(
    proxied: S3Backend, proxy: FaultProxy, harness: S3Harness
) -> None:
    harness.put("f", b"x")
    target = await target_of(proxied, "f")
    holds = [Hold() for _ in range(8)]
    proxy.inject("GET", *holds)
    async with anyio.create_task_group() as group:
        for _ in holds:
            group.start_soon(proxied.read, target)
        for hold in holds:
            await hold.has_arrived()
        group.cancel_scope.cancel()
    assert (await proxied.read(target)).data == b"x"


async def test_operations_wait_for_a_slot(harness: S3Harness, proxy: FaultProxy) -> None:
    server = replace(harness.server, endpoint_url=proxy.endpoint_url)
    backend = await S3Harness(server, harness.bucket, harness.prefix).open_with(concurrency_max=2)
    harness.put("f", b"x")
    target = await target_of(backend, "f")
    proxy.counts()
    holds = [Hold(), Hold()]
    proxy.inject("GET", *holds)
    async with anyio.create_task_group() as group:
        for _ in range(6):
            group.start_soon(backend.read, target)
        for hold in holds:
            await hold.has_arrived()
        await anyio.wait_all_tasks_blocked()
        assert proxy.counts() == {"GET": 2}
        for hold in holds:
            hold.release.set()
    await backend.aclose()
    assert proxy.counts() == {"GET": 4}


def test_embedded_service_ends_with_its_block() -> None:
    before = Census.take()
    with embedded_s3() as service:
        host, _, port = service.endpoint_url.removeprefix("http://").partition(":")
        socket.create_connection((host, int(port)), timeout=WAIT_S).close()
        assert before.excess()
    before.wait_until_back()
