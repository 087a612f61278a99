"""A process that means harm beside a workspace: `link_swapper.py ROOT OUTSIDE`, until it is killed.

It swaps the directory `ROOT/d` and the file `ROOT/f` for links to what lies outside and back, as fast as it can, and
plants links, directories, FIFOs and hard links under names of unfinished writes.
"""

import ctypes
import os
import sys
from contextlib import suppress
from pathlib import Path

_renameat2 = ctypes.CDLL(None, use_errno=True).renameat2


def swap(name: Path, outside: Path) -> None:
    """Exchange `name` and a link to `outside`, in one step."""
    link = name.with_name(f"{name.name}-other")
    if not name.is_symlink() and not link.is_symlink():
        # A writer of the workspace has replaced the link.
        link.unlink(missing_ok=True)
        link.symlink_to(outside)
    if _renameat2(-100, os.fsencode(name), -100, os.fsencode(link), 2) != 0:  # AT_FDCWD, RENAME_EXCHANGE
        raise OSError(ctypes.get_errno(), "renameat2")


def plant(directory: Path, outside: Path, turn: int) -> None:
    """Put something under the name of an unfinished write of this user."""
    name = directory / f".seamfs-001{os.geteuid():08x}{turn % 4:05x}.tmp"
    match turn % 4:
        case 0:
            name.symlink_to(outside / "f")
        case 1:
            name.mkdir()
        case 2:
            os.mkfifo(name)
        case _:
            name.hardlink_to(outside / "f")


def main() -> None:
    root, outside = Path(sys.argv[1]), Path(sys.argv[2])
    turn = 0
    while True:
        turn += 1
        # Writers of the workspace may be at the same names; the next turn tries again.
        for name, target in ((root / "d", outside), (root / "f", outside / "f")):
            with suppress(OSError):
                swap(name, target)
        with suppress(OSError):
            plant(root, outside, turn)


if __name__ == "__main__":
    main()
