"""What one server does costs its own tools only, and leaves nothing behind."""

import gc
import os
import signal
import sys
import time
from pathlib import Path
from typing import Any

import anyio
import pytest

from progressive.gateway import HttpMount, StdioMount
from tests.progressive.gateway.raw_http import Answer, Asked, RawHttp, legacy
from tests.progressive.gateway.support import NO_MORE, RawServer, definition, opened
from tests.support.census import Census
from tests.support.processes import children, is_running
from tests.support.waiting import WAIT_S, until

pytestmark = pytest.mark.anyio

RECONNECTS = {"asyncio": 100, "trio": 25}
"""What grows with each would show after a quarter of them, too; the first loop is the one that servers run under."""


class Stopwatch:
    """Measures how long the event loop works on something else in one go, in time of the processor."""

    def __init__(self) -> None:
        self.worst_s = 0.0

    async def run(self) -> None:
        while True:
            before_s = time.thread_time()
            await anyio.sleep(0.001)
            self.worst_s = max(self.worst_s, time.thread_time() - before_s)


@pytest.fixture
def frozen_heap() -> None:
    """Keep what earlier tests have loaded out of the collections of garbage, as `seamfs serve` does."""
    gc.collect()
    gc.freeze()


@pytest.mark.timeout(400)
async def test_reconnects_of_a_crashing_process_leave_nothing_behind(tmp_path: Path, anyio_backend: str) -> None:
    server = RawServer(tmp_path / "raw", "die-after-list")
    server.lists([definition(f"t{number}") for number in range(20)])
    async with opened(server.mount(), backoff_initial_s=0.0001, backoff_max_s=0.0001) as world:
        await until(lambda: world.status().attempts >= 5 and world.status().tools == 20)
        before = Census.take()
        tools = world.runtime.tools()
        await until(lambda: world.status().attempts >= RECONNECTS[anyio_backend], timeout_s=300)
        # In the middle of an attempt there are a process with its pipes and its tasks more or less.
        await before.with_room(descriptors=4, children=1, tasks=15).is_back()
        assert [one is other for one, other in zip(world.runtime.tools(), tools, strict=True)] == [True] * 20


async def test_after_the_end_there_is_no_more_than_before(tmp_path: Path) -> None:
    before, earlier = Census.take(), children()
    mounts = [RawServer(tmp_path / name).mount(name) for name in ("a", "b")]
    gone = StdioMount(name="gone", command=("no-such-command",))
    async with opened(*mounts, gone, **NO_MORE) as world:
        assert len(world.names) == 2
        # A thread that ends may hand its children on to one that was looked at already.
        await until(lambda: len(children() - earlier) == 2)
    await before.is_back()


async def test_a_cancelled_gateway_ends_its_processes(tmp_path: Path) -> None:
    before = Census.take()
    server = RawServer(tmp_path / "raw")
    with anyio.CancelScope() as scope:
        async with opened(server.mount()):
            scope.cancel()
            await anyio.sleep_forever()
    assert scope.cancelled_caught
    await before.is_back()


def mount_of(flag: str, tmp_path: Path) -> StdioMount:
    server = RawServer(tmp_path / flag, *([flag] if flag else []))
    server.lists([definition(f"t{number}", description="x" * 200) for number in range(1_000)])
    return server.mount("rude")


@pytest.mark.usefixtures("frozen_heap")
@pytest.mark.parametrize("flag", ["", "die-after-list", "silent", "junk", "endless-line", "endless", "stubborn"])
async def test_a_rude_server_holds_up_nobody(tmp_path: Path, flag: str) -> None:
    good = RawServer(tmp_path / "good")
    stopwatch = Stopwatch()
    async with opened(good.mount("good")) as world, anyio.create_task_group() as tasks:
        tasks.start_soon(stopwatch.run)
        async with opened(mount_of(flag, tmp_path), runtime=world.runtime, connect_timeout_s=1.0, stop_grace_s=0.2):
            for _ in range(20):
                with anyio.fail_after(WAIT_S):
                    await world.value("mcp__good__echo")
        tasks.cancel_scope.cancel()
    # The message with a thousand tools is read in one go.
    assert stopwatch.worst_s < 0.5


async def test_a_thousand_tools_come_and_go(tmp_path: Path) -> None:
    server = RawServer(tmp_path / "raw")
    server.lists([definition(f"t{number}") for number in range(1_000)])
    async with opened(server.mount()) as world:
        assert world.status().tools == 1_000
    assert world.names == []


async def test_a_server_that_reads_nothing_is_given_up(tmp_path: Path) -> None:
    server = RawServer(tmp_path / "raw")
    server.lists([definition("stop"), definition("echo")])
    async with opened(server.mount(), write_timeout_s=0.3, call_timeout_s=5.0) as world:
        failures: list[str] = []

        async def send() -> None:
            failures.append((await world.failure("mcp__raw__echo", text="x" * 1_000_000)).message)

        os.kill(int(server.notes("started")[-1]), signal.SIGSTOP)
        async with anyio.create_task_group() as tasks:
            for _ in range(3):
                tasks.start_soon(send)
        assert len(failures) == 3
        await world.connected(attempts=2)


@pytest.mark.timeout(700)
async def test_reconnects_over_http_leave_nothing_behind(anyio_backend: str) -> None:
    async def forget(_asked: Asked) -> Answer:
        return Answer(404)

    options: dict[str, Any] = {"ping_interval_s": 0.01, "backoff_initial_s": 0.0001, "backoff_max_s": 0.0001}
    async with RawHttp.running(legacy(forget)) as server:

        async def reconnect(times: int) -> None:
            async with opened(HttpMount(name="web", url=server.url), **options) as world:
                await until(lambda: world.status().attempts >= times, timeout_s=300)

        await reconnect(3)
        before = Census.take()
        await reconnect(RECONNECTS[anyio_backend])
        await before.is_back()


KILLED = """
import anyio, sys
from tests.progressive.gateway.support import RawServer, opened
from pathlib import Path

async def main():
    async with opened(RawServer(Path(sys.argv[1])).mount()):
        print("ready", flush=True)
        await anyio.sleep_forever()

anyio.run(main)
"""


async def test_the_servers_of_a_killed_process_end(tmp_path: Path) -> None:
    command = [sys.executable, "-c", KILLED, str(tmp_path)]
    async with await anyio.open_process(command, cwd=Path.cwd(), stderr=None) as process:
        assert process.stdout is not None
        assert (await process.stdout.receive()).startswith(b"ready")
        pid = int((tmp_path / "started").read_text())
        assert is_running(pid)
        process.kill()
    await until(lambda: not is_running(pid))
    assert (tmp_path / "ended").exists()
