"""The directory tree below the root: links resolved by name, then every directory opened without following any.

A path is resolved first, which gives a file its identity. To open it, the resolved names are walked again from the
root's own descriptor and no name on the way may be a link by then, so a directory that is swapped for a link between
the two steps never leads outside.
"""

import errno
import os
import stat
import threading
from collections.abc import Generator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Final, NamedTuple

from backends.local._kernel import open_without_links
from fs_core.errors import InvalidPath, NotFound, NotRegularFile, Operation, Reason, SandboxDenied, Unavailable
from fs_core.paths import has_lone_surrogate

__all__ = [
    "MadeParent",
    "Names",
    "Opened",
    "Tree",
    "directory_below",
    "open_regular",
    "opened_regular",
    "regular_or_refuse",
    "sync_directory",
]

Names = tuple[str, ...]

LINKS_FOLLOWED_MAX: Final = 40
NAME_BYTES_MAX: Final = 255  # NAME_MAX of Linux and of every common file system
_DIRECTORY: Final = os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
_WALK: Final = _DIRECTORY | getattr(os, "O_PATH", os.O_RDONLY)  # needs only search permission, where the kernel can


class Opened(NamedTuple):
    """An open file and its status, taken right after it was opened."""

    fd: int
    status: os.stat_result


class Tree:
    """An opened root directory, for many threads at once."""

    def __init__(self, root: Path) -> None:
        self.real = root.resolve(strict=True)
        self._lock = threading.Lock()
        self._fd: int | None = os.open(self.real, _WALK)

    def close(self) -> None:
        """Release the root; idempotent."""
        with self._lock:
            fd, self._fd = self._fd, None
            if fd is not None:
                os.close(fd)

    def enter(self, *, path: str, operation: Operation) -> int:
        """Return a descriptor of the root for the caller to close, which stays good whoever closes the tree.

        The number of a closed descriptor may be that of another directory at once.
        """
        with self._lock:
            if self._fd is None:
                raise Unavailable("the workspace is closed", path=path, operation=operation)
            return os.dup(self._fd)

    def locate(self, names: Names, *, path: str) -> Names:
        """Return where `names` really is below the root, links followed; what does not exist keeps its name.

        Raises:
            SandboxDenied: a link leads out of the root.
            InvalidPath: more than `LINKS_FOLLOWED_MAX` links.
            NotFound: the path goes through a regular file.
        """
        root = self.enter(path=path, operation="resolve")
        try:
            return self._locate(root, names, path=path)
        finally:
            os.close(root)

    def _locate(self, root: int, names: Names, *, path: str) -> Names:
        done: list[str] = []
        pending = list(reversed(names))
        links = 0
        while pending:
            name = pending.pop()
            if name in {"", "."}:
                continue
            if has_lone_surrogate(name):
                reason = "a symbolic link leads to a name that is not UTF-8"
                raise InvalidPath(reason, path=path, operation="resolve")
            if len(os.fsencode(name)) > NAME_BYTES_MAX:
                raise InvalidPath(Reason.NAME_TOO_LONG, path=path, operation="resolve")
            if name == "..":
                done = self._one_up(done, pending, path=path)
                continue
            done.append(name)
            text = _link_text(root, done, path=path)
            if text is None:
                continue
            links += 1
            if links > LINKS_FOLLOWED_MAX:
                raise InvalidPath("the symbolic links form a loop", path=path, operation="resolve")
            done.pop()
            if text.startswith("/"):
                done = []
                text = "/".join(self._inside(Path(text), path=path))
            pending.extend(reversed(text.split("/")))
        return tuple(done)

    def _one_up(self, done: list[str], pending: list[str], *, path: str) -> list[str]:
        """Follow the `..` of a link; above the root it may still come back in."""
        if done:
            return done[:-1]
        outside = self.real.parent.joinpath(*reversed(pending))
        pending[:] = list(reversed(self._inside(outside, path=path)))
        return []

    def _inside(self, absolute: Path, *, path: str) -> Names:
        """Return `absolute` below the root, or refuse."""
        for candidate in (absolute, _resolved(absolute, path=path)):
            if candidate.is_relative_to(self.real) and ".." not in candidate.parts:
                return candidate.relative_to(self.real).parts
        raise SandboxDenied(f"a symbolic link leads out of the root {self.real}", path=path, operation="resolve")

    @contextmanager
    def parent(self, names: Names, *, path: str, operation: Operation) -> Generator[int]:
        """Give a descriptor of the directory that holds the last of `names`, opened without following a link."""
        fd = self.enter(path=path, operation=operation)
        try:
            for name in names[:-1]:
                fd = _step(fd, name, path=path, operation=operation)
            yield fd
        finally:
            os.close(fd)

    @contextmanager
    def made_parent(self, names: Names, *, path: str) -> Generator["MadeParent"]:
        """As `parent`, but missing directories are made.

        If the block fails, the made directories are removed again, as far as nobody has used them meanwhile.
        """
        parent = MadeParent(self.enter(path=path, operation="write"))
        try:
            for depth, name in enumerate(names[:-1], start=1):
                parent.enter(name, shown="/".join(names[:depth]), path=path)
            yield parent
        except BaseException:
            parent.remove_made()
            raise
        finally:
            parent.close()


def directory_below(root: int, directory: str, *, path: str, operation: Operation) -> int:
    """Open `directory`, a path below an open root or nothing for that itself, for walking on from it.

    It is for the caller to close.
    """
    fd = open_without_links(root, directory or ".", _WALK)
    if fd is not None:
        return fd
    fd = os.dup(root)
    try:
        for name in directory.split("/") if directory else ():
            fd = _step(fd, name, path=path, operation=operation)
    except BaseException:
        os.close(fd)
        raise
    return fd


class MadeParent:
    """The directory of a file that is to be written, with the directories that were made on the way to it.

    What was made is named by the open directory that holds it, never by its path, which may lead elsewhere by now.
    """

    def __init__(self, fd: int) -> None:
        self.fd = fd
        self.made: list[str] = []
        """The made directories as paths from the root, topmost first."""
        self._holders: list[tuple[int, str]] = []

    def enter(self, name: str, *, shown: str, path: str) -> None:
        """Go down into the directory `name`, which is made if it is missing."""
        with suppress(FileExistsError):  # the usual case, and the race of two writers
            os.mkdir(name, dir_fd=self.fd)
            self._remember(name)
            self.made.append(shown)
        self.fd = _step(self.fd, name, path=path, operation="write")

    def _remember(self, name: str) -> None:
        try:
            holder = os.dup(self.fd)
        except OSError:
            os.rmdir(name, dir_fd=self.fd)
            raise
        self._holders.append((holder, name))

    def sync(self) -> str | None:
        """Flush this directory and those that hold the entries of the made ones; return why that did not work."""
        faults = [sync_directory(fd) for fd in (self.fd, *(holder for holder, _ in self._holders))]
        return next((fault for fault in faults if fault is not None), None)

    def remove_made(self) -> None:
        """Remove the made directories, the lowest first, until one is in use by somebody else."""
        for holder, name in reversed(self._holders):
            try:
                os.rmdir(name, dir_fd=holder)
            except OSError:
                return  # somebody else has put something there; it is theirs now

    def close(self) -> None:
        """Release all descriptors."""
        for holder, _ in self._holders:
            os.close(holder)
        os.close(self.fd)


def sync_directory(fd: int) -> str | None:
    """Flush a directory, whatever its descriptor was opened for; return why that did not work."""
    try:
        readable = os.open(".", os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC, dir_fd=fd)
        try:
            os.fsync(readable)
        finally:
            os.close(readable)
    except OSError as error:
        return error.strerror or str(error)
    return None


def _link_text(root: int, names: list[str], *, path: str) -> str | None:
    """Return the text of a link below the directory `root`; `None` for what is no link."""
    try:
        return os.readlink("/".join(names), dir_fd=root)
    except OSError as error:
        if error.errno in {errno.EINVAL, errno.ENOENT}:  # no link, or nothing there
            return None
        if error.errno == errno.ENOTDIR:
            raise NotFound(Reason.THROUGH_FILE, path=path, operation="resolve") from error
        raise


def _resolved(absolute: Path, *, path: str) -> Path:
    try:
        return absolute.resolve()
    except RuntimeError as error:  # what pathlib of Python 3.11 and 3.12 raises for a loop
        raise InvalidPath("the symbolic links form a loop", path=path, operation="resolve") from error


def _step(fd: int, name: str, *, path: str, operation: Operation) -> int:
    """Open the directory `name` in `fd` and close `fd`."""
    try:
        below = os.open(name, _WALK, dir_fd=fd)
    except OSError as error:
        # A link was met; what stands there now may be a directory again, put back in this very moment.
        if error.errno in {errno.ELOOP, errno.ENOTDIR} and _is_link_or_directory(fd, name):
            reason = "a directory was replaced by a symbolic link while it was opened"
            raise SandboxDenied(reason, path=path, operation=operation) from error
        raise
    os.close(fd)
    return below


def _is_link_or_directory(fd: int, name: str) -> bool:
    mode = os.stat(name, dir_fd=fd, follow_symlinks=False).st_mode
    return stat.S_ISLNK(mode) or stat.S_ISDIR(mode)


def regular_or_refuse(status: os.stat_result, *, path: str, operation: Operation) -> None:
    """Raise unless `status`, taken without following a link, is of a regular file."""
    mode = status.st_mode
    if stat.S_ISREG(mode):
        return
    if stat.S_ISLNK(mode):
        raise _replaced_by_link(path=path, operation=operation)
    reason = Reason.IS_DIRECTORY if stat.S_ISDIR(mode) else Reason.IS_SPECIAL
    raise NotRegularFile(reason, path=path, operation=operation)


def _replaced_by_link(*, path: str, operation: Operation) -> SandboxDenied:
    return SandboxDenied("was replaced by a symbolic link while it was opened", path=path, operation=operation)


@contextmanager
def opened_regular(
    parent: int, name: str, *, path: str, operation: Operation, flags: int = os.O_RDONLY
) -> Generator[Opened]:
    """Open a regular file in the directory `parent`, never blocking on a FIFO or device and never following a link."""
    # Looked at before it is opened, since opening a device can have effects; and again on the descriptor.
    regular_or_refuse(os.stat(name, dir_fd=parent, follow_symlinks=False), path=path, operation=operation)
    fd = open_regular(parent, name, path=path, operation=operation, flags=flags)
    try:
        status = os.fstat(fd)
        regular_or_refuse(status, path=path, operation=operation)
        yield Opened(fd, status)
    finally:
        os.close(fd)


def open_regular(parent: int, name: str, *, path: str, operation: Operation, flags: int = os.O_RDONLY) -> int:
    """Open what was just seen to be a regular file; whether it still is one, its descriptor has to tell."""
    try:
        return os.open(name, flags | os.O_NONBLOCK | os.O_NOFOLLOW | os.O_CLOEXEC, dir_fd=parent)
    except OSError as error:
        if error.errno == errno.ELOOP:  # with O_NOFOLLOW: the last name is a link
            raise _replaced_by_link(path=path, operation=operation) from error
        raise
