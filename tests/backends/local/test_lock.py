"""The lock that processes share: what it goes by, who may keep it, and what becomes of its files."""

import errno
import os
import signal
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any, Final

import pytest

from backends._workers import WorkerCall
from backends.local import _lock, open_local
from backends.local._lock import ProcessLocks, file_key
from backends.options import LocalOptions
from fs_core.errors import Unavailable
from fs_core.testing.conformance import target_of
from fs_core.types import IfAbsent
from tests.support.waiting import WAIT_S

_FORK: Final = """
import os, sys
from pathlib import Path
from backends._workers import WorkerCall
from backends.local._lock import ProcessLocks
with ProcessLocks(Path(sys.argv[1]), timeout_s=1).hold("x", call=WorkerCall(), path="."):
    child = os.fork()
    if child == 0:
        print(flush=True)
        sys.stdin.read()  # until the test lets go of the pipe
        os._exit(0)
    if sys.argv[2] == "is killed":
        os.kill(os.getpid(), 9)
print(flush=True)
os.waitpid(child, 0)
"""


@pytest.fixture
def locks(tmp_path: Path) -> ProcessLocks:
    return ProcessLocks(tmp_path / "locks", timeout_s=0.2)


def lock_file(tmp_path: Path) -> Path:
    (file,) = (tmp_path / "locks").iterdir()
    return file


@pytest.fixture
def directory(tmp_path: Path) -> Iterator[int]:
    fd = os.open(tmp_path, os.O_RDONLY)
    yield fd
    os.close(fd)


@pytest.mark.parametrize("parent", ["releases it", "is killed"])
def test_a_forked_child_keeps_no_lock_whose_owner(locks: ProcessLocks, tmp_path: Path, parent: str) -> None:
    process = subprocess.Popen(
        [sys.executable, "-c", _FORK, str(tmp_path / "locks"), parent], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    )
    with process:
        assert process.stdout is not None
        process.stdout.readline()  # of the child, which has begun then, or of the parent
        if parent == "is killed":
            assert process.wait() == -signal.SIGKILL
        else:
            process.stdout.readline()
        with locks.hold("x", call=WorkerCall(), path="."):
            assert lock_file(tmp_path).stat().st_nlink == 1


def test_a_lock_file_that_was_removed_while_one_waited_excludes_nobody_from_the_new_one(
    locks: ProcessLocks, tmp_path: Path
) -> None:
    faults: list[Exception] = []
    waits = threading.Event()

    class Waiting(WorkerCall):
        def check(self) -> None:
            waits.set()

    def wait_for_it() -> None:
        try:
            with ProcessLocks(tmp_path / "locks", timeout_s=WAIT_S).hold("x", call=Waiting(), path="."):
                faults.append(AssertionError("two hold the lock"))
        except Unavailable as error:
            faults.append(error)

    with ExitStack() as newer:
        with locks.hold("x", call=WorkerCall(), path="."):
            waiter = threading.Thread(target=wait_for_it)
            waiter.start()
            assert waits.wait(WAIT_S)
            lock_file(tmp_path).unlink()
            newer.enter_context(locks.hold("x", call=WorkerCall(), path="."))
        waits.clear()
        assert waits.wait(WAIT_S)  # it waits again, now for the newer one
        assert faults == []
    waiter.join()
    assert [str(fault) for fault in faults] == ["two hold the lock"]  # which nobody else had any more


def test_a_held_lock_file_looks_used_to_cleaners_of_old_files(locks: ProcessLocks, tmp_path: Path) -> None:
    with locks.hold("x", call=WorkerCall(), path="."):
        os.utime(lock_file(tmp_path), (1, 1))
    with locks.hold("x", call=WorkerCall(), path="."):
        assert lock_file(tmp_path).stat().st_mtime > 1


def test_spellings_that_may_be_one_file_share_a_lock(directory: int, tmp_path: Path) -> None:
    (tmp_path / "other").mkdir()
    other = os.open(tmp_path / "other", os.O_RDONLY)
    try:
        assert file_key(directory, "Straße.txt") == file_key(directory, "STRASSE.TXT")
        assert file_key(directory, "e\u0301") == file_key(directory, "\u00e9")
        assert file_key(directory, "a") != file_key(directory, "b")
        assert file_key(directory, "a") != file_key(other, "a")
    finally:
        os.close(other)


def test_a_directory_reached_in_two_ways_shares_its_locks(directory: int, tmp_path: Path) -> None:
    (tmp_path / "sub").mkdir()
    again = os.open(tmp_path / "sub" / "..", os.O_RDONLY)
    try:
        assert file_key(directory, "a") == file_key(again, "a")
    finally:
        os.close(again)


def _no_parent(tmp_path: Path, _: pytest.MonkeyPatch) -> None:
    (tmp_path / "locks").parent.joinpath("locks").symlink_to(tmp_path / "missing" / "locks")


def _full(_: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    _fail_to_open_lock_files(monkeypatch, errno.ENOSPC)


def _read_only(_: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    _fail_to_open_lock_files(monkeypatch, errno.EROFS)


def _fail_to_open_lock_files(monkeypatch: pytest.MonkeyPatch, number: int) -> None:
    real_open: Callable[..., int] = os.open

    def refuse(file: Any, *arguments: Any, **options: Any) -> int:
        if str(file).endswith(".lock"):
            raise OSError(number, os.strerror(number))
        return real_open(file, *arguments, **options)

    monkeypatch.setattr(_lock.os, "open", refuse)


@pytest.mark.anyio
@pytest.mark.parametrize("spoil", [_no_parent, _full, _read_only])
async def test_a_lock_directory_that_cannot_be_used_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, spoil: Callable[[Path, pytest.MonkeyPatch], None]
) -> None:
    root = tmp_path / "root"
    root.mkdir()
    spoil(tmp_path, monkeypatch)
    backend = await open_local(root, LocalOptions(lock_directory=tmp_path / "locks"))
    try:
        with pytest.raises(Unavailable) as refused:
            await backend.write(await target_of(backend, "a.txt"), b"x", condition=IfAbsent())
    finally:
        await backend.aclose()
    assert f"the lock directory {tmp_path / 'locks'} cannot be used" in refused.value.reason
    assert list(root.iterdir()) == []
