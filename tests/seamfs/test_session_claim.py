"""One live process per session of a state file."""

import subprocess
import sys
from pathlib import Path

import anyio
import pytest

from fs_core.errors import NotFound, Unavailable
from seamfs.session_claim import claimed
from tests.seamfs.processes import TIMEOUT_S, environment

pytestmark = pytest.mark.anyio

ROOT = "/srv/repo"


@pytest.fixture
def state(tmp_path: Path) -> Path:
    return tmp_path / "state.db"


async def is_free(state: Path, *, root_url: str = ROOT, session: str = "stdio", shared: bool = False) -> bool:
    try:
        async with claimed(state, root_url=root_url, session=session, shared=shared, timeout_s=0):
            return True
    except Unavailable:
        return False


def locks(state: Path) -> list[str]:
    return [path.name for path in state.parent.glob("*.lock")]


async def test_a_session_is_held_alone_and_free_again_afterwards_with_nothing_left(state: Path) -> None:
    async with claimed(state, root_url=ROOT, session="stdio"):
        assert not await is_free(state)
        assert not await is_free(state, shared=True)
        assert len(locks(state)) == 1
    assert locks(state) == []
    assert await is_free(state)


async def test_other_sessions_and_the_same_name_elsewhere_are_others(state: Path) -> None:
    async with claimed(state, root_url=ROOT, session="stdio"):
        assert await is_free(state, session="other")
        assert await is_free(state, root_url="/srv/other")
        assert await is_free(state.with_name("other.db"))


async def test_a_state_whose_name_goes_on_like_that_of_a_session_is_another(state: Path) -> None:
    async with claimed(state, root_url=ROOT, session="a-b"):
        assert await is_free(state.with_name(f"{state.name}-a"), session="b")


async def test_a_link_to_the_state_does_not_make_another_session_of_it(state: Path) -> None:
    link = state.with_name("link.db")
    link.symlink_to(state)
    async with claimed(state, root_url=ROOT, session="stdio"):
        assert not await is_free(link)


async def test_those_who_share_a_session_keep_out_who_wants_it_alone(state: Path) -> None:
    async with claimed(state, root_url=ROOT, session="cli", shared=True):
        async with claimed(state, root_url=ROOT, session="cli", shared=True):
            assert not await is_free(state, session="cli")
        assert not await is_free(state, session="cli")
    assert await is_free(state, session="cli")
    assert locks(state) == []


async def test_the_refusal_names_file_and_session_and_says_what_to_do(state: Path) -> None:
    async with claimed(state, root_url=ROOT, session="stdio"):
        with pytest.raises(Unavailable) as caught:
            async with claimed(state, root_url=ROOT, session="stdio", timeout_s=0.1):
                pytest.fail("it was given twice")
    assert str(caught.value) == (
        f"{state}: session stdio is in use by another running seamfs; give this one another name with --session, "
        "or end the other"
    )


async def test_who_comes_while_the_other_is_ending_waits_for_it(state: Path) -> None:
    ended = anyio.Event()

    async def hold(task_status: anyio.abc.TaskStatus[None]) -> None:
        async with claimed(state, root_url=ROOT, session="stdio"):
            task_status.started()
            await ended.wait()

    async with anyio.create_task_group() as tasks:
        await tasks.start(hold)
        tasks.start_soon(is_free, state)
        await anyio.wait_all_tasks_blocked()
        ended.set()
        async with claimed(state, root_url=ROOT, session="stdio"):
            assert len(locks(state)) == 1


async def test_many_who_come_and_go_are_never_in_at_once(state: Path) -> None:
    inside = 0

    async def visit() -> None:
        nonlocal inside
        async with claimed(state, root_url=ROOT, session="stdio", timeout_s=60):
            inside += 1
            assert inside == 1
            await anyio.lowlevel.checkpoint()
            inside -= 1

    async with anyio.create_task_group() as tasks:
        for _ in range(8):
            tasks.start_soon(visit)
    assert locks(state) == []


async def test_a_state_without_a_directory_is_named(state: Path) -> None:
    with pytest.raises(NotFound, match="the session cannot be locked: No such file or directory"):
        await is_free(state.parent / "missing" / "state.db")


HOLD = """
import sys, anyio
from pathlib import Path
from seamfs.session_claim import claimed

async def hold(state):
    async with claimed(Path(state), root_url="/srv/repo", session="stdio"):
        print("held", flush=True)
        await anyio.sleep_forever()

anyio.run(hold, sys.argv[1])
"""


def holder(state: Path) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-c", HOLD, str(state)], stdout=subprocess.PIPE, text=True, env=environment()
    )


@pytest.mark.parametrize("anyio_backend", ["asyncio"])
async def test_a_killed_process_holds_nothing(state: Path) -> None:
    with holder(state) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "held\n"
        assert not await is_free(state)
        process.kill()
        process.wait(TIMEOUT_S)
    assert len(locks(state)) == 1
    assert await is_free(state)
    assert locks(state) == []
