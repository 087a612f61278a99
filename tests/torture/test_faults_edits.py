"""One agent edits and creates files through a proxy that breaks much of its traffic; what it was told is what happened.

A change that was acknowledged is there once, one that was refused is not, one whose outcome is unknown is there once or
not at all. After every answer the next read and edit work as soon as the traffic does.
"""

import time
from collections.abc import Awaitable, Callable
from contextlib import aclosing
from functools import partial

import pytest

from fs_core.edit import Edit
from fs_core.errors import FsError, OutcomeUnknown, StaleVersion
from fs_core.filesystem import BackedFileSystem
from fs_core.page import Window
from fs_core.policy import MemoryObservations, OwnerId, ReadBeforeWrite
from fs_core.protocol import Backend
from fs_core.session import FileSession
from fs_core.testing.harness import StoreHarness
from tests.support.census import Census
from tests.support.s3_servers import S3Server
from tests.support.sftp_servers import SftpServer
from tests.torture.faults import FaultPlan, Kind, Proxy
from tests.torture.s3_faults import s3_fault_proxy
from tests.torture.stream_faults import stream_fault_proxy

pytestmark = pytest.mark.anyio

EDITS_MIN = 30
EDITS_MAX = 400
"""So many edits without one kind of the faults are no chance any more."""

REQUEST_TIMEOUT_S = 0.5
READS_MAX = 30


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


class Agent:
    """Makes one change after the other, and keeps what it was told about each."""

    def __init__(self, backend: Backend) -> None:
        self.files = BackedFileSystem(backend)
        policy = ReadBeforeWrite(owner=OwnerId("agent"), store=MemoryObservations())
        self.session = FileSession(self.files, policy=policy)
        self.done: list[str] = []
        self.refused: list[str] = []
        self.unknown: list[str] = []
        self.overtaken: list[str] = []
        self.answers: dict[str, int] = {}

    async def read(self) -> str:
        """Read until the traffic lets a read pass."""
        for _ in range(READS_MAX):
            try:
                page = (await self.session.read("log", Window())).page
            except FsError as refusal:
                self._count(f"read {refusal.code}")
                if not refusal.retryable:
                    raise
            else:
                return "".join(f"{line.text}\n" for line in page.lines)
        raise AssertionError(f"{READS_MAX} reads in a row failed: {self.answers}")

    async def edit(self, token: str) -> None:
        seen = await self.read()
        try:
            await self.session.edit("log", Edit("end\n", f"{token}\nend\n"))
        except StaleVersion:
            self._refuse(token, "FS_STALE_VERSION")
            # Only a change of our own of which we were told nothing can have come in between.
            assert [late for late in self.unknown if late not in seen]
            self.overtaken.append(token)
        except FsError as refusal:
            self._refuse(token, refusal.code, is_unknown=isinstance(refusal, OutcomeUnknown))
        else:
            self.done.append(token)

    async def create(self, token: str) -> None:
        try:
            await self.session.write(f"new/{token}", f"{token}\n")
        except FsError as refusal:
            self._refuse(token, refusal.code, is_unknown=isinstance(refusal, OutcomeUnknown))
        else:
            self.done.append(token)

    def _refuse(self, token: str, code: str, *, is_unknown: bool = False) -> None:
        self._count(f"change {code}")
        (self.unknown if is_unknown else self.refused).append(token)

    def _count(self, what: str) -> None:
        self.answers[what] = self.answers.get(what, 0) + 1


async def _work(backend: Backend, proxy: Proxy, harness: StoreHarness, kinds: set[Kind]) -> None:
    """Run the agent until faults of all kinds have happened, then without; judge what it was told."""
    agent = Agent(backend)
    number = 0
    while number < EDITS_MIN or not all(proxy.injected[kind] for kind in kinds):
        assert number < EDITS_MAX, proxy.injected
        await agent.edit(f"edit-{number:03}")
        if number % 5 == 0:
            await agent.create(f"file-{number:03}")
        number += 1
    proxy.calm()
    # One read may meet a connection that the end of the faults has closed, and makes a new one for itself.
    await agent.read()
    await _do(agent, agent.edit, "calm-edit")
    await _do(agent, agent.create, "calm-file")
    _judge(agent, harness)


async def _do(agent: Agent, change: Callable[[str], Awaitable[None]], name: str) -> None:
    """Make a change that no fault disturbs. Once more only if the machine stood still, or what came late was first."""
    for attempt in range(READS_MAX):
        token, begun_s = f"{name}-{attempt:03}", time.monotonic()
        await change(token)
        if token in agent.done:
            return
        assert token in agent.overtaken or time.monotonic() - begun_s >= REQUEST_TIMEOUT_S, agent.answers
    raise AssertionError(f"{READS_MAX} changes in a row failed: {agent.answers}")


def _judge(agent: Agent, harness: StoreHarness) -> None:
    log = (harness.get("log") or b"").decode().splitlines()
    assert (log[0], log[-1]) == ("begin", "end")
    there = [*log[1:-1], *(name for name in harness.names("new") if not name.startswith("."))]
    for name in harness.names("new"):
        if not name.startswith("."):
            assert harness.get(f"new/{name}") == f"{name}\n".encode()
    counts = {token: there.count(token) for token in (*agent.done, *agent.refused, *agent.unknown)}
    assert {token: counts[token] for token in agent.done if counts[token] != 1} == {}
    assert {token: counts[token] for token in agent.refused if counts[token] != 0} == {}
    assert {token: counts[token] for token in agent.unknown if counts[token] > 1} == {}
    assert set(there) <= set(counts)


async def _opened(opening: Callable[[], Awaitable[Backend]]) -> Backend:
    """Open a workspace; the first connection may break as any other."""
    for _ in range(READS_MAX):
        try:
            return await opening()
        except FsError as refusal:
            if not refusal.retryable:
                raise
    raise AssertionError("it cannot be opened")


async def _work_and_close(
    opening: Callable[[], Awaitable[Backend]], proxy: Proxy, harness: StoreHarness, *, without: Kind
) -> None:
    """Work over a backend that is opened for it, and look that nothing of it stays."""
    # The first one leaves the worker threads of the event loop, which stay.
    await (await _opened(opening)).aclose()
    before = Census.take()
    async with aclosing(await _opened(opening)) as backend:
        await _work(backend, proxy, harness, set(Kind) - {without})
    await before.is_back()


@pytest.mark.xdist_group("seaweedfs")
async def test_s3_every_answer_is_true_while_a_third_of_the_requests_meet_a_fault(seaweedfs_server: S3Server) -> None:
    harness = seaweedfs_server.harness()
    harness.put("log", b"begin\nend\n")
    plan = FaultPlan.even(0.055, seed=1, delay_s_max=REQUEST_TIMEOUT_S)
    with s3_fault_proxy(seaweedfs_server.endpoint_url, plan) as proxy:
        settings = {"endpoint_url": proxy.endpoint_url, "request_timeout_s": REQUEST_TIMEOUT_S}
        await _work_and_close(lambda: harness.open_with(**settings), proxy, harness, without=Kind.REFUSE)


@pytest.mark.xdist_group("sshd")
async def test_sftp_every_answer_is_true_while_connections_break_all_the_time(sshd_server: SftpServer) -> None:
    harness = sshd_server.harness()
    harness.put("log", b"begin\nend\n")
    plan = FaultPlan.even(0.05, seed=2, delay_s_max=REQUEST_TIMEOUT_S)
    with stream_fault_proxy(sshd_server.port, plan) as proxy:
        port, settings = proxy.port, {"request_timeout_s": REQUEST_TIMEOUT_S, "connect_timeout_s": 1.0}
        opening = partial(harness.open_through, port, lock_lease_s=1.0, **settings)
        await _work_and_close(opening, proxy, harness, without=Kind.ERROR)
