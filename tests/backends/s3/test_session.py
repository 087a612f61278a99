import ssl
from collections.abc import Callable
from datetime import datetime
from pathlib import Path
from typing import Any, cast
from unittest.mock import Mock

import certifi
import pytest
from aiobotocore.hooks import AioHierarchicalEmitter
from aiobotocore.httpsession import AIOHTTPSession
from aiobotocore.parsers import AioRestXMLParser
from aiobotocore.session import AioSession
from botocore import utils
from botocore.loaders import Loader
from botocore.model import ServiceModel
from pydantic import SecretStr

from backends.options import S3Options
from backends.s3 import _session
from backends.s3._client import S3Client
from backends.s3._errors import Failure, RequestFailed
from backends.s3._session import Parsers, moment

by_botocore = cast("Callable[[object], datetime]", vars(utils)["parse_timestamp"])


@pytest.mark.parametrize(
    "value",
    [
        "Sun, 30 Nov 2026 08:37:44 GMT",
        "Sunday, 06-Nov-94 08:49:37 GMT",
        "Sun Nov  6 08:49:37 1994",
        "2026-11-30T08:37:44.123Z",
        "2026-11-30T08:37:44Z",
        "2026-11-30T08:37:44+02:00",
        "1700000000",
        1700000000.5,
    ],
)
def test_timestamps_are_those_of_botocore(value: object) -> None:
    assert moment(value) == by_botocore(value)


@pytest.mark.parametrize("value", ["", "someday", "rubbishZ"])
def test_what_is_no_timestamp_is_refused_as_by_botocore(value: str) -> None:
    for parse in (moment, by_botocore):
        with pytest.raises(ValueError, match="timestamp"):
            parse(value)


ITEM = "<Key>a%20b</Key><LastModified>2026-11-30T08:37:44.123Z</LastModified><ETag>&quot;1&quot;</ETag><Size>12</Size>"
OWNER = "<StorageClass>STANDARD</StorageClass><Owner><DisplayName>me</DisplayName><ID>1</ID></Owner>"


@pytest.mark.anyio
@pytest.mark.parametrize("namespace", ["", ' xmlns="http://s3.amazonaws.com/doc/2006-03-01/"'])
@pytest.mark.parametrize(
    "contents",
    [
        "",
        f"<Contents>{ITEM}{OWNER}</Contents>",
        f"<Contents>{OWNER}{ITEM}</Contents><Contents/><Contents><Key></Key></Contents>" * 2,
        "<Contents><Size>3</Size></Contents><Contents><Key> \n&#x1F600;&lt;</Key><Size> 0 </Size></Contents>",
    ],
)
async def test_a_listing_is_parsed_as_by_botocore_as_far_as_it_is_used(namespace: str, contents: str) -> None:
    head = "<IsTruncated>true</IsTruncated><NextContinuationToken>t</NextContinuationToken>"
    folded = "<CommonPrefixes><Prefix>p/</Prefix></CommonPrefixes>"
    body = f"<ListBucketResult{namespace}>{head}{contents}{folded}</ListBucketResult>".encode()
    model = cast("Any", ServiceModel)(cast("Any", Loader)().load_service_model("s3", "service-2"), "s3")
    shape = model.operation_model("ListObjectsV2").output_shape
    answer: dict[str, Any] = {"status_code": 200, "headers": {}, "body": body, "context": {}}
    factory = cast("Any", Parsers)()
    ours = await factory.create_parser("rest-xml").parse(answer, shape)
    theirs = await cast("Any", AioRestXMLParser)(timestamp_parser=moment).parse(answer, shape)
    for item in theirs.get("Contents", []):
        for unused in ("ETag", "StorageClass", "Owner"):
            item.pop(unused, None)
    assert ours == theirs
    assert not isinstance(factory.create_parser("query"), AioRestXMLParser)


NOBODY = S3Options(
    endpoint_url="https://127.0.0.1:1", region="us-east-1", access_key_id="k", secret_access_key=SecretStr("s")
)


@pytest.mark.anyio
async def test_clients_share_what_every_session_reacts_to(monkeypatch: pytest.MonkeyPatch) -> None:
    _session._reactions.cache_clear()  # pyright: ignore[reportPrivateUsage] - filled by other tests
    emitters = Mock(side_effect=AioHierarchicalEmitter)
    monkeypatch.setattr(_session, "AioHierarchicalEmitter", emitters)
    for _ in range(2):
        client = await S3Client.connect(bucket="b", options=NOBODY)
        await client.aclose()
    assert emitters.call_count == 1
    plain = AioHierarchicalEmitter()
    cast("Callable[..., object]", AioSession)(event_hooks=plain)
    shared = _session._reactions()  # pyright: ignore[reportPrivateUsage] - no client shows it
    assert vars(vars(shared)["_handlers"]) == vars(vars(plain)["_handlers"])


@pytest.mark.anyio
async def test_authorities_are_read_once_for_all_clients_and_again_when_they_have_changed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    bundle = tmp_path / "authorities.pem"
    bundle.write_text(certifi.contents())
    monkeypatch.setenv("AWS_CA_BUNDLE", str(bundle))
    readers = Mock(side_effect=AIOHTTPSession)
    monkeypatch.setattr(_session, "AIOHTTPSession", readers)

    async def meet_nobody() -> None:
        client = await S3Client.connect(bucket="b", options=NOBODY)
        with pytest.raises(RequestFailed) as refused:
            await client.head("k")
        await client.aclose()
        assert refused.value.failure is Failure.NOT_SENT

    for _ in range(2):
        await meet_nobody()
    assert readers.call_count == 1
    bundle.write_text(f"{certifi.contents()}\n")
    await meet_nobody()
    assert readers.call_count == 2


def test_shared_context_checks_certificates_and_names() -> None:
    context = _session._trusting(certifi.where(), 0, 0)  # pyright: ignore[reportPrivateUsage] - no client shows it
    assert context.verify_mode is ssl.CERT_REQUIRED
    assert context.check_hostname
