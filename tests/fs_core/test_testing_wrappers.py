from collections.abc import Awaitable, Callable
from inspect import isabstract

import anyio
import pytest

from fs_core.errors import NotFound, OutcomeUnknown, Unavailable, Unsupported
from fs_core.paths import parse_path
from fs_core.protocol import Backend
from fs_core.testing.delegating import DelegatingBackend, Primitive
from fs_core.testing.faults import Block, Fail, FaultBackend, Moment
from fs_core.testing.latency import LatencyBackend
from fs_core.testing.memory import MemoryBackend, MemoryStore
from fs_core.types import Always, IfAbsent, Target, TargetKey
from tests.support.waiting import WAIT_S

pytestmark = pytest.mark.anyio

WRAPPERS: list[Callable[[Backend], Backend]] = [
    DelegatingBackend,
    FaultBackend,
    lambda inner: LatencyBackend(inner, delay_s=0),
]


@pytest.fixture
def store() -> MemoryStore:
    store = MemoryStore()
    store.put("a.txt", b"hello\n")
    return store


async def target_of(backend: Backend, path: str = "a.txt") -> Target:
    return await backend.resolve(parse_path(path, backend.root))


def calls_of(backend: Backend, target: Target) -> dict[Primitive, Callable[[], Awaitable[object]]]:
    """Every primitive, in an order in which each succeeds."""
    return {
        "resolve": lambda: target_of(backend),
        "stat": lambda: backend.stat(target),
        "read": lambda: backend.read(target),
        "scan": lambda: backend.scan(target, bytearray().extend),
        "list": lambda: backend.list(Target(TargetKey("."), "."), limit=5),
        "write": lambda: backend.write(target, b"new\n", condition=Always()),
        "aclose": backend.aclose,
    }


def unreachable(primitive: Primitive) -> Unavailable:
    operation = "read" if primitive == "scan" else "open" if primitive == "aclose" else primitive
    return Unavailable("cannot be reached", path="a.txt", operation=operation, retryable=True)


@pytest.mark.parametrize("wrap", WRAPPERS, ids=["delegating", "faults", "latency"])
async def test_wrapper_answers_exactly_as_the_inner_backend(
    store: MemoryStore, wrap: Callable[[Backend], Backend]
) -> None:
    inner = MemoryBackend(store, name="x")
    outer = wrap(inner)
    target = await target_of(outer)
    assert target == await target_of(inner)
    assert (outer.root, outer.capabilities) == (inner.root, inner.capabilities)
    for primitive in ("stat", "read", "scan", "list"):
        assert await calls_of(outer, target)[primitive]() == await calls_of(inner, target)[primitive]()
    root = await outer.resolve(parse_path(".", outer.root))
    assert outer.child(root, "a.txt") == target
    levels = await outer.list_many([root], entries_max=5, with_sizes=True)
    assert levels == await inner.list_many([root], entries_max=5, with_sizes=True)
    contents: list[bytes] = []
    await outer.read_many([target], lambda _, data: contents.append(data), size_bytes_max=10)
    assert contents == [b"hello\n"]
    with pytest.raises(Unsupported):
        await outer.list_below(root)
    part = await outer.read(target, offset=1, limit=2, pinned=(await inner.read(target)).version)
    assert (part.data, part.offset) == (b"el", 1)
    receipt = await outer.write(await target_of(outer, "b.txt"), b"new", condition=IfAbsent())
    assert receipt.created
    assert store.files["b.txt"].data == b"new"


def test_wrapper_covers_every_primitive_of_the_contract() -> None:
    public = {name for name in vars(Backend) if not name.startswith("_") and callable(getattr(Backend, name))}
    # What is another way to read, list or write counts as that; for a child no store is asked.
    others = {"read_whole", "read_many", "list_many", "list_below", "patch", "child"}
    assert public == {*calls_of(MemoryBackend(), Target(TargetKey("a"), "a")), *others}
    assert public <= set(vars(DelegatingBackend))
    assert not isabstract(DelegatingBackend)


async def test_latency_counts_each_primitive_and_a_scan_once(store: MemoryStore) -> None:
    backend = LatencyBackend(MemoryBackend(store), delay_s=0)
    target = await target_of(backend)
    for call in calls_of(backend, target).values():
        await call()
    assert backend.calls == {"resolve": 2, "stat": 1, "read": 1, "scan": 1, "list": 1, "write": 1, "aclose": 1}


async def test_latency_delays_each_call_and_calls_wait_side_by_side(
    store: MemoryStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    inner = LatencyBackend(MemoryBackend(store), delay_s=0)
    target = await target_of(inner)
    backend = LatencyBackend(inner, delay_s=7.0)
    asleep: list[float] = []
    is_morning = anyio.Event()

    async def sleep(delay_s: float) -> None:
        if delay_s:
            asleep.append(delay_s)
            await is_morning.wait()

    monkeypatch.setattr("fs_core.testing.latency.anyio.sleep", sleep)
    async with anyio.create_task_group() as group:
        for _ in range(20):
            group.start_soon(backend.stat, target)
        await anyio.wait_all_tasks_blocked()
        assert asleep == [7.0] * 20
        assert (backend.calls["stat"], inner.calls["stat"]) == (20, 0)
        is_morning.set()
    assert inner.calls["stat"] == 20


async def test_latency_cancelled_while_it_waits_reaches_nothing(store: MemoryStore) -> None:
    inner = LatencyBackend(MemoryBackend(store), delay_s=0)
    target = await target_of(inner)
    with anyio.move_on_after(0.01) as scope:
        await LatencyBackend(inner, delay_s=60).write(target, b"x", condition=Always())
    assert scope.cancelled_caught
    assert inner.calls["write"] == 0


@pytest.mark.parametrize("primitive", ["resolve", "stat", "read", "scan", "list", "write", "aclose"])
@pytest.mark.parametrize("moment", list(Moment))
async def test_fault_strikes_its_primitive_once(store: MemoryStore, primitive: Primitive, moment: Moment) -> None:
    inner = MemoryBackend(store)
    target = await target_of(inner)
    fault = Fail(primitive, unreachable(primitive), moment=moment)
    backend = FaultBackend(inner, fault)
    assert backend.pending == (fault,)
    for name, call in calls_of(backend, target).items():
        if name == primitive:
            with pytest.raises(Unavailable) as caught:
                await call()
            assert caught.value is fault.error
        await call()
    assert backend.pending == ()


async def test_fault_before_a_write_leaves_the_file_and_one_after_has_changed_it(store: MemoryStore) -> None:
    lost = OutcomeUnknown("the answer was lost", path="a.txt", operation="write")
    backend = FaultBackend(
        MemoryBackend(store),
        Fail("write", unreachable("write")),
        Fail("write", lost, moment=Moment.AFTER, call=2),
    )
    target = await target_of(backend)
    with pytest.raises(Unavailable):
        await backend.write(target, b"1", condition=Always())
    assert store.files["a.txt"].data == b"hello\n"
    with pytest.raises(OutcomeUnknown):
        await backend.write(target, b"2", condition=Always())
    assert store.files["a.txt"].data == b"2"


async def test_fault_of_the_nth_call_spares_the_others(store: MemoryStore) -> None:
    backend = FaultBackend(MemoryBackend(store))
    target = await target_of(backend)
    await backend.stat(target)
    backend.add(Fail("stat", unreachable("stat"), call=3))
    assert await backend.stat(target) is not None
    with pytest.raises(Unavailable):
        await backend.stat(target)
    assert await backend.stat(target) is not None


async def test_fault_after_a_call_that_fails_by_itself_stays_pending(store: MemoryStore) -> None:
    fault = Fail("read", unreachable("read"), moment=Moment.AFTER)
    backend = FaultBackend(MemoryBackend(store), fault)
    with pytest.raises(NotFound):
        await backend.read(await target_of(backend, "none"))
    assert backend.pending == (fault,)


@pytest.mark.parametrize(("moment", "left"), [(Moment.BEFORE, b"hello\n"), (Moment.AFTER, b"x")])
async def test_cancelling_a_blocked_write_shows_what_it_left(store: MemoryStore, moment: Moment, left: bytes) -> None:
    block = Block("write", moment=moment)
    backend = FaultBackend(MemoryBackend(store), block)
    target = await target_of(backend)
    with anyio.fail_after(WAIT_S):
        async with anyio.create_task_group() as group:
            group.start_soon(lambda: backend.write(target, b"x", condition=Always()))
            await block.reached.wait()
            group.cancel_scope.cancel()
    assert store.files["a.txt"].data == left
    assert backend.pending == ()


async def test_blocked_call_goes_on_when_it_is_released(store: MemoryStore) -> None:
    block = Block("write")
    backend = FaultBackend(MemoryBackend(store), block)
    target = await target_of(backend)
    with anyio.fail_after(WAIT_S):
        async with anyio.create_task_group() as group:
            group.start_soon(lambda: backend.write(target, b"x", condition=Always()))
            await block.reached.wait()
            assert store.files["a.txt"].data == b"hello\n"
            block.release.set()
    assert store.files["a.txt"].data == b"x"
