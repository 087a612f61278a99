import anyio
import pytest
from anyio.lowlevel import checkpoint

from fs_core.locks import TargetLocks
from fs_core.types import TargetKey
from tests.support.waiting import WAIT_S

pytestmark = pytest.mark.anyio

A, B = TargetKey("a"), TargetKey("b")


async def until_waiting(locks: TargetLocks, started: list[int], count: int) -> None:
    """Let tasks run until `count` of them have asked for the lock."""
    while len(started) < count:
        await checkpoint()
    await checkpoint()
    assert len(locks) == 1


async def test_holders_of_one_key_follow_one_another_in_order() -> None:
    locks, started, served = TargetLocks(), list[int](), list[int]()
    holders = 0

    async def hold(number: int) -> None:
        nonlocal holders
        started.append(number)
        async with locks.hold(A):
            holders += 1
            assert holders == 1
            served.append(number)
            await checkpoint()
            holders -= 1

    async with anyio.create_task_group() as tasks:
        async with locks.hold(A):
            for number in range(5):
                tasks.start_soon(hold, number)
                await until_waiting(locks, started, number + 1)
        # Whoever comes now waits behind those who were there before.
        await hold(5)
    assert served == started == [0, 1, 2, 3, 4, 5]


async def test_different_keys_do_not_wait_for_each_other() -> None:
    locks = TargetLocks()
    async with locks.hold(A):
        with anyio.fail_after(WAIT_S):
            async with locks.hold(B):
                assert len(locks) == 2
        assert len(locks) == 1
    assert len(locks) == 0


async def test_a_lock_is_dropped_when_nobody_holds_or_wants_it() -> None:
    locks = TargetLocks()
    for number in range(100):
        async with locks.hold(TargetKey(str(number))):
            assert len(locks) == 1
    assert len(locks) == 0


async def test_a_fault_inside_frees_the_lock() -> None:
    locks = TargetLocks()
    with pytest.raises(ValueError, match="inside"):
        async with locks.hold(A):
            raise ValueError("inside")
    assert len(locks) == 0


async def test_a_waiter_that_gives_up_leaves_nothing_and_the_next_is_served() -> None:
    locks, started, served = TargetLocks(), list[int](), list[int]()
    impatient = anyio.CancelScope()

    async def wait_impatiently() -> None:
        with impatient:
            started.append(0)
            async with locks.hold(A):
                served.append(0)

    async def wait() -> None:
        started.append(1)
        async with locks.hold(A):
            served.append(1)

    async with anyio.create_task_group() as tasks, locks.hold(A):
        tasks.start_soon(wait_impatiently)
        await until_waiting(locks, started, 1)
        tasks.start_soon(wait)
        await until_waiting(locks, started, 2)
        impatient.cancel()
        await checkpoint()
    assert served == [1]
    assert len(locks) == 0
