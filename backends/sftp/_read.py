"""Reading one version of a file through one handle."""

from collections.abc import Callable
from io import BytesIO
from typing import Final

from backends._workers import WorkerCall
from backends.sftp import _wire as wire
from backends.sftp._client import SftpClient
from backends.sftp._resolve import Confinement, observe
from backends.sftp._spans import SpanRead, read_span
from backends.sftp._versions import version_of
from fs_core.digest import ContentHasher, content_digest
from fs_core.errors import NotFound, NotRegularFile, Operation, Reason, StaleVersion
from fs_core.protocol import SCAN_CHUNK_BYTES, Scanned, Sink, too_large
from fs_core.types import Digest, FileKind, Snapshot, Target, TargetKey, Version

__all__ = [
    "ATTEMPTS_MAX",
    "changed",
    "digest_of",
    "find_file",
    "no_regular_file",
    "read_snapshot",
    "scan_file",
]

ATTEMPTS_MAX: Final = 3

Piecewise = Callable[[memoryview], object]
"""Takes the next piece of a file, which is its to keep."""


def no_regular_file(attributes: wire.Attributes, *, shown: str, operation: Operation) -> NotRegularFile:
    """Return the refusal of something that is no regular file."""
    if attributes.is_link:
        reason = "has just become a symbolic link; try again"
    else:
        reason = Reason.IS_DIRECTORY if attributes.kind is FileKind.DIRECTORY else Reason.IS_SPECIAL
    return NotRegularFile(reason, path=shown, operation=operation)


def find_file(client: SftpClient, path: str, *, root: Confinement, shown: str) -> wire.Attributes:
    """Return the attributes of the regular file at `path`. It is not opened: a FIFO would block the server."""
    attributes, _ = observe(client, path, root=root, shown=shown, operation="read")
    if attributes is None:
        raise NotFound(Reason.NO_SUCH_FILE, path=shown, operation="read")
    if attributes.kind is not FileKind.FILE:
        raise no_regular_file(attributes, shown=shown, operation="read")
    return attributes


def read_snapshot(
    client: SftpClient,
    path: str,
    *,
    root: Confinement,
    shown: str,
    offset: int = 0,
    limit: int | None = None,
    pinned: Version | None = None,
    size_bytes_max: int | None = None,
) -> Snapshot:
    """Return a part of the file, all of one version; three round trips when it fits one window.

    A file that changes in place meanwhile is read again, a bounded number of times. One that is replaced is no
    trouble: the handle keeps the old content. One that has more than `size_bytes_max` is not opened (`TooLarge`).
    """
    for _ in range(ATTEMPTS_MAX):
        now_s = client.clock.now_s()
        found = find_file(client, path, root=root, shown=shown)
        size = found.size_bytes or 0
        if size_bytes_max is not None and size > size_bytes_max:
            raise too_large(Target(TargetKey(path), shown), size, size_bytes_max)
        start = min(offset, size)
        end = size if limit is None else min(start + limit, size)
        # It grows in place and gives its bytes away without a copy; what comes counts, not the size that is claimed.
        buffer = BytesIO()
        if _read_handle(client, path, found, start=start, end=end, sink=buffer.write) is None:
            continue
        data = buffer.getvalue()
        is_whole = offset == 0 and end == size
        version = version_of(found, content_digest(data) if is_whole else None, now_s=now_s)
        if pinned is not None and not _is_pinned(pinned, version):
            raise changed(shown)
        return Snapshot(data=data, offset=offset, size_bytes=size, version=version)
    raise changed(shown)


def _is_pinned(pinned: Version, version: Version) -> bool:
    """Tell whether a read is of the pinned version.

    A part carries no digest, so that an equal token has to do: of a version that is not settled, a replacement of the
    same size within one second is not told apart here. `scan_file` reads through one handle and has no such gap.
    """
    same = pinned.same_content(version)
    return pinned.token == version.token if same is None else same


def _read_handle(
    client: SftpClient, path: str, expected: wire.Attributes, *, start: int, end: int, sink: Piecewise
) -> SpanRead | None:
    """Feed bytes of the file that has the attributes `expected`; `None` if it changed meanwhile."""
    handle = wire.handle_of(client.ask(wire.open_file(path, wire.OpenFlag.READ)))
    try:
        span = read_span(
            client, handle, start, end, accept=lambda opened: opened.token == expected.token, sink=sink, path=path
        )
    finally:
        if not client.is_broken:
            client.close_later(handle)
    is_same = span.before.token == span.after.token == expected.token
    return span if is_same and span.fed_bytes == end - start else None


def scan_file(client: SftpClient, path: str, *, root: Confinement, shown: str, sink: Sink, call: WorkerCall) -> Scanned:
    """Feed the whole file to `sink` through one handle, then look whether it is still the file at `path`.

    A small file is fed after that look, so that it can be read again when it has changed.
    """
    for _ in range(ATTEMPTS_MAX):
        now_s = client.clock.now_s()
        found = find_file(client, path, root=root, shown=shown)
        size = found.size_bytes or 0
        is_small = size <= SCAN_CHUNK_BYTES
        pieces: list[bytes] = []
        hasher = _FeedingHasher(call, pieces.append if is_small else sink)
        span = _read_handle(client, path, found, start=0, end=size, sink=hasher.take)
        if span is not None and span.by_path is not None and span.by_path.token == found.token:
            for piece in pieces:
                sink(piece)
            return Scanned(size_bytes=size, version=version_of(found, hasher.digest(), now_s=now_s))
        if not is_small:
            break
    raise changed(shown)


class _FeedingHasher:
    """Digests what passes by on its way to a sink, and ends the read when the call was given up."""

    def __init__(self, call: WorkerCall, sink: Callable[[bytes], None]) -> None:
        self._call = call
        self._sink = sink
        self._hasher = ContentHasher()

    def take(self, data: memoryview) -> None:
        self._call.check()
        self._hasher.update(data)
        self._sink(bytes(data))

    def digest(self) -> Digest:
        return self._hasher.digest()


def digest_of(client: SftpClient, path: str, found: wire.Attributes, *, on_piece: Callable[[], None]) -> Digest | None:
    """Return the digest of the file with the attributes `found`; `None` if it changed meanwhile."""
    hasher = ContentHasher()

    def take(data: memoryview) -> None:
        on_piece()
        hasher.update(data)

    span = _read_handle(client, path, found, start=0, end=found.size_bytes or 0, sink=take)
    return None if span is None else hasher.digest()


def changed(shown: str) -> StaleVersion:
    """Return the refusal of a file that changes again and again."""
    return StaleVersion(Reason.CHANGED_WHILE_READ, path=shown, operation="read", retryable=True)
