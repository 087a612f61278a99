"""Processes as the kernel tells of them. Any of them, and any thread, may end while it is looked at."""

import os
from contextlib import suppress
from pathlib import Path
from typing import Final

__all__ = ["children", "command_of", "cpu_ticks", "is_running"]

_GONE: Final = (FileNotFoundError, ProcessLookupError)


def children(pid: int | None = None) -> set[int]:
    """Return the processes that a process has started, by default this one, and that have not been waited for."""
    found: set[int] = set()
    for task in Path(f"/proc/{pid or os.getpid()}/task").glob("*/children"):
        with suppress(*_GONE):
            found.update(map(int, task.read_text().split()))
    return found


def command_of(pid: int) -> str:
    """Return the short name of a process, empty if it is gone."""
    with suppress(*_GONE):
        return Path(f"/proc/{pid}/comm").read_text().strip()
    return ""


def is_running(pid: int) -> bool:
    """Tell whether a process is there and has not ended; one that ended waits for its parent to ask."""
    return _fields(pid)[:1] not in ([], ["Z"])


def cpu_ticks(pid: int) -> int:
    """Return how long a process has computed, in hundredths of a second; 0 if it is gone."""
    return sum(map(int, _fields(pid)[11:13]))


def _fields(pid: int) -> list[str]:
    """Return what `/proc/PID/stat` tells after the name, which may hold anything; nothing of what is gone."""
    with suppress(*_GONE):
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return []
