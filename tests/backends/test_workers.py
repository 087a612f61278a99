"""Blocking work on bounded threads: what cancellation does at each stage."""

import asyncio
import threading

import anyio
import pytest

from backends._workers import CallCancelled, WorkerCall, Workers
from tests.support.waiting import WAIT_S

pytestmark = pytest.mark.anyio


async def test_the_result_of_the_work_is_returned() -> None:
    workers = Workers(concurrency_max=2)
    assert await workers.run(lambda _: 42) == 42


async def test_what_the_work_raises_is_raised() -> None:
    workers = Workers(concurrency_max=2)

    def work(call: WorkerCall) -> None:
        raise KeyError("fault")

    with pytest.raises(KeyError, match="fault"):
        await workers.run(work)


async def test_at_most_the_given_number_runs_at_once() -> None:
    workers = Workers(concurrency_max=3)
    lock = threading.Lock()
    running, most = 0, 0
    full = threading.Event()

    def work(call: WorkerCall) -> None:
        nonlocal running, most
        with lock:
            running += 1
            most = max(most, running)
            if running == 3:
                full.set()
        full.wait(WAIT_S)
        with lock:
            running -= 1

    async with anyio.create_task_group() as tasks:
        for _ in range(9):
            tasks.start_soon(workers.run, work)
    assert most == 3


async def test_cancelling_before_the_commit_ends_the_work_at_its_next_step() -> None:
    workers = Workers(concurrency_max=1)
    started, unblocked = threading.Event(), threading.Event()
    reached: list[str] = []

    def work(call: WorkerCall) -> None:
        call.unblock_with(unblocked.set)
        started.set()
        unblocked.wait(WAIT_S)
        reached.append("unblocked")
        call.commit()
        reached.append("committed")

    async with anyio.create_task_group() as tasks:
        tasks.start_soon(workers.run, work)
        await anyio.to_thread.run_sync(started.wait)
        tasks.cancel_scope.cancel()
    assert reached == ["unblocked"]
    assert await workers.run(lambda _: "free") == "free"


async def test_cancelling_after_the_commit_waits_for_the_outcome_and_returns_it() -> None:
    workers = Workers(concurrency_max=1)
    committed, released = threading.Event(), threading.Event()
    outcome: list[str] = []

    def work(call: WorkerCall) -> str:
        call.commit()
        committed.set()
        released.wait(WAIT_S)
        return "published"

    async def write() -> None:
        outcome.append(await workers.run(work))

    async with anyio.create_task_group() as tasks:
        tasks.start_soon(write)
        await anyio.to_thread.run_sync(committed.wait)
        tasks.cancel_scope.cancel()
        released.set()
    assert outcome == ["published"]


async def test_a_call_cancelled_while_it_waits_for_a_thread_never_starts() -> None:
    workers = Workers(concurrency_max=1)
    started, released = threading.Event(), threading.Event()
    calls: list[str] = []

    def block(call: WorkerCall) -> None:
        started.set()
        released.wait(WAIT_S)

    scope = anyio.CancelScope(deadline=0)
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(workers.run, block)
        await anyio.to_thread.run_sync(started.wait)
        with scope:
            await workers.run(lambda _: calls.append("ran"))
        released.set()
    assert scope.cancelled_caught
    assert calls == []


def test_a_cancelled_call_can_neither_commit_nor_go_on() -> None:
    call = WorkerCall()
    assert call.begin()
    assert call.cancel()
    for step in (call.check, call.commit, lambda: call.unblock_with(lambda: None)):
        with pytest.raises(CallCancelled):
            step()


def test_a_committed_call_is_no_longer_cancelled() -> None:
    call = WorkerCall()
    assert call.begin()
    call.commit()
    assert call.cancel()
    call.check()
    assert not WorkerCall().cancel()


@pytest.mark.parametrize("anyio_backend", ["asyncio"])
async def test_a_task_cancel_after_the_commit_waits_for_the_outcome_and_shows_at_the_next_await() -> None:
    workers = Workers(concurrency_max=1)
    committed, released = threading.Event(), threading.Event()
    outcome: list[str] = []

    def work(call: WorkerCall) -> str:
        call.commit()
        committed.set()
        released.wait(WAIT_S)
        return "published"

    async def write() -> None:
        outcome.append(await workers.run(work))
        await anyio.lowlevel.checkpoint()
        outcome.append("went on")

    task = asyncio.create_task(write())
    await anyio.to_thread.run_sync(committed.wait)
    task.cancel()
    await anyio.lowlevel.checkpoint()
    released.set()
    await asyncio.wait([task])
    assert outcome == ["published"]
    assert task.cancelled()


@pytest.mark.parametrize("anyio_backend", ["asyncio"])
async def test_a_second_task_cancel_does_not_leave_the_thread_behind() -> None:
    workers = Workers(concurrency_max=1)
    started, released, ended = threading.Event(), threading.Event(), threading.Event()

    def work(call: WorkerCall) -> None:
        started.set()
        released.wait(WAIT_S)
        ended.set()
        call.check()

    task = asyncio.create_task(workers.run(work))
    await anyio.to_thread.run_sync(started.wait)
    for _ in range(3):
        task.cancel()
        for _ in range(3):
            await anyio.lowlevel.checkpoint()
        assert not task.done()
    released.set()
    await asyncio.wait([task])
    assert ended.is_set()
    assert task.cancelled()


async def test_all_who_wait_for_the_end_of_the_work_hear_of_it() -> None:
    workers = Workers(concurrency_max=1)
    started, released = threading.Event(), threading.Event()
    heard: list[bool] = []

    def work(call: WorkerCall) -> None:
        started.set()
        released.wait(WAIT_S)

    async def wait() -> None:
        heard.append(await workers.drained(timeout_s=60))

    begun_s = anyio.current_time()
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(workers.run, work)
        await anyio.to_thread.run_sync(started.wait)
        tasks.start_soon(wait)
        tasks.start_soon(wait)
        await anyio.wait_all_tasks_blocked()
        released.set()
    assert heard == [True, True]
    assert anyio.current_time() - begun_s < 30
