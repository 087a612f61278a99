"""`renameat2`, which Python does not offer: rename without replacing, and exchange of two names."""

import ctypes
import errno
import os
import sys
from collections.abc import Callable
from typing import Final

__all__ = ["exchange", "rename_no_replace"]

# linux/fs.h
_RENAME_NOREPLACE: Final = 1
_RENAME_EXCHANGE: Final = 2

_UNSUPPORTED: Final = frozenset({errno.EINVAL, errno.ENOSYS, errno.ENOTSUP, errno.EOPNOTSUPP})


def _load() -> Callable[[int, bytes, int, bytes, int], int] | None:
    if sys.platform != "linux":
        return None
    function = getattr(ctypes.CDLL(None, use_errno=True), "renameat2", None)  # glibc 2.28, musl 1.2.6
    if function is None:
        return None
    function.argtypes = (ctypes.c_int, ctypes.c_char_p, ctypes.c_int, ctypes.c_char_p, ctypes.c_uint)
    function.restype = ctypes.c_int
    return function


_renameat2 = _load()


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
