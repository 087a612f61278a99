"""What the reports tell in prose, done for real: other writers, killed writers, full disks, cut connections."""

import errno
import os
import shutil
import subprocess
import sys
import tempfile
import threading
from collections.abc import AsyncGenerator, Callable, Generator, Mapping
from contextlib import AbstractAsyncContextManager, asynccontextmanager, contextmanager
from pathlib import Path
from types import MappingProxyType
from typing import Any, Final, NoReturn, cast

from backends.local import _publish
from backends.local._kernel import exchange
from backends.s3._client import S3Client
from backends.sftp._client import SftpClient
from backends.sftp._lock import HeldLock
from fs_core.digest import content_digest
from fs_core.protocol import Backend, Scanned, Sink
from fs_core.splice import Splice
from fs_core.testing.conformance import target_of
from fs_core.testing.delegating import DelegatingBackend
from fs_core.testing.harness import DirectoryHarness, StoreHarness
from fs_core.types import FileInfo, IfVersion, Snapshot, Target, Version, WriteCondition, WriteReceipt
from tests.cases.case_table import External
from tests.cases.report_stage import Stage
from tool_runtime import ToolFailure, ToolSuccess

__all__ = ["EVENTS", "LOCAL_EVENTS", "SCENES", "Event"]

Event = Callable[[Stage], AbstractAsyncContextManager[None]]
"""Begins where the case tells of it and ends with the case, checking that it really happened."""

_REPLACEMENTS: Final = 20
_REPLACEMENTS_MAX: Final = 1_000
_LOOKS_MIN: Final = 5
_SWAPPED_WRITES_MIN: Final = 100
_SWAPPED_WRITES_MAX: Final = 5_000


# -- other writers -------------------------------------------------------------------------------------------------


def _at_once(change: Callable[[Stage], None]) -> Event:
    """Return the event that is over when it has begun."""

    @asynccontextmanager
    async def happen(stage: Stage) -> AsyncGenerator[None]:
        change(stage)
        yield

    return happen


def _writes(path: str, text: str) -> Event:
    return _at_once(lambda stage: stage.root.change(External(external={"write": (path, text)})))


def _rewrite_with_same_bytes(stage: Stage) -> None:
    content = stage.harness.get("t.rb")
    assert content is not None
    stage.harness.delete("t.rb")
    stage.harness.put("t.rb", content)


def _write_and_restore_time(stage: Stage) -> None:
    stage.root.change(External(external={"write_keep_mtime": ("c.txt", "b\n")}))


def _change_line_three(stage: Stage) -> None:
    content = stage.harness.get("long.py")
    assert content is not None
    stage.harness.put("long.py", content.replace(b"v2=1\n", b"v2 = 1\n"))


def _truncate_time_to_seconds(stage: Stage) -> None:
    file = _directory(stage.harness) / "w.txt"
    status = file.stat()
    whole_ns = status.st_mtime_ns // 1_000_000_000 * 1_000_000_000
    os.utime(file, ns=(status.st_atime_ns, whole_ns))
    assert file.stat().st_mtime_ns == whole_ns


@asynccontextmanager
async def _write_between_check_and_publish(stage: Stage) -> AsyncGenerator[None]:
    stage.before_write.append(lambda: stage.harness.put("n.md", b"alpha\nBETA\n"))
    stage.changed_during_call = True
    yield
    assert stage.before_write == []


@asynccontextmanager
async def _appear_after_a_listing(stage: Stage) -> AsyncGenerator[None]:
    stage.harness.put("p/1.txt", b"1\n")
    listing = await stage.backend.list(await target_of(stage.backend, "p"), limit=10)
    assert [entry.name for entry in listing.entries] == ["1.txt"]
    stage.harness.put("p/2.txt", b"2\n")
    yield


@asynccontextmanager
async def _replace_after_first_range(stage: Stage) -> AsyncGenerator[None]:
    """Replace the object when the first of its ranges is being read; what is shown must be of one version."""
    feed = S3Client.feed
    newer = b"b" * 9_000_000
    ranges: list[int] = []

    async def replacing(self: S3Client, key: str, sink: Callable[[bytes], None], **which: Any) -> None:
        ranges.append(which["offset"])
        if len(ranges) == 2:
            stage.harness.put("rng.txt", newer)
        await feed(self, key, sink, **which)

    stage.patch.setattr(S3Client, "feed", replacing)
    yield
    assert ranges.count(0) == 2
    [played] = stage.played
    assert isinstance(played.result, ToolSuccess)
    value = cast("dict[str, Any]", played.result.value)
    assert value["version"] == content_digest(newer)
    assert value["lines"][0]["text"].strip("b") == ""


# -- readers and swapped directories -------------------------------------------------------------------------------


@asynccontextmanager
async def _reader_beside_many_replacements(stage: Stage) -> AsyncGenerator[None]:
    """Read the file without pause while it is replaced many times, and while the case edits it."""
    lengths: list[int] = []

    def look() -> None:
        content = stage.harness.get("rd.txt")
        lengths.append(-1 if content is None else len(content))

    with _repeated(look):
        number = 0
        while number < _REPLACEMENTS or (len(lengths) < _LOOKS_MIN and number < _REPLACEMENTS_MAX):
            content = "sr"[number % 2] * 2_000_000
            result = await stage.call("write", file_path="rd.txt", content=content)
            assert isinstance(result, ToolSuccess)
            number += 1
        yield
    assert len(lengths) >= _LOOKS_MIN
    assert set(lengths) == {2_000_000}


@asynccontextmanager
async def _directory_swapped_for_a_link_out(stage: Stage) -> AsyncGenerator[None]:
    """Exchange `a` and a link to an outside folder without pause during many writes; leave the link there."""
    root = _directory(stage.harness)
    outside = root.parent / "outside"
    outside.mkdir()
    (outside / "x.txt").write_bytes(b"theirs\n")
    (root / "b").symlink_to(outside)
    codes: set[str | None] = set()
    with _opened_directory(root) as fd:
        with _repeated(lambda: exchange(fd, "a", "b")):
            for number in range(_SWAPPED_WRITES_MAX):
                result = await stage.call("write", file_path=f"a/{number}.txt", content="2\n")
                codes.add(result.code if isinstance(result, ToolFailure) else None)
                if number >= _SWAPPED_WRITES_MIN and len(codes) > 1:
                    break
        if not (root / "a").is_symlink():
            exchange(fd, "a", "b")
    assert codes == {None, "FS_SANDBOX_DENIED"}, codes
    yield
    assert {file.name: file.read_bytes() for file in outside.iterdir()} == {"x.txt": b"theirs\n"}


@contextmanager
def _repeated(action: Callable[[], object]) -> Generator[None]:
    """Do something again and again on a thread until the block ends; what it raises is raised there."""
    stopped = threading.Event()
    faults: list[Exception] = []

    def run() -> None:
        try:
            while not stopped.is_set():
                action()
        except Exception as error:  # noqa: BLE001 - handed to the test's own thread
            faults.append(error)

    thread = threading.Thread(target=run)
    thread.start()
    try:
        yield
    finally:
        stopped.set()
        thread.join()
    if faults:
        raise faults[0]


@contextmanager
def _opened_directory(directory: Path) -> Generator[int]:
    fd = os.open(directory, os.O_RDONLY | os.O_DIRECTORY)
    try:
        yield fd
    finally:
        os.close(fd)


# -- killed writers, full disks, mounts ----------------------------------------------------------------------------

_WRITE_HALF: Final = """
import anyio, os, sys
from pathlib import Path
from backends.local import open_local
from backends.options import LocalOptions
from fs_core.testing.conformance import target_of
from fs_core.types import Always

SIZE = 64 << 20
write, written = os.write, 0

def stop_half_way(fd, data):
    global written
    written += (count := write(fd, data))
    if written >= SIZE // 2:
        print(flush=True)
        sys.stdin.read()
    return count

async def main():
    backend = await open_local(Path(sys.argv[1]), LocalOptions())
    target = await target_of(backend, sys.argv[2])
    os.write = stop_half_way
    await backend.write(target, b"n" * SIZE, condition=Always())

anyio.run(main)
"""


def _kill_a_writer_half_way(directory: Path, name: str) -> None:
    arguments = [sys.executable, "-c", _WRITE_HALF, str(directory), name]
    with subprocess.Popen(arguments, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as writer:
        assert writer.stdout is not None
        assert writer.stdout.readline() == b"\n"
        writer.kill()


@asynccontextmanager
async def _killed_while_writing(stage: Stage) -> AsyncGenerator[None]:
    """Kill another process in the middle of a large write: the old file is there, and nothing else is listed."""
    old = stage.harness.get("big.bin")
    _kill_a_writer_half_way(_directory(stage.harness), "big.bin")
    assert len(stage.harness.names()) == 2
    listing = await stage.backend.list(await target_of(stage.backend, "."), limit=10)
    assert [entry.name for entry in listing.entries] == ["big.bin"]
    assert stage.harness.get("big.bin") == old
    yield


@asynccontextmanager
async def _full_disk(stage: Stage) -> AsyncGenerator[None]:
    """Put the workspace on a file system of 64 KiB; where nobody may mount one, let the kernel's answer be that."""

    def full(fd: int, data: object) -> NoReturn:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    directory = _directory(stage.harness)
    files = {name: stage.harness.get(name) for name in stage.harness.names()}
    with _mounted(["-t", "tmpfs", "-o", "size=64k", "tmpfs"], directory) as is_mounted:
        if is_mounted:
            for name, content in files.items():
                stage.harness.put(name, content or b"")
        else:
            stage.patch.setattr("backends.local._staging.os.write", full)
        yield


@asynccontextmanager
async def _mount_point(stage: Stage) -> AsyncGenerator[None]:
    """Make the file a mount point of its own; where nobody may mount, let the kernel's answer be that of one."""

    def busy(directory: int, one: str, other: str) -> NoReturn:
        raise OSError(errno.EBUSY, os.strerror(errno.EBUSY))

    file = _directory(stage.harness) / "cfg.yml"
    with tempfile.TemporaryDirectory() as elsewhere:
        source = Path(elsewhere) / "cfg.yml"
        shutil.copy(file, source)
        with _mounted(["--bind", str(source)], file) as is_mounted:
            if not is_mounted:
                stage.patch.setattr(_publish, "exchange", busy)
            yield


@contextmanager
def _mounted(arguments: list[str], place: Path) -> Generator[bool]:
    """Mount something until the block ends; false where that is not allowed."""
    mount = shutil.which("mount")
    is_mounted = (
        mount is not None
        and os.geteuid() == 0
        and subprocess.run([mount, *arguments, str(place)], capture_output=True, check=False).returncode == 0
    )
    try:
        yield is_mounted
    finally:
        if is_mounted:
            subprocess.run(["umount", str(place)], check=True)


# -- names that fold letter case -----------------------------------------------------------------------------------


class _CaseFolding(DelegatingBackend):
    """Opens a file by its name in any letter case, as the kernel does on a file system that folds it."""

    async def stat(self, target: Target) -> FileInfo | None:
        return await super().stat(await self._real(target))

    async def read(
        self, target: Target, *, offset: int = 0, limit: int | None = None, pinned: Version | None = None
    ) -> Snapshot:
        return await super().read(await self._real(target), offset=offset, limit=limit, pinned=pinned)

    async def read_whole(self, target: Target, *, size_bytes_max: int) -> Snapshot:
        return await super().read_whole(await self._real(target), size_bytes_max=size_bytes_max)

    async def scan(self, target: Target, sink: Sink) -> Scanned:
        return await super().scan(await self._real(target), sink)

    async def write(self, target: Target, data: bytes, *, condition: WriteCondition) -> WriteReceipt:
        return await super().write(await self._real(target), data, condition=condition)

    async def patch(self, target: Target, splice: Splice, *, condition: IfVersion) -> WriteReceipt:
        return await super().patch(await self._real(target), splice, condition=condition)

    async def _real(self, target: Target) -> Target:
        listing = await self.list(await target_of(self, "."), limit=10)
        folded = target.display_path.casefold()
        names = [entry.name for entry in listing.entries if entry.name.casefold() == folded]
        return await target_of(self, names[0]) if names else target


def _fold_case(stage: Stage) -> None:
    def wrap(backend: Backend) -> Backend:
        return _CaseFolding(backend)

    stage.wraps.append(wrap)


# -- cut connections -----------------------------------------------------------------------------------------------


@asynccontextmanager
async def _cut_connection(stage: Stage) -> AsyncGenerator[None]:
    assert stage.relay is not None
    before = stage.relay.accepted
    stage.relay.cut()
    yield
    assert stage.relay.accepted == before + 1


@asynccontextmanager
async def _cut_before_rename(stage: Stage) -> AsyncGenerator[None]:
    """Cut the connection when the upload is complete and about to be renamed onto the target."""
    relay = stage.relay
    assert relay is not None
    publish = HeldLock.publish
    uploads: list[str] = []

    def cut_and_publish(self: HeldLock, client: SftpClient, target: str) -> None:
        uploads.append(self.path)
        assert Path(self.path).read_bytes() == b"2\n"
        relay.cut()
        publish(self, client, target)

    stage.patch.setattr(HeldLock, "publish", cut_and_publish)
    yield
    assert len(uploads) == 1


def _directory(harness: StoreHarness) -> Path:
    assert isinstance(harness, DirectoryHarness)
    return harness.directory


SCENES: Mapping[str, Event] = MappingProxyType(
    {
        "case-folding fs": _at_once(_fold_case),
        "file is itself a mount point, or os.replace is patched to raise EBUSY/EXDEV": _mount_point,
        "kill transport before rename": _cut_before_rename,
        "tmpfs of a few KB or patched write raising ENOSPC": _full_disk,
    }
)
"""What is so before the workspace is opened, by the note of a file."""

EVENTS: Mapping[str, Event] = MappingProxyType(
    {
        "another client puts late.txt": _writes("late.txt", "late\n"),
        "change line 3 only": _at_once(_change_line_three),
        "drop the TCP connection": _cut_connection,
        "hook: between version check and publish, another process writes 'alpha\\nBETA\\n'": (
            _write_between_check_and_publish
        ),
        "other process adds p/2.txt after our ls of p": _appear_after_a_listing,
        "reader loops open/read/len during 200 edits": _reader_beside_many_replacements,
        "replace object after the first range": _replace_after_first_range,
        "rewrite t.rb with same bytes": _at_once(_rewrite_with_same_bytes),
        "set mtime to same second, ns=0": _at_once(_truncate_time_to_seconds),
        "SIGKILL while writing 200 MB": _killed_while_writing,
        "thread swaps root/a between a dir and a link to an outside folder during 10k writes": (
            _directory_swapped_for_a_link_out
        ),
        "write c.txt: 'b\\n' and restore the old mtime and size": _at_once(_write_and_restore_time),
        "write f.py: 'x = 1\\ny=2\\n'": _writes("f.py", "x = 1\ny=2\n"),
        "write g.txt: 'a2\\nb\\n'": _writes("g.txt", "a2\nb\n"),
    }
)
"""What happens between two calls or during the next one, by its prose."""

LOCAL_EVENTS: Final = frozenset(
    {
        "case-folding fs",
        "file is itself a mount point, or os.replace is patched to raise EBUSY/EXDEV",
        "reader loops open/read/len during 200 edits",
        "set mtime to same second, ns=0",
        "SIGKILL while writing 200 MB",
        "thread swaps root/a between a dir and a link to an outside folder during 10k writes",
        "tmpfs of a few KB or patched write raising ENOSPC",
    }
)
"""What is about the kernel of this machine, or takes too long elsewhere."""
