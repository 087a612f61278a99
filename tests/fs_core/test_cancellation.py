"""Work that comes to its end although its caller is cancelled."""

import asyncio

import anyio
import pytest
from anyio.lowlevel import checkpoint

from fs_core.cancellation import to_the_end

pytestmark = pytest.mark.anyio


class _Work:
    """Work that tells when it has begun and waits until it may end."""

    def __init__(self) -> None:
        self.begun = anyio.Event()
        self.may_end = anyio.Event()
        self.is_done = False

    async def run(self) -> str:
        self.begun.set()
        await self.may_end.wait()
        await checkpoint()
        self.is_done = True
        return "done"


async def test_the_result_is_returned_and_an_error_raised() -> None:
    async def fail() -> None:
        await checkpoint()
        raise KeyError("fault")

    work = _Work()
    work.may_end.set()
    assert await to_the_end(work.run) == "done"
    with pytest.raises(KeyError, match="fault"):
        await to_the_end(fail)


async def test_after_a_cancelled_scope_the_work_is_done_and_the_next_await_is_cancelled() -> None:
    work, results = _Work(), list[str]()
    scope = anyio.CancelScope()

    async def cancel() -> None:
        await work.begun.wait()
        scope.cancel()
        work.may_end.set()

    async with anyio.create_task_group() as tasks:
        tasks.start_soon(cancel)
        with scope:
            results.append(await to_the_end(work.run))
            await checkpoint()
            results.append("went on")
    assert results == ["done"]
    assert scope.cancelled_caught


@pytest.mark.parametrize("anyio_backend", ["asyncio"])
@pytest.mark.parametrize("times", [1, 2, 3])
async def test_after_a_task_cancel_however_often_the_work_is_done_and_the_next_await_is_cancelled(times: int) -> None:
    work, results = _Work(), list[str]()

    async def call() -> None:
        results.append(await to_the_end(work.run))
        await checkpoint()
        results.append("went on")

    task = asyncio.create_task(call())
    await work.begun.wait()
    for _ in range(times):
        task.cancel()
        await checkpoint()
    assert not task.done()
    work.may_end.set()
    await asyncio.wait([task])
    assert work.is_done
    assert results == ["done"]
    assert task.cancelled()


@pytest.mark.parametrize("anyio_backend", ["asyncio"])
async def test_a_timeout_that_ends_with_the_work_is_told_its_result_and_shows_nowhere_else() -> None:
    work = _Work()
    loop = asyncio.get_running_loop()
    async with asyncio.timeout(None) as timeout:
        loop.call_soon(timeout.reschedule, loop.time())
        loop.call_later(0.01, work.may_end.set)
        result = await to_the_end(work.run)
    assert timeout.expired()
    assert result == "done"
    for _ in range(3):
        await checkpoint()
    task = asyncio.current_task()
    assert task is not None
    assert task.cancelling() == 0


@pytest.mark.parametrize("anyio_backend", ["asyncio"])
async def test_a_timeout_around_more_than_the_work_still_ends_what_comes_after_it() -> None:
    work, results = _Work(), list[str]()
    loop = asyncio.get_running_loop()

    async def call() -> None:
        async with asyncio.timeout(None) as timeout:
            loop.call_soon(timeout.reschedule, loop.time())
            loop.call_later(0.01, work.may_end.set)
            results.append(await to_the_end(work.run))
            await asyncio.Event().wait()

    with pytest.raises(TimeoutError):
        await call()
    assert results == ["done"]


async def test_a_scope_that_is_cancelled_before_the_work_begins_does_not_keep_it_from_being_done() -> None:
    work = _Work()
    work.may_end.set()
    with anyio.CancelScope() as scope:
        scope.cancel()
        assert await to_the_end(work.run) == "done"
        await checkpoint()
    assert scope.cancelled_caught
