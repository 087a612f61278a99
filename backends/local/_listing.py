"""The names in an open directory: one by one with what they lead to, or all at once by their kinds."""

import errno
import os
import stat
from bisect import bisect_left
from collections.abc import Callable, Iterable, Iterator, Sequence
from heapq import nsmallest
from itertools import islice
from typing import Final

from backends._workers import WorkerCall
from backends.local._errors import refusal_of_one
from backends.local._kernel import open_without_links
from backends.local._tree import directory_below
from fs_core.errors import FsError, NotDirectory, Reason
from fs_core.paths import has_lone_surrogate, is_staged_name
from fs_core.types import Entry, FileKind, Level, Listing, Target

__all__ = ["KINDS", "NamesByKind", "levels", "listing_of", "open_names"]

KINDS: Final = {stat.S_IFREG: FileKind.FILE, stat.S_IFDIR: FileKind.DIRECTORY}
_READ: Final = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
_STAGED_BEGINNING: Final = ".seamfs-"
_NAMES_AT_ONCE: Final = 10_000
"""After so many names of one directory a cancellation is looked for."""


def open_names(parent: int, name: str, *, path: str) -> int:
    """Open what is called `name` in the directory `parent`, which is itself without a name, if it is a directory.

    Raises:
        NotDirectory: something else, a link too, stands there.
    """
    try:
        return os.open(name or ".", _READ, dir_fd=parent)
    except OSError as error:
        if error.errno in {errno.ENOTDIR, errno.ELOOP}:
            raise NotDirectory(Reason.IS_NOT_DIRECTORY, path=path, operation="list") from error
        raise


def listing_of(fd: int, *, limit: int) -> Listing:
    """Return the first entries of a directory; of links it is told what they lead to."""
    with os.scandir(fd) as found:
        first = nsmallest(limit + 1, (each for each in found if not is_staged_name(each.name)), key=_name)
        entries = sorted((_entry(each) for each in first[:limit]), key=_name)
    return Listing(entries=tuple(entries), is_complete=len(first) <= limit)


def levels(
    root: int, directories: Sequence[tuple[Target, str]], *, entries_max: int, with_sizes: bool, call: WorkerCall
) -> list[Level | FsError]:
    """Return the names of each directory by their kinds, or why they cannot be told.

    Args:
        root: A descriptor of the root.
        directories: Each with its path below the root, which is empty for that itself.
        entries_max: How many names of one are told.
        with_sizes: Whether sizes of files are told.
        call: Is asked before each whether to go on.

    Raises:
        Unavailable: none can be told.
    """
    found: list[Level | FsError] = []
    for target, below in directories:
        call.check()
        try:
            fd = _open_below(root, below, path=target.display_path)
            try:
                found.append(_level(fd, entries_max=entries_max, with_sizes=with_sizes, call=call))
            finally:
                os.close(fd)
        except (OSError, FsError) as error:
            found.append(refusal_of_one(error, path=target.display_path, operation="list"))
    return found


def _open_below(root: int, below: str, *, path: str) -> int:
    fd = open_without_links(root, below or ".", _READ)
    if fd is not None:
        return fd
    above, _, name = below.rpartition("/")
    parent = directory_below(root, above, path=path, operation="list")
    try:
        return open_names(parent, name, path=path)
    finally:
        os.close(parent)


class NamesByKind:
    """Names of a directory by their kinds, as the kernel tells them without a look at each."""

    __slots__ = ("directories", "files", "is_complete", "others")

    def __init__(self) -> None:
        self.files: list[str] = []
        self.directories: list[str] = []
        self.others: list[os.DirEntry[str]] = []
        self.is_complete = True

    def take(self, entries: Iterable["os.DirEntry[str]"]) -> int:
        """Add entries and return how many are there now."""
        files, directories, others = self.files, self.directories, self.others
        for entry in entries:
            if entry.is_file(follow_symlinks=False):
                files.append(entry.name)
            elif entry.is_dir(follow_symlinks=False):
                directories.append(entry.name)
            else:
                others.append(entry)
        return len(files) + len(directories) + len(others)

    def take_first(self, entries: Iterator["os.DirEntry[str]"], *, names_max: int, on_step: Callable[[], None]) -> None:
        """Add the first entries by name, in memory for a few times as many; what `on_step` raises ends that."""
        before = 0
        while (count := self.take(islice(entries, _NAMES_AT_ONCE))) == before + _NAMES_AT_ONCE:
            on_step()
            before = self.settle(names_max) if count > 2 * names_max else count
        self.settle(names_max)

    def settle(self, names_max: int) -> int:
        """Sort, leave staged files out, keep the first names, and return how many are left."""
        files, directories, others = self.files, self.directories, self.others
        files.sort()
        _drop_staged(files)
        if directories:
            directories.sort()
            _drop_staged(directories)
        if others:
            others[:] = sorted((each for each in others if not is_staged_name(each.name)), key=_name)
        count = len(files) + len(directories) + len(others)
        if count <= names_max:
            return count
        self.is_complete = False
        end = sorted([*files, *directories, *map(_name, others)])[names_max]
        del files[bisect_left(files, end) :]
        del directories[bisect_left(directories, end) :]
        del others[bisect_left(others, end, key=_name) :]
        return names_max


def _level(fd: int, *, entries_max: int, with_sizes: bool, call: WorkerCall) -> Level:
    names = NamesByKind()
    with os.scandir(fd) as found:
        names.take_first(found, names_max=entries_max, on_step=call.check)
        others = [_other(each) for each in names.others]
    files, directories = names.files, names.directories
    if not ("".join(files).isascii() and "".join(directories).isascii()):
        files, odd = _addressable(files, FileKind.FILE)
        directories, more = _addressable(directories, FileKind.DIRECTORY)
        others = sorted([*others, *odd, *more], key=_name)
    sizes = [_size_bytes(fd, name, call) for name in files] if with_sizes else None
    return Level(files, directories, others, sizes, names.is_complete)


def _drop_staged(names: list[str]) -> None:
    """Remove the names of staged files, which stand together, from sorted ones."""
    first = bisect_left(names, _STAGED_BEGINNING)
    if first < len(names) and names[first].startswith(_STAGED_BEGINNING):
        names[first:] = [name for name in names[first:] if not is_staged_name(name)]


def _addressable(names: list[str], kind: FileKind) -> tuple[list[str], list[Entry]]:
    """Return the names that are text, and entries for those that are not."""
    odd = [Entry(_shown(name), kind, addressable=False) for name in names if has_lone_surrogate(name)]
    return [name for name in names if not has_lone_surrogate(name)] if odd else names, odd


def _shown(name: str) -> str:
    return os.fsencode(name).decode("utf-8", "backslashreplace")


def _size_bytes(fd: int, name: str, call: WorkerCall) -> int | None:
    call.check()
    try:
        return os.stat(name, dir_fd=fd, follow_symlinks=False).st_size
    except OSError:  # removed meanwhile
        return None


def _other(entry: "os.DirEntry[str]") -> Entry:
    name = _shown(entry.name)
    return Entry(name, FileKind.OTHER, addressable=name == entry.name, is_link=entry.is_symlink())


def _entry(entry: "os.DirEntry[str]") -> Entry:
    name = _shown(entry.name)
    addressable, is_link = name == entry.name, entry.is_symlink()
    try:
        status = entry.stat()
    except OSError:  # a link to nothing or in a loop, or removed while the directory was listed
        return Entry(name, FileKind.OTHER, addressable=addressable, is_link=is_link)
    kind = KINDS.get(stat.S_IFMT(status.st_mode), FileKind.OTHER)
    # The size of what a link leads to is told by a stat of that, if it is inside the root.
    size = status.st_size if kind is FileKind.FILE and not is_link else None
    return Entry(name, kind, size_bytes=size, addressable=addressable, is_link=is_link)


def _name(entry: "Entry | os.DirEntry[str]") -> str:
    return entry.name
