"""Writes on local disk that are recorded call by call, each way of publishing once."""

import os
import stat
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import anyio
import pytest

from backends.local import LocalBackend, _publish, _sharing, _version, open_local
from backends.options import LocalOptions
from fs_core.errors import FsError
from fs_core.splice import Replacement, Splice
from fs_core.testing.conformance import target_of
from fs_core.types import Always, IfAbsent, IfVersion, WriteCondition, WriteReceipt
from tests.torture.crash_model import Disk, File, Op
from tests.torture.crash_recorder import Fault, Recorder

__all__ = ["SCENARIOS", "THEIRS", "Run", "Scenario", "Write", "perform", "standing"]

_KEPT_MODE: Final = 0o640
_BLOCK_BYTES: Final = 4


def _new_mode() -> int:
    umask = os.umask(0o077)
    os.umask(umask)
    return 0o666 & ~umask


OLD: Final = File(b"old content", _KEPT_MODE)
THEIRS: Final = File(b"by others", _KEPT_MODE)
OURS: Final = File(b"ours, longer", _KEPT_MODE)
NEXT: Final = File(b"next", _KEPT_MODE)
EDITED: Final = File(b"old newtent", _KEPT_MODE)
_EDIT: Final = Splice(OLD.data, (Replacement(4, 7, b"new"),))
NEW: Final = File(b"a new file", _new_mode())
NEWER: Final = File(b"newer", _new_mode())


@dataclass(frozen=True, slots=True)
class Write:
    """One write: a creation, a replacement of what stands there, or, with `Always`, one without a guard.

    With a `splice`, which makes `data` of what stands there, it is a patch.
    """

    path: str
    data: bytes
    condition: type[IfAbsent | IfVersion | Always]
    splice: Splice | None = None


States = Mapping[str, tuple[File | None, ...]]
"""What may stand under each name, `None` for nothing."""


@dataclass(frozen=True, slots=True)
class Scenario:
    """What stands there, durable, and which writes follow.

    Attributes:
        states: One more than reports: from the beginning until the first report, until the second, and so on.
        has_renameat2: Whether the kernel can rename without replacing, and exchange.
        has_foreign: Whether another program renames `theirs` to `a` in the moment before publication. It makes that
            durable and is told so before we are.
    """

    name: str
    old: Mapping[str, File]
    writes: tuple[Write, ...]
    states: tuple[States, ...]
    has_renameat2: bool = True
    has_foreign: bool = False

    @property
    def parents(self) -> frozenset[str]:
        """Return the directories that the writes need."""
        return frozenset(str(parent) for write in self.writes for parent in Path(write.path).parents)


_CREATE = Write("a", NEW.data, IfAbsent)
_REPLACE = Write("a", OURS.data, IfVersion)

SCENARIOS: Final = (
    Scenario("create", {}, (_CREATE,), ({"a": (None, NEW)}, {"a": (NEW,)})),
    Scenario("create by link", {}, (_CREATE,), ({"a": (None, NEW)}, {"a": (NEW,)}), has_renameat2=False),
    Scenario(
        "create with parents",
        {},
        (Write("d/e/a", NEW.data, IfAbsent),),
        ({"d/e/a": (None, NEW)}, {"d/e/a": (NEW,)}),
    ),
    Scenario(
        "create two files in a new directory",
        {},
        (Write("d/a", NEW.data, IfAbsent), Write("d/b", NEWER.data, Always)),
        ({"d/a": (None, NEW), "d/b": (None,)}, {"d/a": (NEW,), "d/b": (None, NEWER)}, {"d/a": (NEW,), "d/b": (NEWER,)}),
    ),
    Scenario("replace by exchange", {"a": OLD}, (_REPLACE,), ({"a": (OLD, OURS)}, {"a": (OURS,)})),
    Scenario("replace by rename", {"a": OLD}, (_REPLACE,), ({"a": (OLD, OURS)}, {"a": (OURS,)}), has_renameat2=False),
    Scenario(  # its first block is shared with the old file
        "patch", {"a": OLD}, (Write("a", EDITED.data, IfVersion, _EDIT),), ({"a": (OLD, EDITED)}, {"a": (EDITED,)})
    ),
    Scenario(
        "replace without a guard",
        {"a": OLD},
        (Write("a", OURS.data, Always),),
        ({"a": (OLD, OURS)}, {"a": (OURS,)}),
    ),
    Scenario(
        "replace twice",
        {"a": OLD},
        (_REPLACE, Write("a", NEXT.data, IfVersion)),
        ({"a": (OLD, OURS)}, {"a": (OURS, NEXT)}, {"a": (NEXT,)}),
    ),
    Scenario(
        "put back after a foreign writer",
        {"a": OLD, "theirs": THEIRS},
        (_REPLACE,),
        (
            {"a": (OLD, THEIRS), "theirs": (THEIRS, None)},
            {"a": (THEIRS, OURS), "theirs": (None,)},
            {"a": (THEIRS,), "theirs": (None,)},
        ),
        has_foreign=True,
    ),
)


@dataclass(frozen=True, slots=True)
class Run:
    """What was durable, what was done after it, and what came of each write."""

    disk: Disk
    trace: tuple[Op, ...]
    calls: tuple[str, ...]
    outcomes: tuple[WriteReceipt | FsError, ...]


def perform(
    scenario: Scenario, directory: Path, *, recorder: type[Recorder] = Recorder, fault: Fault | None = None
) -> Run:
    """Do the writes of a scenario below `directory`, in `root`, which must not exist yet."""
    root = directory / "root"
    root.mkdir()
    for name, file in scenario.old.items():
        (root / name).write_bytes(file.data)
        (root / name).chmod(file.mode)
    one = recorder(root, has_renameat2=scenario.has_renameat2, fault=fault)
    with one.installed(), pytest.MonkeyPatch.context() as patch:
        # Whether a time stamp is old enough to be trusted must not depend on how fast this machine is today.
        patch.setattr(_version, "_TICK_NS", 1 << 62)
        patch.setattr(_sharing, "_BLOCK_BYTES", _BLOCK_BYTES)
        patch.setattr(_sharing, "_SHARED_BYTES_MIN", _BLOCK_BYTES)
        if scenario.has_foreign:
            patch.setattr(_publish, "exchange", _once_before(_publish.exchange, lambda: _replace_by_theirs(one, root)))
        return anyio.run(_perform, scenario, root, one)


async def _perform(scenario: Scenario, root: Path, recorder: Recorder) -> Run:
    backend = await open_local(root, LocalOptions(lock_directory=root.parent / "locks"))
    outcomes: list[WriteReceipt | FsError] = []
    disk = recorder.begin()
    for write in scenario.writes:
        with recorder.others():
            target = await target_of(backend, write.path)
            condition = await _condition(backend, write)
        try:
            if write.splice is not None and isinstance(condition, IfVersion):
                receipt = await backend.patch(target, write.splice, condition=condition)
            else:
                receipt = await backend.write(target, write.data, condition=condition)
            outcomes.append(receipt)
        except FsError as error:
            outcomes.append(error)
        recorder.acknowledged()
    recorder.end()
    await backend.aclose()
    return Run(disk, tuple(recorder.trace), tuple(recorder.calls), tuple(outcomes))


async def _condition(backend: LocalBackend, write: Write) -> WriteCondition:
    if write.condition is IfVersion:
        return IfVersion((await backend.read(await target_of(backend, write.path))).version)
    return IfAbsent() if write.condition is IfAbsent else Always()


def standing(root: Path) -> dict[str, File | None]:
    """Return what really stands below a directory, as a tree of the model."""
    return {
        str(path.relative_to(root)): File(path.read_bytes(), stat.S_IMODE(path.stat().st_mode))
        if path.is_file()
        else None
        for path in root.rglob("*")
    }


def _once_before(function: Callable[..., bool], action: Callable[[], None]) -> Callable[..., bool]:
    pending = [action]

    def wrapped(*args: object) -> bool:
        if pending:
            pending.pop()()
        return function(*args)

    return wrapped


def _replace_by_theirs(recorder: Recorder, root: Path) -> None:
    directory = os.open(root, os.O_RDONLY)
    try:
        with recorder.others():
            recorder.replace("theirs", "a", src_dir_fd=directory, dst_dir_fd=directory)
            recorder.fsync(directory)
        recorder.acknowledged()
    finally:
        os.close(directory)
