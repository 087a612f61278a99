"""Local publication on a disk that forgets what was not flushed: after any crash the old content or the new one."""

import errno
import itertools
import os
import stat
from pathlib import Path

import anyio
import pytest

from backends.local import _staging, _tree, open_local
from backends.options import LocalOptions
from fs_core.errors import StaleVersion
from fs_core.paths import is_staged_name
from fs_core.testing.conformance import target_of
from fs_core.types import Always, WriteReceipt
from tests.torture.crash_model import Crash, File, Tree, crashes, without_crash
from tests.torture.crash_recorder import Recorder
from tests.torture.crash_scenarios import SCENARIOS, THEIRS, Run, Scenario, perform, standing

by_name = {scenario.name: scenario for scenario in SCENARIOS}
every_scenario = pytest.mark.parametrize("scenario", SCENARIOS, ids=lambda scenario: scenario.name)


def violations(scenario: Scenario, run: Run) -> list[str]:
    """Say of each crash what is wrong after it."""
    found = crashes(run.disk, run.trace)
    return [f"{fault}, after {ops[-1:]}: {crash}" for crash, ops in found.items() for fault in faults(scenario, crash)]


def faults(scenario: Scenario, crash: Crash) -> list[str]:
    tree = dict(crash.tree)
    states = scenario.states[crash.acknowledged]
    told = [f"{name} is not what it may be" for name, allowed in states.items() if tree.pop(name, None) not in allowed]
    told += [f"{path} is stray" for path in tree if not is_expected(scenario, path, tree[path])]
    if scenario.has_foreign and THEIRS not in dict(crash.tree).values():
        told.append("the content of the foreign writer is lost")
    return told


def is_expected(scenario: Scenario, path: str, file: File | None) -> bool:
    """Whether something beside the written files is a directory that they need, or recognised as a leftover."""
    return path in scenario.parents if file is None else is_staged_name(Path(path).name)


@every_scenario
def test_after_every_crash_the_old_or_the_new_content_stands_and_what_was_reported(
    scenario: Scenario, tmp_path: Path
) -> None:
    run = perform(scenario, tmp_path)
    expected = StaleVersion if scenario.has_foreign else WriteReceipt
    assert all(isinstance(outcome, expected) for outcome in run.outcomes)
    assert violations(scenario, run) == []


@every_scenario
def test_the_model_holds_in_the_end_what_really_stands_there(scenario: Scenario, tmp_path: Path) -> None:
    run = perform(scenario, tmp_path)
    assert dict(without_crash(run.disk, run.trace)) == standing(tmp_path / "root")


# -- what a crash leaves behind is swept -----------------------------------------------------------------------------


def restored(tree: Tree, root: Path) -> None:
    for path, file in tree:
        (root / path).parent.mkdir(parents=True, exist_ok=True)
        if file is None:
            (root / path).mkdir(exist_ok=True)
        else:
            (root / path).write_bytes(file.data)
            (root / path).chmod(file.mode)


async def write_all(root: Path, paths: list[str], locks: Path) -> None:
    backend = await open_local(root, LocalOptions(lock_directory=locks, fsync=False))
    for path in paths:
        await backend.write(await target_of(backend, path), b"", condition=Always())
    await backend.aclose()


@pytest.mark.parametrize("locks", ["of the dead process", "of another boot"])
@every_scenario
def test_what_a_crash_leaves_behind_is_swept_by_a_later_write_beside_it(
    scenario: Scenario, locks: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    # The locks of another boot cannot be seen; what was staged under them goes when it is a day old.
    monkeypatch.setattr(_staging, "_FOREIGN_AGE_S", -60.0)
    directory = tmp_path / ("locks" if locks == "of the dead process" else "locks since")
    run = perform(scenario, tmp_path)
    by_names = {tuple(path for path, _ in crash.tree): crash.tree for crash in crashes(run.disk, run.trace)}
    with_leftovers = [
        tree for paths, tree in by_names.items() if any(is_staged_name(Path(path).name) for path in paths)
    ]
    assert with_leftovers
    for number, tree in enumerate(with_leftovers):
        root = tmp_path / str(number)
        root.mkdir()
        restored(tree, root)
        later = {path.with_name("later") for path in root.rglob("*") if is_staged_name(path.name)}
        anyio.run(write_all, root, [str(path.relative_to(root)) for path in later], directory)
        for path in later:
            path.unlink()
        kept = {path: file for path, file in tree if not is_staged_name(Path(path).name)}
        assert standing(root) == kept


# -- the model catches what it is for --------------------------------------------------------------------------------


def is_directory(fd: int) -> bool:
    return stat.S_ISDIR(os.fstat(fd).st_mode)


class WithoutFileSync(Recorder):
    """The new content is published without having been flushed."""

    def fsync(self, fd: int) -> None:
        if is_directory(fd):
            super().fsync(fd)


class WithoutDirectorySync(Recorder):
    """The new name is reported without having been flushed."""

    def fsync(self, fd: int) -> None:
        if not is_directory(fd):
            super().fsync(fd)


class FlushedTooLate(Recorder):
    """The new content is flushed after its publication, though before the report."""

    late: tuple[int, ...] = ()

    def fsync(self, fd: int) -> None:
        if not is_directory(fd):
            self.late = (*self.late, os.dup(fd))
            return
        for one in self.late:
            super().fsync(one)
            os.close(one)
        self.late = ()
        super().fsync(fd)


class ModeTooLate(Recorder):
    """The mode of the old file is given to the new one after that was flushed."""

    late: tuple[tuple[int, int], ...] = ()

    def fchmod(self, fd: int, mode: int) -> None:
        self.late = (*self.late, (fd, mode))

    def fsync(self, fd: int) -> None:
        super().fsync(fd)
        for one, mode in self.late:
            super().fchmod(one, mode)
        self.late = ()


class InPlace(Recorder):
    """The old file is overwritten: its name cannot be renamed over."""

    def failing(self, name: str) -> int:
        return errno.EBUSY if name == "renameat2" else super().failing(name)


@pytest.mark.parametrize(
    ("scenario", "mutation"),
    [
        *itertools.product(
            [scenario.name for scenario in SCENARIOS if not scenario.has_foreign],
            [WithoutFileSync, WithoutDirectorySync, FlushedTooLate],
        ),
        ("put back after a foreign writer", WithoutDirectorySync),
        ("replace by exchange", ModeTooLate),
        ("replace by rename", ModeTooLate),
        ("replace by exchange", InPlace),
    ],
)
def test_a_step_that_is_left_out_or_comes_too_late_is_found(
    scenario: str, mutation: type[Recorder], tmp_path: Path
) -> None:
    assert violations(by_name[scenario], perform(by_name[scenario], tmp_path, recorder=mutation))


def only_the_lowest(parent: _tree.MadeParent) -> None:
    _tree.sync_directory(parent.fd)


@pytest.mark.parametrize("scenario", ["create with parents", "create two files in a new directory"])
def test_made_parents_that_are_not_flushed_are_found(
    scenario: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(_tree.MadeParent, "sync", only_the_lowest)
    assert violations(by_name[scenario], perform(by_name[scenario], tmp_path))
