"""The reference backend: a store in this process, as simple as the contract allows."""

from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import count
from typing import ClassVar, Final

from anyio.lowlevel import checkpoint

from fs_core.digest import content_digest
from fs_core.errors import (
    InvalidPath,
    NotDirectory,
    NotFound,
    NotRegularFile,
    Operation,
    Reason,
    StaleVersion,
    TooLarge,
    Unavailable,
)
from fs_core.paths import Root, RootedPath, display, is_staged_name
from fs_core.protocol import Backend, Capabilities, Guard
from fs_core.testing.harness import StoreHarness
from fs_core.types import (
    Always,
    Entry,
    FileInfo,
    FileKind,
    IfAbsent,
    IfVersion,
    Listing,
    Note,
    NoteKind,
    Snapshot,
    Target,
    TargetKey,
    Version,
    WriteCondition,
    WriteReceipt,
)

__all__ = ["MemoryBackend", "MemoryHarness", "MemoryStore"]

WRITE_SIZE_BYTES_MAX: Final = 512 << 20
NAME_BYTES_MAX: Final = 255


@dataclass(frozen=True, slots=True)
class _File:
    data: bytes
    version: Version


@dataclass(slots=True)
class MemoryStore:
    """Files and directories by path; several backends may share one."""

    files: dict[str, _File] = field(default_factory=dict[str, _File])
    directories: set[str] = field(default_factory=lambda: {"."})
    _revisions: Iterator[int] = field(default_factory=count)

    def put(self, path: str, data: bytes) -> Version:
        """Make or replace a file under a new version; its directories must exist."""
        version = Version(token=str(next(self._revisions)), digest=content_digest(data))
        self.files[path] = _File(data, version)
        return version

    def make_parents(self, path: str) -> list[str]:
        """Make the missing directories above `path` and return them, topmost first."""
        made = [parent for parent in _parents(path) if parent not in self.directories]
        self.directories.update(made)
        return made

    def names(self, path: str) -> dict[str, FileInfo]:
        """Return what stands directly in the directory `path`."""
        prefix = "" if path == "." else f"{path}/"
        files = {
            name.removeprefix(prefix): FileInfo(FileKind.FILE, len(file.data), file.version)
            for name, file in self.files.items()
            if name.startswith(prefix) and "/" not in name.removeprefix(prefix)
        }
        directories = {
            name.removeprefix(prefix): FileInfo(FileKind.DIRECTORY)
            for name in self.directories
            if name not in {".", path} and name.startswith(prefix) and "/" not in name.removeprefix(prefix)
        }
        return {**files, **directories}


class MemoryBackend(Backend):
    """A `MemoryStore` behind the seam. Every operation happens between two checkpoints, so it is atomic by itself."""

    scheme: ClassVar[str] = "memory"

    def __init__(self, store: MemoryStore | None = None, *, name: str = "") -> None:
        self._store = store if store is not None else MemoryStore()
        self._root = Root(url=f"memory://{name}", prefixes=(f"memory://{name}".rstrip("/"),))
        self._is_closed = False

    @property
    def root(self) -> Root:
        """Return the root of the store."""
        return self._root

    @property
    def capabilities(self) -> Capabilities:
        """Everything is atomic here."""
        return Capabilities(create=Guard.NATIVE, replace=Guard.NATIVE, write_size_bytes_max=WRITE_SIZE_BYTES_MAX)

    async def resolve(self, path: RootedPath) -> Target:
        """Return the path itself: there are no links."""
        await self._enter(display(path.names), "resolve")
        if any(len(name.encode()) > NAME_BYTES_MAX for name in path.names):
            raise InvalidPath(Reason.NAME_TOO_LONG, path=display(path.names), operation="resolve")
        target = Target(key=TargetKey(display(path.names)), display_path=display(path.names))
        self._refuse_path_through_file(target, "resolve")
        return target

    async def stat(self, target: Target) -> FileInfo | None:
        """Return what is there now."""
        await self._enter(target.display_path, "stat")
        if target.key in self._store.directories:
            return FileInfo(FileKind.DIRECTORY)
        file = self._store.files.get(target.key)
        return None if file is None else FileInfo(FileKind.FILE, len(file.data), file.version)

    async def read(
        self, target: Target, *, offset: int = 0, limit: int | None = None, pinned: Version | None = None
    ) -> Snapshot:
        """Return a slice of the present version."""
        await self._enter(target.display_path, "read")
        file = self._file(target, "read")
        if pinned is not None and pinned != file.version:
            raise StaleVersion(Reason.CHANGED_WHILE_READ, path=target.display_path, operation="read")
        data = file.data[offset : None if limit is None else offset + limit]
        return Snapshot(data=data, offset=offset, size_bytes=len(file.data), version=file.version)

    async def list(self, target: Target, *, limit: int) -> Listing:
        """Return the entries of a directory."""
        await self._enter(target.display_path, "list")
        if target.key not in self._store.directories:
            if target.key in self._store.files:
                raise NotDirectory(Reason.IS_NOT_DIRECTORY, path=target.display_path, operation="list")
            raise NotFound(Reason.NO_SUCH_DIRECTORY, path=target.display_path, operation="list")
        names = self._store.names(target.key).items()
        found = sorted((name, info) for name, info in names if not is_staged_name(name))
        entries = tuple(Entry(name, info.kind, info.size_bytes) for name, info in found[:limit])
        return Listing(entries=entries, is_complete=len(found) <= limit)

    def child(self, directory: Target, name: str) -> Target:
        """Return the path of a name."""
        path = name if directory.key == "." else f"{directory.key}/{name}"
        return Target(key=TargetKey(path), display_path=path)

    async def write(self, target: Target, data: bytes, *, condition: WriteCondition) -> WriteReceipt:
        """Replace the file if the condition holds."""
        await self._enter(target.display_path, "write")
        if len(data) > WRITE_SIZE_BYTES_MAX:
            raise TooLarge(f"more than {WRITE_SIZE_BYTES_MAX} bytes", path=target.display_path, operation="write")
        if target.key in self._store.directories:
            raise NotRegularFile(Reason.IS_DIRECTORY, path=target.display_path, operation="write")
        self._refuse_path_through_file(target, "write")
        self._refuse_unless(condition, target)
        created = target.key not in self._store.files
        made = self._store.make_parents(target.key)
        notes = (Note(NoteKind.PARENTS_CREATED, ", ".join(made)),) if made else ()
        return WriteReceipt(version=self._store.put(target.key, data), created=created, notes=notes)

    async def aclose(self) -> None:
        """Answer nothing any more; idempotent. The store is kept: it belongs to whoever made it."""
        self._is_closed = True

    async def _enter(self, path: str, operation: Operation) -> None:
        """Let others run, and refuse what comes after `aclose`."""
        await checkpoint()
        if self._is_closed:
            raise Unavailable("the workspace is closed", path=path, operation=operation)

    def _file(self, target: Target, operation: Operation) -> _File:
        if target.key in self._store.directories:
            raise NotRegularFile(Reason.IS_DIRECTORY, path=target.display_path, operation=operation)
        file = self._store.files.get(target.key)
        if file is None:
            raise NotFound(Reason.NO_SUCH_FILE, path=target.display_path, operation=operation)
        return file

    def _refuse_path_through_file(self, target: Target, operation: Operation) -> None:
        for parent in _parents(target.key):
            if parent in self._store.files:
                raise NotFound(Reason.THROUGH_FILE, path=target.display_path, operation=operation)

    def _refuse_unless(self, condition: WriteCondition, target: Target) -> None:
        file = self._store.files.get(target.key)
        match condition:
            case Always():
                return
            case IfAbsent():
                holds, reason = file is None, Reason.EXISTS
            case IfVersion(version=version):
                holds = file is not None and version.same_content(file.version) is True
                reason = Reason.DELETED if file is None else Reason.CHANGED
        if not holds:
            raise StaleVersion(reason, path=target.display_path, operation="write")


def _parents(path: str) -> list[str]:
    """Return the directories above `path` but for the root, topmost first."""
    names = path.split("/")[:-1]
    return ["/".join(names[: index + 1]) for index in range(len(names))]


class MemoryHarness(StoreHarness):
    """A `MemoryStore` under test."""

    def __init__(self) -> None:
        self._store = MemoryStore()

    async def open(self) -> Backend:
        """Return another backend on the same store."""
        return MemoryBackend(self._store)

    def put(self, path: str, data: bytes) -> None:
        """Make or replace a file."""
        self._store.make_parents(path)
        self._store.put(path, data)

    def get(self, path: str) -> bytes | None:
        """Return a file's bytes."""
        file = self._store.files.get(path)
        return None if file is None else file.data

    def delete(self, path: str) -> None:
        """Remove a file or directory."""
        if self._store.files.pop(path, None) is None:
            self._store.directories.remove(path)

    def mkdir(self, path: str) -> None:
        """Make a directory and its parents."""
        self._store.make_parents(f"{path}/child")

    def names(self, path: str = ".") -> list[str]:
        """List a directory."""
        return sorted(self._store.names(path))
