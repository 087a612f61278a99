"""An answer that is too long, breaks off or is not waited for gives its connection back."""

from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager

import aiohttp
import anyio
import pytest
from anyio.abc import SocketAttribute, SocketStream

from backends._answers import bounded_answers

pytestmark = pytest.mark.anyio

HEAD = b"HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\n"


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


@asynccontextmanager
async def _answer(sent: bytes, *, stays: bool) -> AsyncGenerator[aiohttp.ClientResponse]:
    """Give an answer of which `sent` comes; then its connection ends, or stays."""

    async def handle(client: SocketStream) -> None:
        async with client:
            await client.receive()
            await client.send(sent)
            if stays:
                await anyio.sleep_forever()

    async with (
        await anyio.create_tcp_listener(local_host="127.0.0.1") as listener,
        anyio.create_task_group() as tasks,
        aiohttp.ClientSession(response_class=bounded_answers(50)) as session,
    ):
        tasks.start_soon(listener.serve, handle)
        yield await session.get(f"http://127.0.0.1:{listener.extra(SocketAttribute.local_port)}/")
        tasks.cancel_scope.cancel()


async def test_an_answer_that_breaks_off_is_closed() -> None:
    async with _answer(HEAD + b"x" * 10, stays=False) as answer:
        with pytest.raises(aiohttp.ClientPayloadError):
            await answer.read()
        assert answer.closed


async def test_an_answer_that_is_too_long_is_closed() -> None:
    async with _answer(HEAD + b"x" * 100, stays=True) as answer:
        with pytest.raises(aiohttp.ClientPayloadError, match="more than 50 bytes"):
            await answer.read()
        assert answer.closed


async def test_an_answer_that_is_given_up_is_closed() -> None:
    async with _answer(HEAD + b"x" * 10, stays=True) as answer:
        with anyio.move_on_after(0.05) as scope:
            await answer.read()
        assert scope.cancelled_caught
        assert answer.closed
