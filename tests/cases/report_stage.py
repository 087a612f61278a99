"""One reported case under way: its root, the workspace that is opened on it, and the agent that calls the tools."""

import time
from collections.abc import AsyncGenerator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import TypeVar

import anyio
import pytest

from fs_core.protocol import Backend
from fs_core.testing.delegating import DelegatingBackend, Primitive
from fs_core.testing.harness import StoreHarness
from tests.cases.case_root import CaseRoot
from tests.cases.report_table import ReportCall
from tests.support.sftp_servers import SftpHarness
from tests.support.tcp_proxy import TcpProxy
from tests.support.tool_agent import ToolAgent
from tool_runtime import JsonObject, ToolResult

__all__ = ["Played", "Stage"]

T = TypeVar("T")


@dataclass(frozen=True)
class Played:
    """What a call came back with, how long that took, and how long this process computed meanwhile."""

    result: ToolResult
    elapsed_s: float
    computed_s: float


class Stage:
    """What the events of a case may take hold of.

    `before_write` are actions for the moment between the check of a version and the write that relies on it, one for
    each write. `changed_during_call` tells that the calls alone do not explain what changed. `wraps` go around the
    backend that is opened. A `relay` is what its connections go through. `translate` makes a text of the table one for
    this run, given the name of the workspace's root.
    """

    def __init__(
        self, root: CaseRoot, patch: pytest.MonkeyPatch, *, relay: TcpProxy | None, translate: Callable[[str, str], str]
    ) -> None:
        self.root = root
        self.patch = patch
        self.relay = relay
        self.before_write: list[Callable[[], None]] = []
        self.changed_during_call = False
        self.wraps: list[Callable[[Backend], Backend]] = []
        self.played: list[Played] = []
        self._translate = translate
        self._opened: tuple[Backend, ToolAgent] | None = None

    @property
    def harness(self) -> StoreHarness:
        return self.root.workspace

    @property
    def backend(self) -> Backend:
        assert self._opened is not None
        return self._opened[0]

    @asynccontextmanager
    async def opened(self) -> AsyncGenerator[None]:
        """Open the workspace for the agent of this case."""
        async with self._workspace() as backend:
            self._opened = backend, ToolAgent(backend)
            yield

    async def call(self, tool: str, /, **arguments: str) -> ToolResult:
        """Call a tool as the agent of this case, beside the case's own calls."""
        assert self._opened is not None
        return await self._opened[1].call(tool, **arguments)

    async def play(self, steps: Sequence[ReportCall]) -> None:
        """Make the calls of one turn and keep what came back."""
        assert self._opened is not None
        await self._play(self._opened[1], steps)

    async def play_apart(self, steps: Sequence[ReportCall]) -> None:
        """Make calls at the same time, each as an agent with a workspace of its own; keep what came back."""

        async def alone(step: ReportCall) -> None:
            async with self._workspace() as backend:
                await self._play(ToolAgent(backend), [step])

        self.changed_during_call = True
        async with anyio.create_task_group() as tasks:
            for step in steps:
                tasks.start_soon(alone, step)

    async def _play(self, agent: ToolAgent, steps: Sequence[ReportCall]) -> None:
        started_s, computed_before_s = time.monotonic(), time.process_time()
        results = await agent.turn([(step.tool, self._arguments(step, agent.root_url)) for step in steps])
        elapsed_s, computed_s = time.monotonic() - started_s, time.process_time() - computed_before_s
        self.played.extend(Played(result, elapsed_s, computed_s) for result in results)

    def _arguments(self, step: ReportCall, root: str) -> JsonObject:
        return {
            key: self._translate(value, root) if isinstance(value, str) else value for key, value in step.args.items()
        }

    @asynccontextmanager
    async def _workspace(self) -> AsyncGenerator[Backend]:
        if self.relay is None:
            inner = await self.harness.open()
        else:
            assert isinstance(self.harness, SftpHarness)
            inner = await self.harness.open_through(self.relay.port)
        backend: Backend = _Interposed(inner, self.before_write)
        for wrap in self.wraps:
            backend = wrap(backend)
        try:
            yield backend
        finally:
            await backend.aclose()


class _Interposed(DelegatingBackend):
    """Does the next action, if there is one, before a write."""

    def __init__(self, inner: Backend, before_write: list[Callable[[], None]]) -> None:
        super().__init__(inner)
        self._before_write = before_write

    async def around(self, primitive: Primitive, call: Callable[[], Awaitable[T]]) -> T:
        if primitive == "write" and self._before_write:
            self._before_write.pop(0)()
        return await call()
