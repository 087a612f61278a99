"""The lock of a target: who waits for whom, and that giving up at any moment leaves nothing locked."""

import anyio
import pytest
from anyio.lowlevel import checkpoint

from fs_core.edit import Edit
from fs_core.errors import FsError, Unavailable
from fs_core.locks import TargetLocks
from fs_core.page import Window
from fs_core.testing.delegating import Primitive
from fs_core.testing.faults import Block, Fail
from tests.fs_core.seam import OTHER, Seam, perform, refused
from tests.support.waiting import WAIT_S

pytestmark = pytest.mark.anyio

MOMENTS: list[tuple[str, Primitive]] = [
    ("read", "resolve"),
    ("read", "scan"),
    ("write", "resolve"),
    ("write", "read"),
    ("write", "write"),
    ("edit", "resolve"),
    ("edit", "read"),
    ("edit", "write"),
]


@pytest.fixture
def locks(monkeypatch: pytest.MonkeyPatch) -> TargetLocks:
    locks = TargetLocks()
    monkeypatch.setattr("fs_core.filesystem.TargetLocks", lambda: locks)
    return locks


@pytest.fixture
async def seam(locks: TargetLocks) -> Seam:
    seam = Seam()
    seam.put("a.txt", b"one\n")
    await seam.session().read("a.txt", Window())
    assert len(locks) == 0
    seam.restart()  # so that an edit and a write read the file
    return seam


@pytest.mark.parametrize(("operation", "primitive"), MOMENTS)
async def test_giving_up_leaves_the_lock_free_and_everything_as_it_was(
    seam: Seam, locks: TargetLocks, operation: str, primitive: Primitive
) -> None:
    seen = await seam.seen("a.txt")
    block = Block(primitive, call=2 if (primitive in {"resolve", "scan"}) else 1)
    seam.backend.add(block)
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(perform, seam.session(), operation, "a.txt")
        await block.reached.wait()
        tasks.cancel_scope.cancel()
    assert len(locks) == 0
    assert seam.get("a.txt") == b"one\n"
    assert await seam.seen("a.txt") is seen
    await perform(seam.session(), "edit", "a.txt")
    assert seam.get("a.txt") == b"new\n"


@pytest.mark.parametrize(
    ("operation", "primitive"),
    [("read", "scan"), ("edit", "read"), *((each, look) for each in ("read", "edit") for look in ("resolve", "list"))],
)
async def test_giving_up_while_a_missing_file_is_looked_for_leaves_the_lock_free(
    locks: TargetLocks, operation: str, primitive: Primitive
) -> None:
    seam = Seam()
    block = Block(primitive, call=2 if primitive == "resolve" else 1)
    seam.backend.add(block)
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(perform, seam.session(), operation, "a.txt")
        await block.reached.wait()
        tasks.cancel_scope.cancel()
    assert len(locks) == 0


@pytest.mark.parametrize(("operation", "primitive"), [moment for moment in MOMENTS if moment[1] != "scan"])
async def test_a_fault_leaves_the_lock_free(
    seam: Seam, locks: TargetLocks, operation: str, primitive: Primitive
) -> None:
    fault = Unavailable("no answer", path="a.txt", operation="stat")
    seam.backend.add(Fail(primitive, fault, call=2 if primitive == "resolve" else 1))
    await refused(seam.session(), operation, "a.txt", FsError)
    assert seam.backend.pending == ()
    assert len(locks) == 0


async def test_a_waiting_change_that_is_given_up_does_not_hold_up_the_next(seam: Seam, locks: TargetLocks) -> None:
    block = Block("write")
    seam.backend.add(block)
    impatient = anyio.CancelScope()

    async def wait_impatiently() -> None:
        with impatient:
            await seam.session().write("a.txt", "impatient\n")

    async with anyio.create_task_group() as tasks:
        tasks.start_soon(seam.session().edit, "a.txt", Edit("one", "two"))
        await block.reached.wait()
        tasks.start_soon(wait_impatiently)
        tasks.start_soon(seam.session().edit, "a.txt", Edit("two", "three"))
        for _ in range(20):
            await checkpoint()
        impatient.cancel()
        block.release.set()
    assert seam.get("a.txt") == b"three\n"
    assert len(locks) == 0


async def test_changes_of_one_file_happen_in_the_order_of_their_calls(seam: Seam, locks: TargetLocks) -> None:
    block = Block("write")
    seam.backend.add(block)
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(seam.session().edit, "a.txt", Edit("one", "0"))
        await block.reached.wait()
        for number in range(5):
            tasks.start_soon(seam.session().edit, "a.txt", Edit(f"{number}", f"{number + 1}"))
            for _ in range(20):
                await checkpoint()
        assert len(locks) == 1
        block.release.set()
    assert seam.get("a.txt") == b"5\n"
    assert len(locks) == 0


async def test_changes_of_different_files_do_not_wait_for_each_other(seam: Seam, locks: TargetLocks) -> None:
    block = Block("write")
    seam.backend.add(block)
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(seam.session().write, "a.txt", "new\n")
        await block.reached.wait()
        with anyio.fail_after(WAIT_S):
            await seam.session().write("b.txt", "b\n")
        assert len(locks) == 1
        block.release.set()
    assert seam.get("b.txt") == b"b\n"
    assert len(locks) == 0


async def test_of_two_owners_changing_at_once_one_wins_and_one_is_stale(seam: Seam, locks: TargetLocks) -> None:
    outcomes: list[str] = []

    async def change(owner: str, text: str) -> None:
        session = seam.session() if owner == "me" else seam.session(OTHER)
        try:
            await session.write("a.txt", text)
            outcomes.append("written")
        except FsError as error:
            outcomes.append(error.code)

    await seam.session(OTHER).read("a.txt", Window())
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(change, "me", "mine\n")
        tasks.start_soon(change, "other", "theirs\n")
    assert sorted(outcomes) == ["FS_STALE_VERSION", "written"]
    assert seam.get("a.txt") in {b"mine\n", b"theirs\n"}
    assert len(locks) == 0
