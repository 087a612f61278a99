"""Local disk, examined."""

from backends.local import LocalBackend
from fs_core.protocol import Backend
from seamfs.config import Settings
from seamfs.doctor_findings import Finding, failed, passed, weaker

__all__ = ["local_findings"]


async def local_findings(backend: Backend, settings: Settings) -> list[Finding]:
    """Try on scratch files what kernel and file system offer."""
    if not isinstance(backend, LocalBackend):
        raise TypeError(f"expected a LocalBackend, got {type(backend).__name__}")
    probe = await backend.probe()
    if probe.write is not None:
        return [weaker("write", f"no file can be made here: {probe.write}", remedy="let this user write, or only read")]
    return [
        passed("write", "a scratch file was made and removed"),
        _verdict_create(probe.create),
        _verdict_exchange(probe.exchange),
        _verdict_sync(probe.sync, settings),
        _verdict_lock(probe.lock, settings),
    ]


def _verdict_create(fault: str | None) -> Finding:
    if fault is None:
        return passed("no-replace publish", "the kernel refuses to create what exists")
    return failed("no-replace publish", fault, remedy="use a file system with hard links")


def _verdict_exchange(fault: str | None) -> Finding:
    if fault is None:
        return passed("exchange of names", "another program's write during ours is detected and its bytes are kept")
    detail = f"{fault}: another program's write in the last instant of ours can be lost"
    return weaker("exchange of names", detail, remedy="use ext4, xfs, btrfs or tmpfs on Linux")


def _verdict_sync(fault: str | None, settings: Settings) -> Finding:
    if not settings.local.fsync:
        detail = "local.fsync is off: a write may be lost when the power goes"
        return weaker("durability", detail, remedy="set local.fsync = true")
    if fault is not None:
        return weaker("durability", f"a file cannot be flushed here: {fault}", remedy="use a local file system")
    return passed("durability", "file and directory are flushed before a write is reported")


def _verdict_lock(fault: str | None, settings: Settings) -> Finding:
    where = settings.local.lock_directory or "the default lock directory"
    if fault is None:
        return passed("lock directory", f"{where} is ours, and a lock was taken")
    return failed("lock directory", fault, remedy="set local.lock_directory to one that all writers share")
