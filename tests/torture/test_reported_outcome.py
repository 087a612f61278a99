"""Every call that a write on local disk makes fails once: what is reported is true, and nothing is left over."""

import errno
import os
from pathlib import Path

import pytest

from fs_core.errors import OutcomeUnknown
from fs_core.paths import is_staged_name
from fs_core.types import NoteKind, WriteReceipt
from tests.support.census import Census
from tests.torture.crash_recorder import Fault, Recorder
from tests.torture.crash_scenarios import SCENARIOS, THEIRS, Run, Scenario, perform, standing

_TAKES_SPACE = frozenset(
    ["fsync", "link", "mkdir", "open", "posix_fallocate", "pwrite", "renameat2", "replace", "write"]
)
by_name = {scenario.name: scenario for scenario in SCENARIOS}


def untruths(scenario: Scenario, run: Run, root: Path, failed: str) -> list[str]:
    """Compare what was reported with what stands there."""
    stands = {path: file.data if file else None for path, file in standing(root).items()}
    expected = {path: file.data for path, file in scenario.old.items()}
    if scenario.has_foreign and "theirs" not in stands:
        expected["a"] = expected.pop("theirs")
    for write, outcome in zip(scenario.writes, run.outcomes, strict=True):
        if isinstance(outcome, WriteReceipt):
            expected[write.path] = write.data
    told = [f"{path} holds {stands.get(path)}" for path, data in expected.items() if stands.get(path) != data]
    needed = {str(parent) for path in expected for parent in Path(path).parents}
    return told + [
        f"{path} is left over"
        for path in stands.keys() - expected.keys() - needed
        if not (failed == "unlink" and is_staged_name(Path(path).name))
    ]


def failing_runs(
    scenario: Scenario, directory: Path, *, recorder: type[Recorder] = Recorder
) -> list[tuple[str, Path, Run]]:
    """Perform a scenario once for each call and each error that it may fail with."""
    (directory / "whole").mkdir()
    calls = perform(scenario, directory / "whole", recorder=recorder).calls
    runs: list[tuple[str, Path, Run]] = []
    for number in (errno.EIO, errno.ENOSPC):
        for at, call in enumerate(calls):
            if number == errno.EIO or call in _TAKES_SPACE:
                place = directory / f"{number} {at}"
                place.mkdir()
                run = perform(scenario, place, recorder=recorder, fault=Fault(at, number))
                assert run.calls[at] == call
                runs.append((call, place / "root", run))
    return runs


@pytest.mark.parametrize("scenario", SCENARIOS, ids=lambda scenario: scenario.name)
def test_what_is_reported_of_a_write_in_which_a_call_fails_is_true(scenario: Scenario, tmp_path: Path) -> None:
    before = Census.take()
    refused = 0
    for call, root, run in failing_runs(scenario, tmp_path):
        refused += not all(isinstance(outcome, WriteReceipt) for outcome in run.outcomes)
        if any(isinstance(outcome, OutcomeUnknown) for outcome in run.outcomes):
            assert scenario.has_foreign
            assert THEIRS.data in [file.data for file in standing(root).values() if file is not None]
        else:
            assert untruths(scenario, run, root, call) == []
    assert refused
    before.wait_until_back()


@pytest.mark.parametrize("scenario", [one for one in SCENARIOS if not one.has_foreign], ids=lambda one: one.name)
def test_a_write_whose_directory_cannot_be_flushed_is_reported_as_not_durable(
    scenario: Scenario, tmp_path: Path
) -> None:
    run = perform(scenario, tmp_path, recorder=WithoutFlushOfDirectories)
    assert untruths(scenario, run, tmp_path / "root", "fsync") == []
    for outcome in run.outcomes:
        assert isinstance(outcome, WriteReceipt)
        assert NoteKind.NOT_DURABLE in [note.kind for note in outcome.notes]


@pytest.mark.parametrize("scenario", SCENARIOS, ids=lambda scenario: scenario.name)
@pytest.mark.parametrize("number", [errno.EIO, errno.EEXIST, errno.ENOENT])
def test_a_publication_that_has_happened_is_no_refusal_though_its_call_failed(
    scenario: Scenario, number: int, tmp_path: Path
) -> None:
    # A network file system repeats a request whose answer was lost, and tells what the second one met.
    (tmp_path / "whole").mkdir()
    whole = perform(scenario, tmp_path / "whole")
    publishing = [at for at, call in enumerate(whole.calls) if call in {"link", "renameat2", "replace"}]
    if not scenario.has_renameat2:
        publishing = [at for at in publishing if whole.calls[at] != "renameat2"]
    assert publishing
    for at in publishing:
        place = tmp_path / str(at)
        place.mkdir()
        run = perform(scenario, place, fault=Fault(at, number, takes_effect=True))
        assert [type(outcome) for outcome in run.outcomes] == [type(outcome) for outcome in whole.outcomes]
        assert untruths(scenario, run, place / "root", "") == []


class WithoutFlushOfDirectories(Recorder):
    """The disk takes files and no directories."""

    def fsync(self, fd: int) -> None:
        if Path(f"/proc/self/fd/{fd}").is_dir():
            raise OSError(errno.EIO, os.strerror(errno.EIO))
        super().fsync(fd)


class InPlace(Recorder):
    """The name cannot be renamed over."""

    def failing(self, name: str) -> int:
        number = super().failing(name)
        return errno.EBUSY if name == "renameat2" else number


def test_a_file_that_was_overwritten_in_part_has_an_unknown_outcome(tmp_path: Path) -> None:
    scenario = by_name["replace by exchange"]
    unknown: set[str] = set()
    for call, root, run in failing_runs(scenario, tmp_path, recorder=InPlace):
        (outcome,) = run.outcomes
        if isinstance(outcome, OutcomeUnknown):
            unknown.add(call)
        else:
            assert untruths(scenario, run, root, call) == []
    assert unknown == {"fstat", "fsync", "ftruncate", "write"}
