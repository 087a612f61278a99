from collections.abc import Callable
from datetime import datetime
from typing import Any, cast

import pytest
from aiobotocore.parsers import AioRestXMLParser
from botocore import utils
from botocore.loaders import Loader
from botocore.model import ServiceModel

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
