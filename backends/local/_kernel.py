"""What Python does not offer of Linux.

Opening what is below a directory without following a link, or without waiting for a disk, rename without replacing,
exchange of two names, blocks that two files share, a flush that is only begun, and large pages for a large content.
"""

import ctypes
import errno
import fcntl
import mmap
import os
import struct
import sys
from collections.abc import Callable
from typing import Any, Final

__all__ = [
    "READ_CACHED",
    "begin_flush",
    "exchange",
    "lacks_cached",
    "open_cached",
    "open_without_links",
    "opens_cached",
    "prefer_huge_pages",
    "rename_no_replace",
    "share_blocks",
]

READ_CACHED: Final = getattr(os, "RWF_NOWAIT", 0)
"""For `os.preadv`: fail with `BlockingIOError` rather than wait for content. Linux 4.14; not on every file system."""

# linux/fs.h
_RENAME_NOREPLACE: Final = 1
_RENAME_EXCHANGE: Final = 2
_SYNC_FILE_RANGE_WRITE: Final = 2
_FICLONERANGE: Final = 0x4020940D  # of most machines; the others answer that they know no such request
# linux/openat2.h, asm-generic/unistd.h: since Linux 5.6, and the C library has no function for it
_OPENAT2: Final = 437
_RESOLVE_NO_XDEV: Final = 0x01
_RESOLVE_NO_SYMLINKS: Final = 0x04
_RESOLVE_BENEATH: Final = 0x08
_RESOLVE_CACHED: Final = 0x20  # since Linux 5.12
_WITHOUT_LINKS: Final = _RESOLVE_NO_SYMLINKS | _RESOLVE_BENEATH
_FROM_CACHE: Final = _WITHOUT_LINKS | _RESOLVE_NO_XDEV | _RESOLVE_CACHED
# linux/magic.h: file systems on disks of this machine, where nothing but the disk is waited for
_ON_DISK: Final = frozenset({0xEF53, 0x58465342, 0x9123683E, 0xF2F52010})  # ext2 to ext4, xfs, btrfs, f2fs
_STATFS_BYTES_MAX: Final = 512
# asm-generic/unistd.h, uapi/linux/mman.h: since Linux 6.5
_CACHESTAT: Final = 451
_CACHESTAT_BYTES: Final = 40  # five numbers, of which the first is that of the pages in memory
# linux/limits.h, without the NUL at the end
_PATH_BYTES_MAX: Final = 4095
# asm-generic/mman-common.h
_MADV_HUGEPAGE: Final = 14
_HUGE_PAGE_BYTES: Final = 2 << 20

_UNSUPPORTED: Final = frozenset({errno.EINVAL, errno.ENOSYS, errno.ENOTSUP, errno.EOPNOTSUPP})


def _load(name: str, *arguments: type[Any]) -> Callable[..., int] | None:
    if sys.platform != "linux":
        return None
    function = getattr(ctypes.CDLL(None, use_errno=True), name, None)
    if function is None:
        return None
    function.argtypes = arguments
    function.restype = ctypes.c_int
    return function


# glibc 2.28, musl 1.2.6
_renameat2 = _load("renameat2", ctypes.c_int, ctypes.c_char_p, ctypes.c_int, ctypes.c_char_p, ctypes.c_uint)
_sync_file_range = _load("sync_file_range", ctypes.c_int, ctypes.c_int64, ctypes.c_int64, ctypes.c_uint)
_madvise = _load("madvise", ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int)
_fstatfs = _load("fstatfs", ctypes.c_int, ctypes.c_char_p)
_syscall = _load("syscall", ctypes.c_long, ctypes.c_int, ctypes.c_char_p, ctypes.c_char_p, ctypes.c_size_t)


def open_without_links(directory: int, path: str, flags: int) -> int | None:
    """Open what `path` leads to below an open directory, if no part of it is a link; `None` if that fails.

    It takes one call for every 4 KiB of path. Why it failed, or that the kernel cannot, is found out by going step by
    step.
    """
    if _syscall is None:
        return None
    rest = os.fsencode(path)
    if len(rest) <= _PATH_BYTES_MAX:
        return _open_beneath(directory, rest, flags, _WITHOUT_LINKS)
    above = os.dup(directory)
    try:
        while len(rest) > _PATH_BYTES_MAX:
            part, rest = _parted(rest)
            below = _open_beneath(above, part, os.O_PATH | os.O_DIRECTORY | os.O_CLOEXEC, _WITHOUT_LINKS)
            if below is None:
                return None
            os.close(above)
            above = below
        return _open_beneath(above, rest, flags, _WITHOUT_LINKS)
    finally:
        os.close(above)


def opens_cached(directory: int) -> bool:
    """Tell whether `open_cached` can work below an open directory: it is on a disk of this machine, and Linux is 5.12.

    On other file systems opening a file, or asking for its status, may wait for a server or a program all the same.
    """
    if _fstatfs is None:
        return False
    status = ctypes.create_string_buffer(_STATFS_BYTES_MAX)
    if _fstatfs(directory, status) != 0 or ctypes.c_long.from_buffer(status).value not in _ON_DISK:
        return False
    fd = open_cached(directory, ".", os.O_PATH | os.O_CLOEXEC)
    if fd is None:
        return ctypes.get_errno() == errno.EAGAIN  # it can, though not just now: something is mounted, or renamed
    os.close(fd)
    return True


def open_cached(directory: int, path: str, flags: int) -> int | None:
    """Open what `path` leads to as far as the kernel has it in memory, so without waiting; `None` if that fails.

    No part of the path may be a link, and none may be on another file system than `directory`.
    """
    if _syscall is None:
        return None
    return _open_beneath(directory, os.fsencode(path), flags, _FROM_CACHE)


def lacks_cached(fd: int, offset: int, size_bytes: int) -> bool:
    """Tell whether the kernel is known not to have all of a part of an open file in memory.

    It does not tell before Linux 6.5, nor, later, of files that the user neither owns nor may write. If what is missing
    is read with `READ_CACHED`, the kernel begins to fetch it, and of a file in many pieces it waits for the disk to
    tell where they are.
    """
    if _syscall is None or size_bytes <= 0:
        return False
    found = ctypes.create_string_buffer(_CACHESTAT_BYTES)
    if _syscall(_CACHESTAT, fd, struct.pack("=QQ", offset, size_bytes), found, 0) != 0:
        return False
    pages = (offset + size_bytes - 1) // mmap.PAGESIZE - offset // mmap.PAGESIZE + 1
    return ctypes.c_uint64.from_buffer(found).value < pages


def _parted(path: bytes) -> tuple[bytes, bytes]:
    """Return as many names as one call takes, and the others."""
    end = path.rfind(b"/", 0, _PATH_BYTES_MAX + 1)
    return path[:end], path[end + 1 :]


def _open_beneath(directory: int, path: bytes, flags: int, resolve: int) -> int | None:
    assert _syscall is not None  # noqa: S101 - looked at by every caller
    how = struct.pack("=QQQ", flags, 0, resolve)
    fd = _syscall(_OPENAT2, directory, path, how, len(how))
    return fd if fd >= 0 else None


def prefer_huge_pages(view: memoryview) -> None:
    """Have fresh memory come in large pages, where the kernel can.

    With small ones, faults take most of the time of reading a large file (measured for 200 MB: 216 ms, else 82).
    """
    if _madvise is not None and len(view) >= 2 * _HUGE_PAGE_BYTES:
        address = ctypes.addressof(ctypes.c_char.from_buffer(view))
        start = -(-address // _HUGE_PAGE_BYTES) * _HUGE_PAGE_BYTES
        _madvise(start, address + len(view) - start, _MADV_HUGEPAGE)


def share_blocks(old: int, new: int, *, start: int, to: int, size_bytes: int) -> bool:
    """Have an open file share blocks of another; false where the kernel or file system cannot, for whatever reason."""
    try:
        fcntl.ioctl(new, _FICLONERANGE, struct.pack("=qQQQ", old, start, size_bytes, to))
    except OSError:
        return False
    return True


def begin_flush(fd: int, offset: int, size_bytes: int) -> None:
    """Have the disk begin with what was written, where the kernel can; whether that works is told by `fsync` alone."""
    if _sync_file_range is not None:
        _sync_file_range(fd, offset, size_bytes, _SYNC_FILE_RANGE_WRITE)


def rename_no_replace(directory: int, old: str, new: str) -> bool:
    """Rename within one directory unless `new` exists; false where the kernel or file system cannot.

    Raises:
        FileExistsError: `new` exists.
        OSError: any other fault.
    """
    return _rename(directory, old, new, _RENAME_NOREPLACE)


def exchange(directory: int, one: str, other: str) -> bool:
    """Exchange two existing names of one directory in one step; false where the kernel or file system cannot.

    Raises:
        OSError: any fault, `FileNotFoundError` when one is missing.
    """
    return _rename(directory, one, other, _RENAME_EXCHANGE)


def _rename(directory: int, old: str, new: str, flags: int) -> bool:
    if _renameat2 is None:
        return False
    if _renameat2(directory, os.fsencode(old), directory, os.fsencode(new), flags) == 0:
        return True
    number = ctypes.get_errno()
    if number in _UNSUPPORTED:
        return False
    raise OSError(number, os.strerror(number))
