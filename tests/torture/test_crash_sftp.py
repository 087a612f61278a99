"""Publication over SFTP when the server's machine forgets what was not flushed: never a torn file under the name."""

import itertools
from collections.abc import Callable
from pathlib import Path
from typing import Any, Final

import anyio
import asyncssh
import pytest
from asyncssh import SFTPServer
from asyncssh.constants import FXF_CREAT

from backends.sftp._client import SftpClient
from fs_core.paths import is_staged_name
from fs_core.types import Always, IfAbsent, IfVersion
from tests.support.sftp_servers import SftpHarness, embedded_server, target_of
from tests.torture.crash_model import Acknowledged, Disk, Entries, File, Grow, Node, Op, Page, Sync, crashes

PAGE_BYTES: Final = 4
OLD, NEW = b"old content", b"the new one"


class Log:
    """What the server did, in the words of the model, and which names stand for which nodes."""

    def __init__(self, root: Path) -> None:
        self.trace: list[Op] = []
        self._root = root
        self._numbers = itertools.count()
        self._nodes = {".": Node(next(self._numbers), True)}
        self._open: dict[int, Node] = {}

    def begin(self) -> Disk:
        """Take what stands in the root as durable."""
        files: dict[Node, File] = {}
        for path in self._root.iterdir():
            node = self._nodes[path.name] = Node(next(self._numbers), False)
            files[node] = File(path.read_bytes())
        self.trace.clear()
        root = self._nodes["."]
        return Disk(root, files, {root: {name: node for name, node in self._nodes.items() if name != "."}})

    def made(self, path: bytes, *, is_directory: bool) -> Node:
        node = Node(next(self._numbers), is_directory)
        self._put(self._name(path), node)
        return node

    def opened(self, file: object, path: bytes, *, is_new: bool) -> None:
        name = self._name(path)
        if is_new:
            self.made(path, is_directory=False)
        if name in self._nodes:
            self._open[id(file)] = self._nodes[name]

    def written(self, file: object, offset: int, data: bytes) -> None:
        node = self._open[id(file)]
        for at in range(0, len(data), PAGE_BYTES):
            piece = data[at : at + PAGE_BYTES]
            self.trace += [Page(node, offset + at, piece), Grow(node, offset + at + len(piece))]

    def flushed(self, file: object) -> None:
        self.trace.append(Sync(self._open[id(file)]))

    def linked(self, old: bytes, new: bytes) -> None:
        self._put(self._name(new), self._nodes[self._name(old)])

    def renamed(self, old: bytes, new: bytes) -> None:
        """Note a rename; between two directories it counts as two operations, which is weaker than what disks do."""
        one, other = self._name(old), self._name(new)
        below = [name for name in self._nodes if name.startswith(f"{one}/")]
        self._put(other, self._nodes[one])
        self._put(one, None)
        for name in below:
            self._nodes[other + name[len(one) :]] = self._nodes.pop(name)

    def removed(self, path: bytes) -> None:
        self._put(self._name(path), None)

    def _name(self, path: bytes) -> str:
        return str(Path(path.decode()).relative_to(self._root))

    def _put(self, name: str, node: Node | None) -> None:
        path = Path(name)
        self.trace.append(Entries(self._nodes[str(path.parent)], ((path.name, node),)))
        if node is None:
            del self._nodes[name]
        else:
            self._nodes[name] = node


def recorded(log: Log) -> type[SFTPServer]:
    """Return a handler of requests that notes in `log` what it did."""

    class Recorded(SFTPServer):
        def open(self, path: bytes, pflags: int, attrs: asyncssh.SFTPAttrs) -> object:
            file = super().open(path, pflags, attrs)
            log.opened(file, path, is_new=bool(pflags & FXF_CREAT))
            return file

        def write(self, file_obj: object, offset: int, data: bytes) -> Any:
            log.written(file_obj, offset, data)
            return super().write(file_obj, offset, data)

        def fsync(self, file_obj: object) -> Any:
            log.flushed(file_obj)
            return super().fsync(file_obj)

        def mkdir(self, path: bytes, attrs: asyncssh.SFTPAttrs) -> None:
            super().mkdir(path, attrs)
            log.made(path, is_directory=True)

        def rmdir(self, path: bytes) -> None:
            super().rmdir(path)
            log.removed(path)

        def remove(self, path: bytes) -> None:
            super().remove(path)
            log.removed(path)

        def link(self, oldpath: bytes, newpath: bytes) -> None:
            super().link(oldpath, newpath)
            log.linked(oldpath, newpath)

        def rename(self, oldpath: bytes, newpath: bytes) -> None:
            super().rename(oldpath, newpath)
            log.renamed(oldpath, newpath)

        def posix_rename(self, oldpath: bytes, newpath: bytes) -> None:
            super().posix_rename(oldpath, newpath)
            log.renamed(oldpath, newpath)

    return Recorded


def forgetful(log: Log) -> type[SFTPServer]:
    """Return a handler that says it has flushed and has not."""

    class Forgetful(recorded(log)):
        def fsync(self, file_obj: object) -> None:
            pass

    return Forgetful


def violations(
    directory: Path,
    condition: type[IfAbsent | IfVersion | Always],
    *,
    handler: Callable[[Log], type[SFTPServer]] = recorded,
) -> list[str]:
    """Write once and say of each crash of the server what is wrong after it."""
    served = directory / "served"
    root = served / "root"
    root.mkdir(parents=True)
    if condition is not IfAbsent:
        (root / "a").write_bytes(OLD)
    log = Log(root)
    with embedded_server(served, sftp_factory=handler(log)) as server:
        harness = SftpHarness(server)
        harness.directory = root
        disk = anyio.run(write_once, harness, log, condition)
    assert (root / "a").read_bytes() == NEW
    before = None if condition is IfAbsent else File(OLD)
    return [
        f"{crash}, after {ops[-1:]}"
        for crash, ops in crashes(disk, log.trace).items()
        if not is_whole(dict(crash.tree), before)
    ]


async def write_once(harness: SftpHarness, log: Log, kind: type[IfAbsent | IfVersion | Always]) -> Disk:
    backend = await harness.open_sftp()
    target = await target_of(backend, "a")
    condition = IfAbsent() if kind is IfAbsent else Always()
    if kind is IfVersion:
        condition = IfVersion((await backend.read(target)).version)
    disk = log.begin()
    await backend.write(target, NEW, condition=condition)
    log.trace.append(Acknowledged())
    await backend.aclose()
    return disk


def is_whole(tree: dict[str, File | None], before: File | None) -> bool:
    """Whether the file is the old or the new one, and everything else a leftover with a name that tells so."""
    others = {path.partition("/")[0] for path in tree if path != "a"}
    return tree.get("a") in {before, File(NEW)} and all(is_staged_name(name) for name in others)


every_condition = pytest.mark.parametrize("condition", [IfAbsent, IfVersion, Always])


@every_condition
def test_after_every_crash_of_the_server_the_old_or_the_new_content_stands(
    condition: type[IfAbsent | IfVersion | Always], tmp_path: Path
) -> None:
    assert violations(tmp_path, condition) == []


@every_condition
def test_a_server_that_does_not_flush_is_found(condition: type[IfAbsent | IfVersion | Always], tmp_path: Path) -> None:
    assert violations(tmp_path, condition, handler=forgetful)


@every_condition
def test_a_client_that_does_not_ask_for_a_flush_is_found(
    condition: type[IfAbsent | IfVersion | Always], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(SftpClient, "has_fsync", False)
    assert violations(tmp_path, condition)
