"""Uploads and locks of clients that died, removed by the next write nearby."""

import threading
import time
from contextlib import closing
from itertools import islice
from typing import Final

from backends.sftp import _wire as wire
from backends.sftp._client import SftpClient
from backends.sftp._lock import LEASES_WAITED_MAX
from backends.sftp._resolve import Names, absolute
from backends.sftp._wire import StatusError
from fs_core.paths import is_staged_name
from fs_core.types import FileKind

__all__ = ["Sweeper"]

_ENTRIES_MAX: Final = 4096
_INTERVAL_S: Final = 60.0
_DIRECTORIES_MAX: Final = 256
_LEASES_OLD: Final = 2 * LEASES_WAITED_MAX
"""A living writer waits for at most `LEASES_WAITED_MAX` leases, and its upload or lock changes in between."""


class Sweeper:
    """Looks through a directory for leftovers at most once a minute, and through a bounded part of it."""

    def __init__(self, *, lease_s: float) -> None:
        self._age_s = _LEASES_OLD * lease_s
        self._swept_at_s: dict[Names, float] = {}
        self._lock = threading.Lock()

    def sweep(self, client: SftpClient, directory: Names, *, now_s: int | None) -> None:
        """Remove leftovers of `directory` that are old at the server's time `now_s`."""
        if now_s is None or not self._is_due(directory):
            return
        for path, kind in self._old(client, absolute(directory), now_s):
            if kind is FileKind.FILE:
                client.exchange(wire.remove(path))
            elif kind is FileKind.DIRECTORY:
                self._remove_box(client, path, now_s)

    def _is_due(self, directory: Names) -> bool:
        started_s = time.monotonic()
        with self._lock:
            if started_s - self._swept_at_s.get(directory, float("-inf")) < _INTERVAL_S:
                return False
            self._swept_at_s.pop(directory, None)
            self._swept_at_s[directory] = started_s
            if len(self._swept_at_s) > _DIRECTORIES_MAX:
                self._swept_at_s.pop(next(iter(self._swept_at_s)))
        return True

    def _old(self, client: SftpClient, directory: str, now_s: int) -> list[tuple[str, FileKind]]:
        with closing(client.read_directory(directory)) as entries:
            names = ((_text(entry.name), entry.attributes) for entry in islice(entries, _ENTRIES_MAX))
            return [
                (f"{directory.rstrip('/')}/{name}", attributes.kind)
                for name, attributes in names
                if is_staged_name(name) and self._is_old(attributes, now_s)
            ]

    def _is_old(self, attributes: wire.Attributes, now_s: int) -> bool:
        return attributes.mtime_s is not None and now_s - attributes.mtime_s > self._age_s

    def _remove_box(self, client: SftpClient, box: str, now_s: int) -> None:
        """Remove an upload's directory or a lock, unless its content is recent."""
        try:
            with closing(client.read_directory(box)) as entries:
                inside = list(islice(entries, _ENTRIES_MAX))
        except StatusError:
            return  # gone meanwhile, or not ours to look into
        if all(self._is_old(entry.attributes, now_s) for entry in inside):
            client.exchange(*(wire.remove(f"{box}/{_text(entry.name)}") for entry in inside))
            client.exchange(wire.rmdir(box))


def _text(name: bytes) -> str:
    return name.decode("utf-8", "surrogateescape")
