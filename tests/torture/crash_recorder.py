"""What `backends/local` really asks of the kernel during a write, noted at the calls themselves.

A `Recorder` stands in for the module `os` inside that package, for `renameat2`, and for a kernel that lets two files
share blocks: for a crash that is as if they were written. It does what is asked, on a real
directory, and notes it as operations of the crash model. It can make one call fail, and stand for a kernel that cannot
rename without replacing or exchange.
"""

import ctypes
import errno
import os
import stat
from collections.abc import Callable, Generator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, Final

import pytest

from backends.local import _content, _kernel, _lock, _metadata, _publish, _sharing, _staging, _tree, _version
from tests.torture.crash_model import Acknowledged, Disk, Entries, File, Grow, Node, Op, Page, SetMode, Sync, Truncate

__all__ = ["Fault", "Recorder"]

_PAGE_BYTES: Final = 4  # small, so that few bytes make many pages
_RENAME_EXCHANGE: Final = 2  # linux/fs.h
_MODULES: Final = (_content, _lock, _metadata, _publish, _sharing, _staging, _tree, _version)
_READING: Final = frozenset(
    {"access", "dup", "fstat", "getxattr", "listxattr", "open", "pread", "preadv", "scandir", "stat"}
)
_WRITING: Final = frozenset({
    "fchmod", "fchown", "fsync", "ftruncate", "link", "mkdir", "posix_fallocate", "pwrite", "replace", "rmdir",
    "setxattr", "unlink", "write",
})  # fmt: skip


@dataclass(frozen=True, slots=True)
class Fault:
    """Which call fails, counted from 0, with which number of an error, and whether it has taken effect all the same."""

    at: int
    number: int
    takes_effect: bool = False


class Recorder:
    """The trace of all calls between `begin` and `end`, in every thread that makes them one after the other.

    Attributes:
        calls: The names of the calls.
        trace: What they did below the root, in the words of the model.
    """

    def __init__(self, root: Path, *, has_renameat2: bool = True, fault: Fault | None = None) -> None:
        self.calls: list[str] = []
        self.trace: list[Op] = []
        self._root = root
        self._has_renameat2 = has_renameat2
        self._fault = fault
        self._is_on = False
        self._is_other = False
        self._nodes: dict[tuple[int, int], Node] = {}
        self._entries: dict[Node, dict[str, Node]] = {}
        self._count = 0

    @contextmanager
    def installed(self) -> Generator[None]:
        """Stand between the package and the kernel."""
        with pytest.MonkeyPatch.context() as patch:
            for module in _MODULES:
                patch.setattr(module, "os", self)
            real = vars(_kernel)["_renameat2"]
            patch.setattr(_kernel, "_renameat2", partial(self._renameat2, real))
            patch.setattr(_sharing, "share_blocks", self._share_blocks)
            yield

    def begin(self) -> Disk:
        """Take what stands below the root as durable, and note what is done from now on."""
        files: dict[Node, File] = {}
        root = self._new(self._root.stat())
        self._take(self._root, root, files)
        self._is_on = True
        return Disk(root, files, {node: dict(names) for node, names in self._entries.items()})

    def end(self) -> None:
        """Note no more."""
        self._is_on = False

    @contextmanager
    def others(self) -> Generator[None]:
        """Let another program act through this: its operations are noted, its calls are not those that fail."""
        self._is_other = True
        try:
            yield
        finally:
            self._is_other = False

    def acknowledged(self) -> None:
        """Note that somebody is told what came of a write."""
        self.trace.append(Acknowledged())

    def _take(self, directory: Path, node: Node, files: dict[Node, File]) -> None:
        for path in directory.iterdir():
            status = path.lstat()
            child = self._entries[node][path.name] = self._new(status)
            if child.is_directory:
                self._take(path, child, files)
            else:
                files[child] = File(path.read_bytes(), stat.S_IMODE(status.st_mode))

    def _new(self, status: os.stat_result) -> Node:
        self._count += 1
        node = Node(self._count, stat.S_ISDIR(status.st_mode))
        self._nodes[status.st_dev, status.st_ino] = node
        if node.is_directory:
            self._entries[node] = {}
        return node

    def _node(self, fd: int) -> Node | None:
        """Return what an open descriptor is of; `None` outside of the root."""
        status = os.fstat(fd)
        return self._nodes.get((status.st_dev, status.st_ino))

    # -- calls ---------------------------------------------------------------------------------------------------------

    def __getattr__(self, name: str) -> Any:
        function: Any = getattr(os, name)
        return partial(self._do, name, function) if name in _READING | _WRITING else function

    def _do(self, name: str, function: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
        number = self.failing(name)
        result = None if number and not self._takes_effect else function(*args, **kwargs)
        if number:
            raise OSError(number, os.strerror(number))
        return result

    def failing(self, name: str) -> int:
        """Count a call; return the number of the error that it fails with, else 0."""
        if not self._is_on or self._is_other:
            return 0
        self.calls.append(name)
        return self._fault.number if self._fault and self._fault.at == len(self.calls) - 1 else 0

    @property
    def _takes_effect(self) -> bool:
        return self._fault is not None and self._fault.takes_effect

    def _note(self, *ops: Op) -> None:
        if self._is_on:
            self.trace += ops

    def _note_names(self, directory: Node | None, names: dict[str, Node | None]) -> None:
        if directory is None:
            return
        live = self._entries[directory]
        for name, node in names.items():
            if node is None:
                live.pop(name, None)
            else:
                live[name] = node
        self._note(Entries(directory, tuple(names.items())))

    def open(self, path: Any, flags: int, mode: int = 0o777, *, dir_fd: int | None = None) -> int:
        fd: int = self._do("open", os.open, path, flags, mode, dir_fd=dir_fd)
        directory = None if dir_fd is None else self._node(dir_fd)
        if flags & os.O_EXCL and directory is not None:
            status = os.fstat(fd)
            node = self._new(status)
            self._note_names(directory, {path: node})
            self._note(SetMode(node, stat.S_IMODE(status.st_mode)))
        return fd

    def write(self, fd: int, data: bytes) -> int:
        offset = os.lseek(fd, 0, os.SEEK_CUR)
        count: int = self._do("write", os.write, fd, data)
        self._note_data(fd, bytes(data[:count]), offset)
        return count

    def pwrite(self, fd: int, data: bytes, offset: int) -> int:
        count: int = self._do("pwrite", os.pwrite, fd, data, offset)
        self._note_data(fd, bytes(data[:count]), offset)
        return count

    def _share_blocks(self, old: int, new: int, *, start: int, to: int, size_bytes: int) -> bool:
        if self.failing("share_blocks"):
            return False
        data = os.pread(old, size_bytes, start)
        os.pwrite(new, data, to)
        self._note_data(new, data, to)
        return True

    def _note_data(self, fd: int, data: bytes, offset: int) -> None:
        node = self._node(fd)
        if node is None:
            return
        while data:
            piece = data[: _PAGE_BYTES - offset % _PAGE_BYTES]
            self._note(Page(node, offset, piece), Grow(node, offset + len(piece)))
            data, offset = data[len(piece) :], offset + len(piece)

    def ftruncate(self, fd: int, size_bytes: int) -> None:
        self._do("ftruncate", os.ftruncate, fd, size_bytes)
        self._note_file(fd, lambda node: Truncate(node, size_bytes))

    def posix_fallocate(self, fd: int, offset: int, count: int) -> None:
        self._do("posix_fallocate", os.posix_fallocate, fd, offset, count)
        self._note_file(fd, lambda node: Grow(node, offset + count))

    def fchmod(self, fd: int, mode: int) -> None:
        self._do("fchmod", os.fchmod, fd, mode)
        self._note_file(fd, lambda node: SetMode(node, mode))

    def fsync(self, fd: int) -> None:
        self._do("fsync", os.fsync, fd)
        self._note_file(fd, Sync)

    def _note_file(self, fd: int, op: Callable[[Node], Op]) -> None:
        node = self._node(fd)
        if node is not None:
            self._note(op(node))

    def mkdir(self, name: str, mode: int = 0o777, *, dir_fd: int) -> None:
        self._do("mkdir", os.mkdir, name, mode, dir_fd=dir_fd)
        status = os.stat(name, dir_fd=dir_fd, follow_symlinks=False)
        self._note_names(self._node(dir_fd), {name: self._new(status)})

    def rmdir(self, name: str, *, dir_fd: int) -> None:
        self._do("rmdir", os.rmdir, name, dir_fd=dir_fd)
        self._note_names(self._node(dir_fd), {name: None})

    def unlink(self, name: str, *, dir_fd: int) -> None:
        self._do("unlink", os.unlink, name, dir_fd=dir_fd)
        self._note_names(self._node(dir_fd), {name: None})

    def link(self, old: str, new: str, *, src_dir_fd: int, dst_dir_fd: int, follow_symlinks: bool) -> None:
        arguments = {"src_dir_fd": src_dir_fd, "dst_dir_fd": dst_dir_fd, "follow_symlinks": follow_symlinks}
        self._do("link", os.link, old, new, **arguments)
        directory = self._node(dst_dir_fd)
        if directory is not None:
            self._note_names(directory, {new: self._entries[directory][old]})

    def replace(self, old: str, new: str, *, src_dir_fd: int, dst_dir_fd: int) -> None:
        self._do("replace", os.replace, old, new, src_dir_fd=src_dir_fd, dst_dir_fd=dst_dir_fd)
        directory = self._node(dst_dir_fd)
        if directory is not None:
            self._note_names(directory, {new: self._entries[directory][old], old: None})

    def _renameat2(self, real: Callable[..., int] | None, *args: Any) -> int:
        number = self.failing("renameat2")
        if real is None or not self._has_renameat2:
            return _failed(number or errno.EINVAL)
        if number and not self._takes_effect:
            return _failed(number)
        result = real(*args)
        if number:
            return _failed(number)
        directory, old, _, new, flags = args
        node = self._node(directory)
        if result == 0 and node is not None:
            one, other = os.fsdecode(old), os.fsdecode(new)
            names = self._entries[node]
            displaced = names.get(other) if flags & _RENAME_EXCHANGE else None
            self._note_names(node, {other: names[one], one: displaced})
        return result


def _failed(number: int) -> int:
    """Fail as a function of C does."""
    ctypes.set_errno(number)
    return -1
