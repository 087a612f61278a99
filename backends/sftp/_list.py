"""Listing directories, several at once, in bounded memory and few round trips."""

from collections.abc import Sequence
from dataclasses import replace
from itertools import chain, islice
from typing import Final

from backends._workers import WorkerCall
from backends.sftp import _wire as wire
from backends.sftp._client import LIST_RATE_MIN_NAMES_PER_S, WINDOW_REQUESTS_MAX, SftpClient
from backends.sftp._errors import refusal_of_one
from backends.sftp._pace import Pace
from backends.sftp._resolve import NAME_BYTES_MAX, Confinement, placed
from backends.sftp._wire import StatusCode, StatusError
from fs_core.errors import FsError, NotDirectory, NotFound, Reason
from fs_core.paths import is_staged_name
from fs_core.protocol import level_of
from fs_core.types import Entry, FileKind, Level, Listing, Target

__all__ = ["DIRECTORIES_AT_ONCE_MAX", "list_directory", "list_levels"]

DIRECTORIES_AT_ONCE_MAX: Final = 20
"""So many are opened and looked up again in one window of requests."""

_ENTRIES_READ_MAX: Final = 1_000_000
"""A directory with more names is listed in part: a hostile server could go on for ever."""
_PAGES_FIRST: Final = 2
"""The only page of a small directory (OpenSSH puts 100 names on one) and the end."""
_SURPLUS_MAX: Final = 4_096
"""So many names beyond the wanted ones, and a quarter of those, are held before the last ones are dropped."""


def list_directory(client: SftpClient, target: Target, call: WorkerCall, *, root: Confinement, limit: int) -> Listing:
    """Return the first `limit` entries by name, staged files left out. A link is shown as what it leads to."""
    (found,) = _read_names(client, [target], call, root=root, limit=limit)
    if found.refusal is not None:
        raise found.refusal
    entries = _followed(client, target.key, found.entries())
    return Listing(tuple(entries), is_complete=found.is_complete)


def list_levels(
    client: SftpClient, targets: Sequence[Target], call: WorkerCall, *, root: Confinement, entries_max: int
) -> list[Level | FsError]:
    """Return the names in each directory or why it is refused; two round trips for every 20 small ones.

    Raises:
        Unavailable: the server has lost its store.
    """
    levels: list[Level | FsError] = []
    for start in range(0, len(targets), DIRECTORIES_AT_ONCE_MAX):
        some = targets[start : start + DIRECTORIES_AT_ONCE_MAX]
        levels.extend(found.level() for found in _read_names(client, some, call, root=root, limit=entries_max))
    return levels


class _Directory:
    """One directory on its way: what is known of it, and the first `limit` of its names by order."""

    def __init__(self, target: Target, limit: int) -> None:
        self.target = target
        self.handle: bytes | None = None
        self.refusal: FsError | None = None
        self.is_complete = False
        self._fault: StatusError | None = None
        self._limit = limit
        self._count = 0
        self._entries: dict[str, Entry] = {}
        self._is_cut = False

    @property
    def is_pending(self) -> bool:
        """Whether there may be names that have not been asked for."""
        return self.refusal is None and not self.is_complete and self._count < _ENTRIES_READ_MAX

    def open(self, reply: wire.Reply) -> None:
        """Take the answer to opening."""
        try:
            self.handle = wire.handle_of(reply)
        except StatusError as error:
            self._fault = error

    def place(self, real: wire.Reply, looked: wire.Reply, *, root: Confinement) -> None:
        """Take the answers to looking the name up again, and refuse what is not to be read."""
        shown = self.target.display_path
        try:
            found = placed(looked, real, path=self.target.key, root=root, shown=shown, operation="list")
        except StatusError as error:
            self._refuse(error)
        except FsError as error:
            self.refusal = error
        else:
            if found is None:
                self.refusal = NotFound(Reason.NO_SUCH_DIRECTORY, path=shown, operation="list")
            elif found.kind is not FileKind.DIRECTORY:
                self.refusal = NotDirectory(Reason.IS_NOT_DIRECTORY, path=shown, operation="list")
            elif self._fault is not None:
                self._refuse(self._fault)

    def more(self, pages: int) -> list[wire.Request]:
        """Return the requests for the next pages."""
        return [] if self.handle is None else [wire.readdir(self.handle)] * pages

    def take(self, page: wire.Reply) -> int:
        """Take a page unless the directory is done with; return how many names were on it."""
        if not self.is_pending:
            return 0
        try:
            return self._take(wire.names_of(page))
        except StatusError as error:
            self._refuse(error)
            return 0

    def refuse_endless(self) -> None:
        """Give up if there were to be more names."""
        if self.is_pending:
            self._refuse(StatusError(StatusCode.FAILURE, "the server lists a directory without an end"))

    def _refuse(self, error: StatusError) -> None:
        self.refusal = refusal_of_one(error, self.target.display_path, "list")

    def _take(self, page: list[wire.NamedAttributes]) -> int:
        self.is_complete = not page
        found = [named for named in page if named.name not in {b"", b".", b".."}]
        for entry in map(_entry, found):
            if not is_staged_name(entry.name):
                self._entries.setdefault(entry.name, entry)
        if len(self._entries) > self._limit + self._limit // 4 + _SURPLUS_MAX:
            self._cut()
        self._count += len(found)
        return len(found)

    def _cut(self) -> None:
        self._is_cut = self._is_cut or len(self._entries) > self._limit
        self._entries = {name: self._entries[name] for name in sorted(self._entries)[: self._limit]}

    def entries(self) -> list[Entry]:
        """Return the first entries; all there are if the directory is complete after that."""
        self._cut()
        self.is_complete = self.is_complete and not self._is_cut
        return list(self._entries.values())

    def level(self) -> Level | FsError:
        """Return them as a walk wants them, links not looked through."""
        if self.refusal is not None:
            return self.refusal
        entries = self.entries()
        return level_of(entries, is_complete=self.is_complete)


def _read_names(
    client: SftpClient, targets: Sequence[Target], call: WorkerCall, *, root: Confinement, limit: int
) -> list[_Directory]:
    """Read directories side by side.

    Each is opened and then looked up again in the same flight, before a name is asked for: one that has become a link
    since it was listed itself is noticed.
    """
    call.check()
    pace = Pace(client, rate_min_per_s=LIST_RATE_MIN_NAMES_PER_S)
    directories = [_Directory(target, limit) for target in targets]
    replies = client.exchange(*(request for target in targets for request in _opening(target.key)))
    for directory, opened in zip(directories, replies[::3], strict=True):
        directory.open(opened)
    try:
        for directory, real, looked in zip(directories, replies[1::3], replies[2::3], strict=True):
            directory.place(real, looked, root=root)
        _read_pages(client, directories, call, pace)
    finally:
        if not client.is_broken:
            client.close_later(*(directory.handle for directory in directories if directory.handle is not None))
    return directories


def _opening(path: str) -> tuple[wire.Request, ...]:
    return wire.opendir(path), wire.realpath(path), wire.lstat(path)


def _read_pages(client: SftpClient, directories: list[_Directory], call: WorkerCall, pace: Pace) -> None:
    """Read on in all directories until each is at its end; the fewer are left, the more pages of each at once."""
    pages = _PAGES_FIRST
    while pending := [directory for directory in directories if directory.is_pending]:
        call.check()
        replies = client.stream(chain.from_iterable(directory.more(pages) for directory in pending))
        for directory in pending:
            told = sum(map(directory.take, islice(replies, pages)))
            pace.advance(told)
            if not told and pages > _PAGES_FIRST:
                directory.refuse_endless()
        pages = min(2 * pages, max(_PAGES_FIRST + 1, WINDOW_REQUESTS_MAX // len(pending)))


def _entry(named: wire.NamedAttributes) -> Entry:
    """Return an entry; a name that no path can hold is made readable, and cut."""
    name, attributes = _plain(named.name), named.attributes
    kind = attributes.kind
    return Entry(
        named.name[: NAME_BYTES_MAX + 1].decode("utf-8", "backslashreplace") if name is None else name,
        kind,
        attributes.size_bytes if kind is FileKind.FILE else None,
        addressable=name is not None,
        is_link=attributes.is_link,
    )


def _plain(raw: bytes) -> str | None:
    """Return a name that a path can hold."""
    try:
        name = raw.decode()
    except UnicodeDecodeError:
        return None
    return name if len(raw) <= NAME_BYTES_MAX and "/" not in name and "\0" not in name else None


def _followed(client: SftpClient, path: str, entries: list[Entry]) -> list[Entry]:
    """Return entries with links as what they lead to, asked for in one flight."""
    links = [entry.name for entry in entries if entry.is_link and entry.addressable]
    looks = [wire.stat_followed(f"{path.rstrip('/')}/{name}") for name in links]
    replies = dict(zip(links, client.exchange(*looks) if looks else (), strict=True))
    return [_as_target(entry, replies.get(entry.name)) for entry in entries]


def _as_target(link: Entry, reply: wire.Reply | None) -> Entry:
    if reply is None or wire.status_of(reply) is not None:
        return link
    found = wire.attributes_of(reply)
    return replace(link, kind=found.kind, size_bytes=found.size_bytes if found.kind is FileKind.FILE else None)
