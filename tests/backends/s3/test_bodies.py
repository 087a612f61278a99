import re

import pytest

from backends.s3._bodies import AskedBody, asked_body
from backends.s3._errors import Failure, RequestFailed
from backends.s3._objects import BodyAnswer

pytestmark = pytest.mark.anyio

CONTENT = bytes(range(10))


class Stream:
    """A body that arrives in pieces of three bytes."""

    def __init__(self, data: bytes) -> None:
        self._rest = data

    async def read(self, amt: int | None = None) -> bytes:
        size = min(3, amt or 3)
        piece, self._rest = self._rest[:size], self._rest[size:]
        return piece

    def close(self) -> None:
        self._rest = b""


def answer(data: bytes, content_range: str | None = None) -> BodyAnswer:
    told: BodyAnswer = {"Body": Stream(data), "ETag": '"e"', "ContentLength": len(data)}
    return told if content_range is None else {**told, "ContentRange": content_range}


async def received(body: AskedBody) -> bytes:
    content = bytearray()
    await body.receive(content.extend)
    return bytes(content)


@pytest.mark.parametrize(("offset", "limit"), [(0, None), (0, 4), (4, 3), (7, None), (9, 5), (12, 5)])
@pytest.mark.parametrize("knows_ranges", [True, False])
async def test_exactly_what_was_asked_for_is_fed(offset: int, limit: int | None, knows_ranges: bool) -> None:
    asked = CONTENT[offset : None if limit is None else offset + limit]
    told = answer(CONTENT)
    if knows_ranges and asked:
        told = answer(asked, f"bytes {offset}-{offset + len(asked) - 1}/{len(CONTENT)}")
    assert await received(asked_body(told, offset=offset, limit=limit)) == asked


async def test_store_that_sends_more_than_was_asked_for_is_cut_short() -> None:
    told = answer(CONTENT, "bytes 2-9/10")
    assert await received(asked_body(told, offset=2, limit=4)) == CONTENT[:4]


async def test_store_that_sends_less_than_was_asked_for_is_at_fault() -> None:
    with pytest.raises(RequestFailed, match=re.escape(Failure.OTHER_BYTES.name)):
        await received(asked_body(answer(CONTENT[:4], "bytes 2-5/10"), offset=2, limit=5))


async def test_store_that_sends_another_part_is_at_fault() -> None:
    with pytest.raises(RequestFailed, match=re.escape(Failure.OTHER_BYTES.name)):
        asked_body(answer(CONTENT[:4], "bytes 3-6/10"), offset=2, limit=4)
