"""Versions of files, and what an equal one proves by the server's clock."""

import threading
import time
from typing import Final

from backends.sftp._wire import Attributes
from fs_core.types import Digest, Version

__all__ = ["ServerClock", "version_of"]

_BEHIND_S: Final = 60.0
"""So far a server's clock may be behind ours before it is known: clocks that are kept at all differ by less."""
_TICK_S: Final = 2
"""The protocol tells whole seconds; some file systems keep only every second one."""


class ServerClock:
    """The earliest that the server's clock can show, by ours and by the times that it gave to our uploads.

    Thread-safe. A clock that is found to be further behind than `_BEHIND_S` is taken to stay so; one that is ahead
    makes files settle later, which costs time only.
    """

    def __init__(self) -> None:
        self._behind_s = _BEHIND_S
        self._lock = threading.Lock()

    def now_s(self) -> float:
        """Return a time that the server's clock has reached."""
        return time.time() - self._behind_s

    def learn(self, mtime_s: int | None) -> None:
        """Take into account that what has just been written was given this modification time."""
        if mtime_s is not None:
            with self._lock:
                self._behind_s = max(self._behind_s, time.time() - mtime_s)


def version_of(attributes: Attributes, digest: Digest | None = None, *, now_s: float) -> Version:
    """Return the version of a file that had `attributes` at some time after the server's `now_s`.

    It is settled if a change after that gets another modification time. That holds for what writers leave to the
    server's clock: a file of the same size that is given an old time, or is moved here with it, within one second of
    the old file's is not told apart, nor is a change on a server more than a minute behind that nothing was written
    to yet.
    """
    is_settled = attributes.mtime_s is not None and attributes.mtime_s + _TICK_S <= now_s
    return Version(attributes.token, digest, settled=is_settled)
