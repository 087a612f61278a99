"""Observations in an SQLite file: what every store of observations does, several processes at once, restarts."""

import sqlite3
import subprocess
import sys
import time
from collections.abc import AsyncGenerator
from contextlib import suppress
from pathlib import Path

import anyio
import pytest

from fs_core.errors import Unavailable
from fs_core.policy import OwnerId, Present
from fs_core.testing.observations import BOUNDED_OBSERVATIONS, BOUNDED_OWNERS, ObservationConformance
from fs_core.types import TargetKey, Version
from seamfs.state import SqliteObservations, open_observations
from tests.seamfs.processes import TIMEOUT_S, environment

pytestmark = pytest.mark.anyio

ROOT = "/srv/repo"
ME, KEY = OwnerId("me"), TargetKey("/srv/repo/a.txt")
SEEN = Present(Version("1"))


def open_files() -> list[str]:
    found: list[str] = []
    for link in Path("/proc/self/fd").iterdir():
        with suppress(FileNotFoundError):  # another thread may close one at any time
            found.append(str(link.readlink()))
    return found


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "state #1?.db"


class TestSqliteObservations(ObservationConformance):
    @pytest.fixture
    async def store(self, file: Path) -> AsyncGenerator[SqliteObservations]:
        async with open_observations(file, root_url=ROOT) as observations:
            yield observations

    @pytest.fixture
    async def bounded(self, file: Path) -> AsyncGenerator[SqliteObservations]:
        async with open_observations(
            file, root_url=ROOT, observations_per_owner_max=BOUNDED_OBSERVATIONS, owners_max=BOUNDED_OWNERS
        ) as observations:
            yield observations


async def test_what_was_put_is_there_after_closing_for_the_same_root_alone(file: Path) -> None:
    async with open_observations(file, root_url=ROOT) as observations:
        await observations.put(ME, KEY, SEEN)
    async with open_observations(file, root_url=ROOT) as observations:
        assert await observations.get(ME, KEY) == SEEN
    async with open_observations(file, root_url="/srv/other") as observations:
        assert await observations.get(ME, KEY) is None
        assert await observations.export(ME) == {}


async def test_two_that_are_open_see_each_other(file: Path) -> None:
    async with (
        open_observations(file, root_url=ROOT) as first,
        open_observations(file, root_url=ROOT) as second,
    ):
        await first.put(ME, KEY, SEEN)
        assert await second.get(ME, KEY) == SEEN
        assert not await second.replace(ME, KEY, None, Present(Version("2")))
        assert await second.replace(ME, KEY, SEEN, Present(Version("2")))
        assert await first.get(ME, KEY) == Present(Version("2"))


async def test_it_is_for_its_owner_alone_and_closing_leaves_one_file_and_no_descriptor(file: Path) -> None:
    async with open_observations(file, root_url=ROOT) as observations:
        await observations.put(ME, KEY, SEEN)
        modes = {path.name: path.stat().st_mode & 0o777 for path in file.parent.glob("state*")}
        assert modes == dict.fromkeys([file.name, f"{file.name}-wal", f"{file.name}-shm"], 0o600)
    assert list(file.parent.glob("state*")) == [file]
    assert not [name for name in open_files() if file.name in name]


async def test_after_closing_it_is_unavailable(file: Path) -> None:
    async with open_observations(file, root_url=ROOT) as observations:
        pass
    with pytest.raises(Unavailable, match="the observation state is closed"):
        await observations.get(ME, KEY)
    await observations.aclose()


async def test_sessions_that_nobody_used_for_90_days_are_dropped_at_the_start(file: Path) -> None:
    old, young = OwnerId("old"), OwnerId("young")
    async with open_observations(file, root_url=ROOT) as observations:
        for owner in (old, young):
            await observations.put(owner, KEY, SEEN)
    day_ns = 24 * 3600 * 1_000_000_000
    connection = sqlite3.connect(file)
    with connection:
        for owner, days in ((old, 91), (young, 89)):
            used_ns = time.time_ns() - days * day_ns
            connection.execute("UPDATE session SET used_ns = ? WHERE owner = ?", (used_ns, owner.encode()))
    async with open_observations(file, root_url=ROOT) as observations:
        assert await observations.get(old, KEY) is None
        assert await observations.get(young, KEY) == SEEN
    assert connection.execute("SELECT count(*) FROM observation").fetchone() == (1,)
    connection.close()


async def test_after_the_clock_was_set_back_a_new_owner_is_the_latest(
    file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    later_ns = time.time_ns() + 10**18
    owners = [OwnerId("first"), OwnerId("second"), OwnerId("third")]
    async with open_observations(file, root_url=ROOT, owners_max=2) as observations:
        with monkeypatch.context() as patched:
            patched.setattr(time, "time_ns", lambda: later_ns)
            await observations.put(owners[0], KEY, SEEN)
            await observations.put(owners[1], KEY, SEEN)
        await observations.put(owners[2], KEY, SEEN)
        assert [await observations.get(owner, KEY) for owner in owners] == [None, SEEN, SEEN]


async def test_a_lower_bound_holds_from_the_next_new_file_on(file: Path) -> None:
    keys = [TargetKey(str(number)) for number in range(6)]
    async with open_observations(file, root_url=ROOT) as observations:
        await observations.restore(ME, dict.fromkeys(keys[:2], SEEN))
        for key in keys[:5]:
            await observations.put(ME, key, SEEN)
    async with open_observations(file, root_url=ROOT, observations_per_owner_max=3) as observations:
        await observations.put(ME, keys[4], SEEN)
        await observations.put(ME, keys[5], SEEN)
        assert list(await observations.export(ME)) == keys[3:]


async def test_a_call_waits_while_another_process_writes_and_then_goes_on(file: Path) -> None:
    async with open_observations(file, root_url=ROOT, busy_timeout_s=TIMEOUT_S) as observations:
        await observations.put(ME, KEY, SEEN)
        other = sqlite3.connect(file, isolation_level=None)
        other.execute("BEGIN IMMEDIATE")
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(observations.put, ME, KEY, Present(Version("2")))
            await anyio.wait_all_tasks_blocked()
            assert await observations.get(ME, KEY) == SEEN
            other.execute("COMMIT")
        other.close()
        assert await observations.get(ME, KEY) == Present(Version("2"))


async def test_a_lock_that_is_held_for_too_long_is_unavailable_and_names_the_file(file: Path) -> None:
    async with open_observations(file, root_url=ROOT, busy_timeout_s=0.1) as observations:
        other = sqlite3.connect(file, isolation_level=None)
        other.execute("BEGIN IMMEDIATE")
        with pytest.raises(Unavailable) as caught:
            await observations.put(ME, KEY, SEEN)
        other.close()
        assert str(caught.value) == f"{file}: the observation state is locked by another process; try again"
        assert caught.value.retryable
        await observations.put(ME, KEY, SEEN)


async def test_whoever_waits_for_another_process_can_be_cancelled_at_once(file: Path) -> None:
    async with open_observations(file, root_url=ROOT, busy_timeout_s=600) as observations:
        other = sqlite3.connect(file, isolation_level=None)
        other.execute("BEGIN IMMEDIATE")
        with anyio.fail_after(TIMEOUT_S), anyio.move_on_after(0.01) as scope:
            await observations.put(ME, KEY, SEEN)
        assert scope.cancelled_caught
        other.close()
        assert await observations.get(ME, KEY) is None


COUNT = """
import sys, anyio
from pathlib import Path
from fs_core.policy import OwnerId, Present
from fs_core.types import TargetKey, Version
from seamfs.state import open_observations

async def count(file, times):
    async with open_observations(Path(file), root_url="/srv/repo", busy_timeout_s=60) as observations:
        me, key = OwnerId("me"), TargetKey("counter")
        while times > 0:
            seen = await observations.get(me, key)
            number = 0 if seen is None else int(seen.version.token)
            if await observations.replace(me, key, seen, Present(Version(str(number + 1)))):
                times -= 1
                print(number + 1, flush=True)

anyio.run(count, sys.argv[1], int(sys.argv[2]))
"""


def counter(file: Path, times: int) -> subprocess.Popen[str]:
    arguments = [sys.executable, "-c", COUNT, str(file), str(times)]
    return subprocess.Popen(arguments, stdout=subprocess.PIPE, text=True, env=environment())


@pytest.mark.parametrize("anyio_backend", ["asyncio"])
async def test_processes_that_replace_what_they_saw_lose_nothing_to_each_other(file: Path) -> None:
    counters = [counter(file, 100) for _ in range(3)]
    for process in counters:
        process.communicate(timeout=TIMEOUT_S)
    assert [process.returncode for process in counters] == [0, 0, 0]
    async with open_observations(file, root_url=ROOT) as observations:
        assert await observations.get(ME, TargetKey("counter")) == Present(Version("300"))


@pytest.mark.parametrize("anyio_backend", ["asyncio"])
async def test_what_a_killed_process_was_told_is_kept_is_there(file: Path) -> None:
    with counter(file, 1_000_000) as process:
        assert process.stdout is not None
        for _ in range(50):
            process.stdout.readline()
        process.kill()
        told = process.stdout.read().splitlines()
    async with open_observations(file, root_url=ROOT) as observations:
        seen = await observations.get(ME, TargetKey("counter"))
    assert isinstance(seen, Present)
    # One more may have been kept whose number was not printed any more.
    assert 0 <= int(seen.version.token) - (int(told[-1]) if told else 50) <= 1
    connection = sqlite3.connect(file)
    assert connection.execute("PRAGMA integrity_check").fetchone() == ("ok",)
    connection.close()
