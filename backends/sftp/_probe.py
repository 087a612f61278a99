"""What `doctor` wants to know about a server: tried on a scratch upload, which is removed again."""

import time
from collections.abc import Callable
from dataclasses import dataclass

from backends.sftp import _wire as wire
from backends.sftp._client import SftpClient
from backends.sftp._content import Content
from backends.sftp._resolve import Confinement
from backends.sftp._stage import Staging, discard, stage

__all__ = ["ProbeReport", "probe_server"]


@dataclass(frozen=True, slots=True)
class ProbeReport:
    """What was found out by trying.

    Without `posix_rename` existing files are not replaced. Without `hardlink` new files are published by the plain
    rename, which refuses an existing name. Without `fsync` a crash of the server can lose a write that was reported.
    `clock_offset_s` is how far the server's clock is ahead of ours, to a second or so.
    """

    extensions: tuple[str, ...]
    posix_rename: bool
    hardlink: bool
    fsync: bool
    clock_offset_s: float | None


def probe_server(client: SftpClient, root: Confinement, *, check: Callable[[], None]) -> ProbeReport:
    """Try the extensions below `root`; what `check` raises between two steps ends that, and nothing is left behind."""
    staging = Staging(root.names)
    second = f"{staging.box}/second"
    started_s = time.time()
    try:
        staged = stage(client, staging, Content.of_bytes(b"probe"), replaced=None, root=root, shown=".")
        middle_s = (started_s + time.time()) / 2
        check()
        has_link = client.has_hardlink and _works(client, wire.hardlink(staging.path, second))
        if not has_link:
            client.exchange(wire.rename(staging.path, second))
        check()
        has_rename = client.has_posix_rename and _works(client, wire.posix_rename(second, staging.path))
    finally:
        client.exchange(wire.remove(second))
        discard(client, staging, staging.box)
    mtime_s = staged.attributes.mtime_s
    return ProbeReport(
        extensions=tuple(sorted(client.extensions)),
        posix_rename=has_rename,
        hardlink=has_link,
        fsync=client.has_fsync,
        clock_offset_s=None if mtime_s is None else mtime_s + 0.5 - middle_s,
    )


def _works(client: SftpClient, request: wire.Request) -> bool:
    (reply,) = client.exchange(request)
    return wire.status_of(reply) is None
