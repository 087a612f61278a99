"""Closing a backend: what is under way ends, what comes later is refused, and nothing is left, however it is done."""

import gc
from collections.abc import Callable, Coroutine
from typing import Any, Final

import anyio
import pytest
from anyio.lowlevel import checkpoint

from backends.local import LocalBackend
from backends.s3 import S3Backend
from backends.sftp import SftpBackend
from fs_core.errors import FsError, OutcomeUnknown, Unavailable
from fs_core.protocol import Backend
from fs_core.testing.conformance import target_of
from fs_core.testing.harness import StoreHarness
from fs_core.types import Always, IfAbsent, IfVersion, Target, Version
from tests.support.census import Census
from tests.support.nth_await import Way, cancelled_at_suspension
from tests.support.s3_servers import S3Harness
from tests.support.store_stage import AT_ONCE, FILE, OLD, PROMPT_S, new_store

pytestmark = pytest.mark.anyio

_NEW: Final = b"new content, and longer\n" * 3
_LOOPS: Final = {
    "memory": ("asyncio", "trio"),
    "local": ("asyncio", "trio"),
    "generic": ("asyncio", "trio"),
    "moto": ("asyncio",),
    "seaweedfs": ("asyncio",),
    "embedded-sftp": ("asyncio", "trio"),
    "sshd": ("asyncio",),
}
_on_every_store = pytest.mark.parametrize(
    ("store", "anyio_backend"),
    [
        pytest.param(store, loop, marks=pytest.mark.xdist_group(store), id=f"{store}-{loop}")
        for store, loops in _LOOPS.items()
        for loop in loops
    ],
)


@pytest.fixture
def harness(store: str, request: pytest.FixtureRequest) -> StoreHarness:
    harness = new_store(store, request)
    harness.put(FILE, OLD)
    return harness


def _ignore(data: bytes | bytearray) -> None:
    del data


_OPERATIONS: Final[dict[str, Callable[[Backend, Target], Coroutine[Any, Any, object]]]] = {
    "resolve": lambda backend, _: target_of(backend, FILE),
    "stat": lambda backend, target: backend.stat(target),
    "read": lambda backend, target: backend.read(target),
    "scan": lambda backend, target: backend.scan(target, _ignore),
    "list": lambda backend, target: backend.list(target, limit=10),
    "write": lambda backend, target: backend.write(target, _NEW, condition=Always()),
    "create": lambda backend, target: backend.write(target, _NEW, condition=IfAbsent()),
    "replace": lambda backend, target: backend.write(target, _NEW, condition=IfVersion(Version("of nothing"))),
}


def _asking(
    probe: Callable[[], Coroutine[Any, Any, object]],
) -> Callable[[Backend, Target], Coroutine[Any, Any, object]]:
    async def ask(backend: Backend, target: Target) -> object:
        del backend, target
        return await probe()

    return ask


@_on_every_store
async def test_after_closing_every_operation_is_unavailable_and_closing_again_is_nothing(harness: StoreHarness) -> None:
    await (await harness.open()).aclose()
    before = Census.take()
    backend = await harness.open()
    target = await target_of(backend, FILE)
    await backend.aclose()
    await backend.aclose()
    operations = dict(_OPERATIONS)
    if isinstance(backend, LocalBackend | S3Backend | SftpBackend):
        operations["probe"] = _asking(backend.probe)
    for name, operation in operations.items():
        with anyio.fail_after(PROMPT_S), pytest.raises(Unavailable) as refused:
            await operation(backend, target)
        assert "closed" in refused.value.reason, name
    assert harness.get(FILE) == OLD
    await before.is_back()


@_on_every_store
async def test_closing_at_once_by_many_returns_when_all_is_closed(harness: StoreHarness) -> None:
    await (await harness.open()).aclose()
    before = Census.take()
    backend = await harness.open()
    await backend.read(await target_of(backend, FILE))
    async with anyio.create_task_group() as tasks:
        for _ in range(3):
            tasks.start_soon(backend.aclose)
    await before.is_back()


@_on_every_store
async def test_operations_under_way_end_with_a_result_or_one_refusal_when_the_store_is_closed(
    harness: StoreHarness, store: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    # What is cut has no connection any more to tidy up over.
    monkeypatch.setattr("backends.sftp.backend._CLOSE_PATIENCE_S", PROMPT_S)
    await (await harness.open()).aclose()
    before = Census.take()
    backend = await harness.open()
    target = await target_of(backend, FILE)
    ends: list[object] = []

    async def run(operation: Callable[[Backend, Target], Coroutine[Any, Any, object]]) -> None:
        try:
            ends.append(await operation(backend, target))
        except FsError as error:
            ends.append(error)

    names = ("stat", "read", "scan", "write")
    with anyio.fail_after(2 * PROMPT_S):
        async with anyio.create_task_group() as tasks:
            for number in range(AT_ONCE):
                tasks.start_soon(run, _OPERATIONS[names[number % len(names)]])
            for _ in range(20):
                await checkpoint()
            await backend.aclose()
            await before.is_back()
    assert len(ends) == AT_ONCE
    refusals = [end for end in ends if isinstance(end, FsError)]
    allowed = (Unavailable, OutcomeUnknown)
    assert all(isinstance(end, allowed) or store == "generic" for end in refusals), refusals
    assert harness.get(FILE) in {OLD, _NEW}
    assert harness.names("d") == ["a.txt"]
    gc.collect()


_WAYS: Final = {
    "memory": (Way.SCOPE,),
    "local": (Way.SCOPE, Way.TASK),
    "generic": (Way.SCOPE, Way.TASK),
    "moto": (Way.TASK,),
    "seaweedfs": (Way.SCOPE,),
    "embedded-sftp": (Way.SCOPE, Way.TASK),
    "sshd": (Way.SCOPE,),
}


@pytest.mark.parametrize("anyio_backend", ["asyncio"])
@pytest.mark.parametrize(
    ("store", "way"),
    [
        pytest.param(store, way, marks=pytest.mark.xdist_group(store), id=f"{store}-{way}")
        for store, ways in _WAYS.items()
        for way in ways
    ],
)
async def test_closing_that_is_cancelled_twice_wherever_it_waits_still_closes(harness: StoreHarness, way: Way) -> None:
    await (await _open_small(harness)).aclose()
    before = Census.take()
    was_reached, moment = True, 0
    while was_reached:
        moment += 1
        backend = await _open_small(harness)
        await backend.read(await target_of(backend, FILE))
        ending = await cancelled_at_suspension(backend.aclose, moment, moment + 1, way=way)
        was_reached = ending.was_reached
        assert ending.value == (None,)
        with pytest.raises(Unavailable):
            await target_of(backend, FILE)
        await before.is_back()
    gc.collect()


async def _open_small(harness: StoreHarness) -> Backend:
    """Open with few places: closing S3 waits for each of them, which is the same again and again."""
    return await harness.open_with(concurrency_max=2) if isinstance(harness, S3Harness) else await harness.open()
