from datetime import UTC, datetime
from typing import Any

import pytest
from pydantic import SecretStr

from backends.options import S3Options
from backends.s3 import S3Backend
from backends.s3._client import S3Client
from backends.s3._lru import Lru
from backends.s3._objects import LINEAGE_METADATA, head_of
from backends.s3._probe import Guards
from fs_core.digest import content_digest
from fs_core.errors import InvalidPath, NoSpace, NotFound, NotRegularFile, PermissionDenied, StaleVersion, TooLarge
from fs_core.types import Always, IfAbsent, IfVersion, Note, NoteKind, Version
from tests.support.s3_proxy import Answer, FaultProxy
from tests.support.s3_servers import S3Harness, S3Server, target_of

pytestmark = pytest.mark.anyio


async def test_edit_costs_one_get_and_one_put(proxied: S3Backend, proxy: FaultProxy, harness: S3Harness) -> None:
    harness.put("f", b"one")
    target = await target_of(proxied, "f")
    snapshot = await proxied.read(target)
    first = await proxied.write(target, b"two", condition=IfVersion(snapshot.version))
    assert proxy.counts() == {"GET": 1, "PUT": 1}
    second = await proxied.write(target, b"three", condition=IfVersion(first.version))
    assert proxy.counts() == {"PUT": 1}
    assert harness.get("f") == b"three"
    assert not first.created
    assert second.version.digest == content_digest(b"three")
    info = await proxied.stat(target)
    assert info is not None
    assert info.version == second.version


async def test_version_that_this_backend_has_not_seen_costs_one_head_more(
    proxied: S3Backend, proxy: FaultProxy, harness: S3Harness
) -> None:
    harness.put("f", b"one")
    version = Version(token=head_of(harness.head("f")).etag)  # pyright: ignore[reportArgumentType] - boto3 is untyped
    await proxied.write(await target_of(proxied, "f"), b"two", condition=IfVersion(version))
    assert proxy.counts() == {"HEAD": 1, "PUT": 1}


async def test_create_beside_a_file_costs_one_put_and_two_lookups(
    proxied: S3Backend, proxy: FaultProxy, harness: S3Harness
) -> None:
    harness.put("d/other", b"")
    receipt = await proxied.write(await target_of(proxied, "d/f"), b"new", condition=IfAbsent())
    assert proxy.counts() == {"LIST": 2, "PUT": 1}
    assert receipt.created
    assert receipt.notes == ()
    assert harness.get("d/f") == b"new"


async def test_missing_parents_are_told_topmost_first(backend: S3Backend, harness: S3Harness) -> None:
    harness.put("have/x", b"")
    receipt = await backend.write(await target_of(backend, "have/a/b/f"), b"", condition=IfAbsent())
    assert receipt.notes == (Note(NoteKind.PARENTS_CREATED, "have/a, have/a/b"),)
    again = await backend.write(await target_of(backend, "have/a/b/g"), b"", condition=Always())
    assert (again.created, again.notes) == (True, ())


async def test_create_is_refused_where_something_stands(backend: S3Backend, harness: S3Harness) -> None:
    harness.put("f", b"theirs")
    harness.put("d/x", b"")
    harness.mkdir("empty")
    with pytest.raises(StaleVersion):
        await backend.write(await target_of(backend, "f"), b"mine", condition=IfAbsent())
    for path in ("d", "empty", "."):
        for condition in (IfAbsent(), Always()):
            with pytest.raises(NotRegularFile):
                await backend.write(await target_of(backend, path), b"mine", condition=condition)
    for path in ("f/below", "f/far/below"):
        for condition in (IfAbsent(), Always()):
            with pytest.raises(NotFound, match="goes through a file"):
                await backend.write(await target_of(backend, path), b"mine", condition=condition)
    assert harness.get("f") == b"theirs"
    assert harness.names() == ["d", "empty", "f"]


async def test_replace_of_a_changed_file_is_stale(backend: S3Backend, harness: S3Harness) -> None:
    target = await target_of(backend, "f")
    seen = (await backend.write(target, b"one", condition=IfAbsent())).version
    harness.put("f", b"theirs")
    with pytest.raises(StaleVersion, match="changed"):
        await backend.write(target, b"mine", condition=IfVersion(seen))
    assert harness.get("f") == b"theirs"
    harness.delete("f")
    with pytest.raises(StaleVersion, match="deleted"):
        await backend.write(target, b"mine", condition=IfVersion(seen))
    harness.put("f/x", b"")
    with pytest.raises(NotRegularFile):
        await backend.write(target, b"mine", condition=IfVersion(seen))
    assert harness.get("f") is None


async def test_same_content_under_another_etag_is_no_change(backend: S3Backend, harness: S3Harness) -> None:
    harness.put("f", b"same")
    target = await target_of(backend, "f")
    other = Version(token="an-older-etag", digest=content_digest(b"same"))
    receipt = await backend.write(target, b"next", condition=IfVersion(other))
    assert harness.get("f") == b"next"
    with pytest.raises(StaleVersion):
        await backend.write(target, b"mine", condition=IfVersion(other))
    with pytest.raises(StaleVersion):
        await backend.write(target, b"mine", condition=IfVersion(Version(token="an-older-etag")))
    assert receipt.version.digest == content_digest(b"next")


async def test_always_tells_whether_it_created(backend: S3Backend, harness: S3Harness) -> None:
    target = await target_of(backend, "f")
    assert (await backend.write(target, b"1", condition=Always())).created
    assert not (await backend.write(target, b"2", condition=Always())).created
    assert harness.get("f") == b"2"


KEPT: dict[str, Any] = {
    "ContentType": "text/markdown; charset=utf-8",
    "CacheControl": "max-age=60",
    "ContentDisposition": 'attachment; filename="x.md"',
    "ContentLanguage": "de",
    "Metadata": {"owner": "me", "purpose": "test"},
    "Expires": datetime(2030, 1, 2, 3, 4, 5, tzinfo=UTC),
}


@pytest.mark.parametrize("way", ["read", "stat", "always", "write"])
async def test_metadata_is_kept_on_replace(backend: S3Backend, harness: S3Harness, way: str) -> None:
    harness.put_with("f", b"one", **KEPT)
    before = harness.head("f")
    target = await target_of(backend, "f")
    info = await backend.stat(target) if way == "stat" else None
    version = info.version if info is not None else (await backend.read(target)).version
    assert version is not None
    receipt = await backend.write(target, b"two", condition=Always() if way == "always" else IfVersion(version))
    if way == "write":
        receipt = await backend.write(target, b"three", condition=IfVersion(receipt.version))
    after = harness.head("f")
    assert len(after["Metadata"].pop(LINEAGE_METADATA).split()) == (2 if way == "write" else 1)
    # moto does not keep Expires at all, so both sides are compared and not the constant.
    assert {name: after.get(name) for name in KEPT} == {name: before.get(name) for name in KEPT}
    assert after["Metadata"] == KEPT["Metadata"]
    assert receipt.notes == ()


async def test_storage_class_and_redirect_are_kept(moto_server: S3Server) -> None:
    harness = moto_server.harness()
    extra = {
        "StorageClass": "STANDARD_IA",
        "WebsiteRedirectLocation": "/else",
        "ServerSideEncryption": "aws:kms",
        "SSEKMSKeyId": "key-1",
        "ContentEncoding": "gzip",
    }
    harness.put_with("f", b"one", **extra)
    backend = await harness.open()
    try:
        target = await target_of(backend, "f")
        version = (await backend.read(target)).version
        await backend.write(target, b"two", condition=IfVersion(version))
    finally:
        await backend.aclose()
    after = harness.head("f")
    assert {name: after.get(name) for name in extra} == extra


async def test_tags_are_kept_or_their_loss_is_told(proxied: S3Backend, proxy: FaultProxy, harness: S3Harness) -> None:
    harness.put_with("f", b"one", Tagging="a=b&c=d%20e")
    target = await target_of(proxied, "f")
    version = (await proxied.read(target)).version
    proxy.counts()
    first = await proxied.write(target, b"two", condition=IfVersion(version))
    assert proxy.counts() == {"GET": 1, "PUT": 1}
    tags = harness.server.client.get_object_tagging(Bucket=harness.bucket, Key=harness.key("f"))["TagSet"]
    assert {tag["Key"]: tag["Value"] for tag in tags} == {"a": "b", "c": "d e"}
    assert first.notes == ()
    proxy.inject("GET", Answer(403, "AccessDenied"))
    second = await proxied.write(target, b"three", condition=IfVersion(first.version))
    assert second.notes == (Note(NoteKind.METADATA_NOT_KEPT, "not kept: the tags"),)


def test_what_cannot_be_kept_is_named() -> None:
    answer: Any = {
        "ContentLength": 1,
        "ETag": '"e"',
        "Metadata": {"ok": "1", "umlaut": "ä"},
        "MissingMeta": 1,
        "ExpiresString": "someday",
        "ObjectLockMode": "GOVERNANCE",
        "ContentEncoding": "aws-chunked",
    }
    kept = head_of(answer).kept
    assert kept.metadata == {"ok": "1"}
    assert kept.parameters == {}
    assert len(kept.lost) == 4


async def test_lineage_is_one_bounded_key(backend: S3Backend, harness: S3Harness) -> None:
    target = await target_of(backend, "f")
    receipt = await backend.write(target, b"0", condition=IfAbsent())
    seen: list[str] = []
    for number in range(1, 11):
        receipt = await backend.write(target, str(number).encode(), condition=IfVersion(receipt.version))
        metadata = harness.head("f")["Metadata"]
        assert list(metadata) == [LINEAGE_METADATA]
        seen.insert(0, metadata[LINEAGE_METADATA].split()[0])
    assert harness.head("f")["Metadata"][LINEAGE_METADATA].split() == seen[:8]


async def test_written_names_round_trip(backend: S3Backend, harness: S3Harness) -> None:
    for name in ("a#b", "a?b", "a+b", "a%20b", "a b", "ä", "😀"):
        target = await target_of(backend, f"odd/{name}")
        await backend.write(target, name.encode(), condition=IfAbsent())
        assert harness.get(f"odd/{name}") == name.encode()


async def test_too_large_is_refused_before_any_request(harness: S3Harness) -> None:
    backend = await harness.open_with(write_size_bytes_max=3)
    try:
        assert backend.capabilities.write_size_bytes_max == 3
        with pytest.raises(TooLarge):
            await backend.write(await target_of(backend, "f"), b"1234", condition=IfAbsent())
        await backend.write(await target_of(backend, "f"), b"123", condition=IfAbsent())
    finally:
        await backend.aclose()
    assert harness.get("f") == b"123"


async def test_over_long_key_is_refused(backend: S3Backend) -> None:
    with pytest.raises(InvalidPath, match="1024"):
        await target_of(backend, "x" * 1024)


@pytest.mark.parametrize(
    ("answer", "expected"),
    [
        (Answer(403, "AccessDenied"), PermissionDenied),
        (Answer(507, "InsufficientStorage"), NoSpace),
        (Answer(403, "QuotaExceeded"), NoSpace),
        (Answer(400, "EntityTooLarge"), TooLarge),
        (Answer(404, "NoSuchBucket"), NotFound),
        (Answer(404, "NoSuchKey"), NotFound),
    ],
)
async def test_refusal_of_the_store_is_final_and_writes_nothing(
    proxied: S3Backend, proxy: FaultProxy, harness: S3Harness, answer: Answer, expected: type[Exception]
) -> None:
    proxy.inject("PUT", answer)
    with pytest.raises(expected):
        await proxied.write(await target_of(proxied, "f"), b"x", condition=IfAbsent())
    assert proxy.counts()["PUT"] == 1
    assert harness.names() == []


async def test_amazon_s3_gets_a_checksum_and_needs_no_probe(
    harness: S3Harness, proxied: S3Backend, proxy: FaultProxy, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("backends.s3.backend.known_guards", Lru[tuple[str, str], Guards](entries_max=4))
    monkeypatch.setattr(S3Client, "is_aws", True)
    await proxied.write(await target_of(proxied, "f"), b"123456789", condition=IfAbsent())
    assert proxy.counts() == {"LIST": 1, "PUT": 1}
    assert proxy.headers["PUT"]["x-amz-checksum-crc32"] == "y/Q5Jg=="  # CRC-32 of "123456789" is 0xCBF43926
    assert harness.get("f") == b"123456789"


@pytest.mark.parametrize(
    ("endpoint", "expected"),
    [
        (None, True),
        ("https://s3.cn-north-1.amazonaws.com.cn", True),
        ("http://127.0.0.1:9000", False),
        ("https://amazonaws.com.example.org", False),
    ],
)
async def test_amazon_s3_is_told_by_its_host(endpoint: str | None, expected: bool) -> None:
    options = S3Options(
        endpoint_url=endpoint, region="eu-central-1", access_key_id="a", secret_access_key=SecretStr("b")
    )
    client = await S3Client.connect(bucket="b", options=options)
    await client.aclose()
    assert client.is_aws is expected
