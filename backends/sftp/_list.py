"""Listing a directory in bounded memory."""

import heapq
from collections.abc import Iterator
from contextlib import closing
from itertools import islice
from typing import Final

from backends.sftp import _wire as wire
from backends.sftp._client import SftpClient
from backends.sftp._resolve import Confinement, Names, absolute, observe
from fs_core.errors import NotDirectory, NotFound, Reason
from fs_core.paths import is_staged_name
from fs_core.types import Entry, FileKind, Listing

__all__ = ["list_directory"]

_ENTRIES_READ_MAX: Final = 1_000_000
"""A directory with more names is listed in part: a hostile server could go on for ever."""


def list_directory(client: SftpClient, names: Names, *, root: Confinement, shown: str, limit: int) -> Listing:
    """Return the first `limit` entries by name, staged files left out. A link is shown as what it leads to."""
    path = absolute(names)
    attributes, _ = observe(client, path, root=root, shown=shown, operation="list")
    if attributes is None:
        raise NotFound(Reason.NO_SUCH_DIRECTORY, path=shown, operation="list")
    if attributes.kind is not FileKind.DIRECTORY:
        raise NotDirectory(Reason.IS_NOT_DIRECTORY, path=shown, operation="list")
    with closing(client.read_directory(path)) as found:
        bounded = islice(found, _ENTRIES_READ_MAX)
        first = heapq.nsmallest(limit + 1, _visible(bounded), key=lambda named: named[0])
        is_complete = len(first) <= limit and next(found, None) is None
    return Listing(tuple(_entries(client, path, first[:limit])), is_complete=is_complete)


def _visible(found: Iterator[wire.NamedAttributes]) -> Iterator[tuple[str, wire.NamedAttributes]]:
    for entry in found:
        name = entry.name.decode("utf-8", "backslashreplace")
        if not is_staged_name(name):
            yield name, entry


def _entries(client: SftpClient, path: str, named: list[tuple[str, wire.NamedAttributes]]) -> Iterator[Entry]:
    """Yield entries, with what links lead to asked for in one flight."""
    links = [name for name, entry in named if entry.attributes.is_link]
    looks = [wire.stat_followed(f"{path.rstrip('/')}/{name}") for name in links]
    followed = dict(zip(links, client.exchange(*looks) if looks else (), strict=True))
    for name, entry in named:
        attributes = entry.attributes
        reply = followed.get(name)
        if reply is not None and wire.status_of(reply) is None:
            attributes = wire.attributes_of(reply)
        is_plain = "/" not in name and "\0" not in name and name.encode() == entry.name
        size = attributes.size_bytes if attributes.kind is FileKind.FILE else None
        yield Entry(name, attributes.kind, size, addressable=is_plain)
