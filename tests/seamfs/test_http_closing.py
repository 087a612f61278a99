"""Requests that are open when the server is told to stop: in process, as ASGI messages."""

import anyio
import pytest
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from seamfs.http_closing import ClosingApp
from tests.support.waiting import WAIT_S

pytestmark = pytest.mark.anyio

LONG_S = 3600.0
START: Message = {"type": "http.response.start", "status": 200, "headers": []}
PART: Message = {"type": "http.response.body", "body": b"part", "more_body": True}
END: Message = {"type": "http.response.body", "body": b"end"}
NOTHING_MORE: Message = {"type": "http.response.body", "body": b"", "more_body": False}


class Request:
    """One request to an application that sends what it is given and then waits to be let go."""

    def __init__(self, *before: Message, after: tuple[Message, ...] = ()) -> None:
        self.sent: list[Message] = []
        self.is_waiting = anyio.Event()
        self.gate = anyio.Event()
        self.is_over = anyio.Event()
        self._before, self._after = before, after

    async def app(self, _scope: Scope, _receive: Receive, send: Send) -> None:
        for message in self._before:
            await send(message)
        self.is_waiting.set()
        await self.gate.wait()
        for message in self._after:
            await send(message)

    async def run(self, app: ASGIApp, method: str) -> None:
        await app({"type": "http", "method": method}, self._receive, self._send)
        self.is_over.set()

    async def _receive(self) -> Message:
        await anyio.sleep_forever()
        raise AssertionError

    async def _send(self, message: Message) -> None:
        self.sent.append(message)


async def test_an_idle_stream_ends_at_once_and_completely() -> None:
    request = Request(START, PART)
    app = ClosingApp(request.app, grace_s=LONG_S)
    with anyio.fail_after(WAIT_S):
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(request.run, app, "GET")
            await request.is_waiting.wait()
            app.close()
    assert request.sent == [START, PART, NOTHING_MORE]


async def test_a_call_that_ends_in_time_is_answered_as_ever() -> None:
    request = Request(START, after=(END,))
    app = ClosingApp(request.app, grace_s=LONG_S)
    with anyio.fail_after(WAIT_S):
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(request.run, app, "POST")
            await request.is_waiting.wait()
            app.close()
            await anyio.wait_all_tasks_blocked()
            assert not request.is_over.is_set()
            request.gate.set()
    assert request.sent == [START, END]


@pytest.mark.parametrize(("before", "status"), [((), 503), ((START,), 200), ((START, END), 200)])
async def test_a_call_that_takes_too_long_is_answered_in_a_form_that_is_whole(
    before: tuple[Message, ...], status: int
) -> None:
    request = Request(*before)
    app = ClosingApp(request.app, grace_s=0)
    with anyio.fail_after(WAIT_S):
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(request.run, app, "POST")
            await request.is_waiting.wait()
            app.close()
    assert [message["type"] for message in request.sent] == ["http.response.start", "http.response.body"]
    assert request.sent[0]["status"] == status
    assert not request.sent[1].get("more_body", False)


async def test_a_request_that_comes_after_the_end_has_no_more_time_than_the_others() -> None:
    request = Request()
    app = ClosingApp(request.app, grace_s=0)
    app.close()
    with anyio.fail_after(WAIT_S):
        await request.run(app, "POST")
    assert request.sent[0]["status"] == 503


async def test_what_is_no_request_is_passed_on() -> None:
    request = Request(after=({"type": "lifespan.startup.complete"},))
    request.gate.set()
    sent: list[Message] = []

    async def send(message: Message) -> None:
        sent.append(message)

    async def receive() -> Message:
        return {"type": "lifespan.startup"}

    await ClosingApp(request.app, grace_s=0)({"type": "lifespan"}, receive, send)
    assert sent == [{"type": "lifespan.startup.complete"}]
