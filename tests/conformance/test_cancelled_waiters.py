"""Callers that give up while they wait for a lock, a place or a thread, or before they have begun."""

import asyncio
from typing import Final

import anyio
import pytest
from anyio.lowlevel import checkpoint

from fs_core.edit import Edit
from fs_core.filesystem import BackedFileSystem
from fs_core.policy import Unguarded
from fs_core.session import FileSession
from fs_core.testing.conformance import target_of
from fs_core.testing.faults import Block, FaultBackend
from fs_core.testing.memory import MemoryHarness
from tests.support.store_operations import READING, WRITING, names_for
from tests.support.store_stage import AT_ONCE, FILE, OLD, PROMPT_S, new_store, staged

pytestmark = pytest.mark.anyio

_LOOPS: Final = {
    "memory": ("asyncio", "trio"),
    "local": ("asyncio", "trio"),
    "generic": ("asyncio", "trio"),
    "seaweedfs": ("asyncio",),
    "embedded-sftp": ("asyncio", "trio"),
}
_on_stores = pytest.mark.parametrize(
    ("store", "anyio_backend"),
    [
        pytest.param(store, loop, marks=pytest.mark.xdist_group(store), id=f"{store}-{loop}")
        for store, loops in _LOOPS.items()
        for loop in loops
    ],
)


@_on_stores
async def test_a_time_that_is_up_before_the_call_leaves_everything_as_it_was(
    store: str, request: pytest.FixtureRequest
) -> None:
    async with staged(new_store(store, request)) as stage:
        for name in names_for(store):
            operation = READING[name][0] if name in READING else WRITING[name][0]
            with anyio.move_on_after(0):
                await operation(stage)
                await checkpoint()
                pytest.fail(f"{name} was not cancelled")
            while stage.opened:
                await stage.opened.pop().aclose()
            assert stage.harness.get(FILE) == OLD, name
            assert stage.harness.names() == ["d"], name
            assert stage.harness.names("d") == ["a.txt"], name


@_on_stores
async def test_every_second_of_many_callers_gives_up_and_the_others_get_their_answer(
    store: str, request: pytest.FixtureRequest
) -> None:
    async with staged(new_store(store, request)) as stage:
        target = await target_of(stage.backend, FILE)
        answers: list[bytes] = []

        async def ask(scope: anyio.CancelScope) -> None:
            with scope:
                answers.append((await stage.backend.read(target)).data)

        for steps in (0, 1, 3):
            answers.clear()
            scopes = [anyio.CancelScope() for _ in range(AT_ONCE)]
            with anyio.fail_after(PROMPT_S):
                async with anyio.create_task_group() as tasks:
                    for scope in scopes:
                        tasks.start_soon(ask, scope)
                    for _ in range(steps):
                        await checkpoint()
                    for scope in scopes[1::2]:
                        scope.cancel()
            assert not any(scope.cancelled_caught for scope in scopes[::2])
            assert len(answers) == sum(not scope.cancelled_caught for scope in scopes)
            assert set(answers) == {OLD}


async def _queue_of_edits(harness: MemoryHarness) -> tuple[BackedFileSystem, FileSession, Block]:
    """Return a workspace whose first write is held."""
    harness.put("a.txt", b"one two three four\n")
    held = Block("write")
    files = BackedFileSystem(FaultBackend(await harness.open(), held))
    return files, FileSession(files, policy=Unguarded()), held


async def test_who_gives_up_while_waiting_for_a_file_leaves_the_others_their_turn() -> None:
    harness = MemoryHarness()
    files, session, held = await _queue_of_edits(harness)
    waiting = anyio.CancelScope()

    async def edit(word: str, scope: anyio.CancelScope) -> None:
        with scope:
            await session.edit("a.txt", Edit(word, word.upper()))

    with anyio.fail_after(PROMPT_S):
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(edit, "one", anyio.CancelScope())
            await held.reached.wait()
            for word in ("two", "three", "four"):
                tasks.start_soon(edit, word, waiting if word == "three" else anyio.CancelScope())
            await anyio.wait_all_tasks_blocked()
            waiting.cancel()
            await anyio.wait_all_tasks_blocked()
            held.release.set()
    assert waiting.cancelled_caught
    assert harness.get("a.txt") == b"ONE TWO three FOUR\n"
    assert len(files._locks) == 0  # pyright: ignore[reportPrivateUsage] - nothing else tells


@pytest.mark.parametrize("anyio_backend", ["asyncio"])
@pytest.mark.parametrize("number", [0, 1, 2])
async def test_a_task_cancel_of_the_holder_or_a_waiter_leaves_the_others_their_turn(number: int) -> None:
    harness = MemoryHarness()
    files, session, held = await _queue_of_edits(harness)
    words = ("one", "two", "three")
    tasks = [asyncio.create_task(session.edit("a.txt", Edit(word, word.upper()))) for word in words]
    await held.reached.wait()
    await anyio.wait_all_tasks_blocked()
    tasks[number].cancel()
    await checkpoint()
    held.release.set()
    with anyio.fail_after(PROMPT_S):
        await asyncio.wait(tasks)
    assert [task.cancelled() for task in tasks] == [index == number for index in range(3)]
    expected = b"one two three four\n"
    for index, word in enumerate(words):
        if index != number:
            expected = expected.replace(word.encode(), word.upper().encode())
    assert harness.get("a.txt") == expected
    assert len(files._locks) == 0  # pyright: ignore[reportPrivateUsage] - nothing else tells
