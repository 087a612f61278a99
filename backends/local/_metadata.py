"""What a replaced file passes on to the file that takes its name."""

import errno
import os
import stat
from typing import Final

__all__ = ["keep_metadata"]

_OWNER_BITS: Final = stat.S_ISUID | stat.S_ISGID


def keep_metadata(old: int, new: int) -> tuple[str, ...]:
    """Give the open file `new` the owner, group, extended attributes (ACLs are such) and mode of `old`.

    Return what could not be kept, in words. Mode comes last: a change of owner clears the special bits, and the mode
    must agree with an ACL's mask.
    """
    status = os.fstat(old)
    lost = _keep_owner(status, new) + _keep_attributes(old, new)
    mode = stat.S_IMODE(status.st_mode)
    if lost and mode & _OWNER_BITS and "owner" in " ".join(lost):
        # With another owner these bits would grant what nobody has asked for.
        mode &= ~_OWNER_BITS
        lost = (*lost, "set-user-ID and set-group-ID bits")
    os.fchmod(new, mode)
    return lost


def _keep_owner(status: os.stat_result, new: int) -> tuple[str, ...]:
    present = os.fstat(new)
    if (present.st_uid, present.st_gid) == (status.st_uid, status.st_gid):
        return ()
    try:
        os.fchown(new, status.st_uid, status.st_gid)
    except PermissionError:
        return _keep_group(status, present, new)
    return ()


def _keep_group(status: os.stat_result, present: os.stat_result, new: int) -> tuple[str, ...]:
    lost = ("owner",) if present.st_uid != status.st_uid else ()
    try:
        os.fchown(new, -1, status.st_gid)
    except PermissionError:
        return (*lost, "owning group")
    return lost


def _keep_attributes(old: int, new: int) -> tuple[str, ...]:
    if not hasattr(os, "listxattr"):
        return ()
    try:
        names = os.listxattr(old)
    except OSError as error:
        if error.errno == errno.ENOTSUP:
            return ()
        raise
    return tuple(f"extended attribute {name}" for name in names if not _copy_attribute(name, old, new))


def _copy_attribute(name: str, old: int, new: int) -> bool:
    try:
        os.setxattr(new, name, os.getxattr(old, name))
    except OSError as error:
        if error.errno in {errno.EPERM, errno.EACCES, errno.ENOTSUP, errno.ENODATA, errno.ENOSPC}:
            return False
        raise
    return True
