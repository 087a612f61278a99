"""What goes on beside the calls while a connection lasts."""

from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from typing import cast

import anyio
import pytest
from mcp import Client

from progressive.gateway import GatewayOptions
from progressive.gateway._connection import Changes, follow, subscribe
from tests.support.waiting import WAIT_S

pytestmark = pytest.mark.anyio


class Listening:
    """A client whose server takes its time to agree to send notices, and then has none."""

    def __init__(self) -> None:
        self.asked = anyio.Event()
        self.agrees = anyio.Event()

    @asynccontextmanager
    async def listen(self, *, tools_list_changed: bool) -> AsyncGenerator[AsyncGenerator[None]]:
        assert tools_list_changed
        self.asked.set()
        await self.agrees.wait()
        notices = self._none()
        try:
            yield notices
        finally:
            await notices.aclose()

    async def _none(self) -> AsyncGenerator[None]:
        await anyio.sleep_forever()
        yield None


async def test_what_changed_before_notices_were_sent_is_read_once_they_are() -> None:
    client, changes, noticed = Listening(), Changes(), anyio.Event()

    async def follow() -> None:
        await changes.next(debounce_s=0)
        noticed.set()

    async with anyio.create_task_group() as tasks:
        tasks.start_soon(follow)
        tasks.start_soon(subscribe, cast("Client", client), changes)
        await client.asked.wait()
        await anyio.wait_all_tasks_blocked()
        assert not noticed.is_set()
        client.agrees.set()
        with anyio.fail_after(WAIT_S):
            await noticed.wait()
        tasks.cancel_scope.cancel()


async def test_a_server_that_takes_long_to_list_its_tools_is_asked_again_as_soon_as_any(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    # With any time of the server counted, the second reading would not come today.
    monkeypatch.setattr("progressive.gateway._connection._REST_FACTOR", 1e7)
    changes, again = Changes(), anyio.Event()
    readings = 0

    async def refresh() -> float:
        nonlocal readings
        readings += 1
        if readings == 2:
            again.set()
        changes.notice()
        await anyio.sleep(0.02)
        return 0.0

    changes.notice()
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(follow, changes, refresh, GatewayOptions(list_debounce_s=0.001, list_interval_s=0.001))
        with anyio.fail_after(WAIT_S):
            await again.wait()
        tasks.cancel_scope.cancel()
