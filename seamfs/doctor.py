"""`seamfs doctor`: what a store can do, what is weaker there than it could be, and what to mend."""

import sys
import time
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import Final

import anyio

from backends.registry import open_backend
from fs_core.errors import ErrorCode, FsError
from fs_core.protocol import Backend, Guard
from seamfs.config import Settings, load_settings
from seamfs.doctor_findings import Finding, Status, failed, passed, weaker
from seamfs.signals import run_interruptibly
from seamfs.terminal import Display

__all__ = ["diagnose", "run_doctor"]

SUBJECT_CHARS: Final = 20
WRITABLE: Final = frozenset({"file", "s3", "sftp", "memory"})
_STYLES: Final = {Status.PASS: "green", Status.WEAKER: "yellow", Status.FAIL: "red"}
_OPEN_REMEDIES: Final = {
    ErrorCode.NOT_FOUND: "create it, or correct ROOT",
    ErrorCode.NOT_DIRECTORY: "give the directory that holds the file",
    ErrorCode.PERMISSION_DENIED: "let this user or these credentials in, or use others",
    ErrorCode.UNAVAILABLE: "check host or endpoint, network and credentials",
}


def run_doctor(root: str, *, config_file: Path | None) -> bool:
    """Print every finding on a line and return whether nothing failed.

    Raises:
        BadSettingError: A setting is wrong.
    """
    settings = load_settings(config_file=config_file)
    findings = run_interruptibly(partial(diagnose, root, settings))
    display = Display(sys.stdout)
    for finding in findings:
        remedy = f" -> {finding.remedy}" if finding.remedy else ""
        status = display.text(f"{finding.status:<6}", _STYLES[finding.status])
        display.line(status, display.text(f"  {finding.subject:<{SUBJECT_CHARS}}  {finding.detail}{remedy}"))
    return all(finding.status is not Status.FAIL for finding in findings)


async def diagnose(root: str, settings: Settings) -> list[Finding]:
    """Open a store, try what it can do, and close it. What is written on the way is removed again."""
    started_s = time.perf_counter()
    try:
        backend = await open_backend(root, settings.backends)
    except FsError as error:
        return [failed("reachable", f"{error.code}: {error}", remedy=_open_remedy(error))]
    elapsed_ms = (time.perf_counter() - started_s) * 1000
    try:
        reachable = passed("reachable", f"{backend.root.url} ({backend.scheme}), opened in {elapsed_ms:.0f} ms")
        found = await _store_findings(backend, settings)
        is_writable = all(finding.subject != "write" or finding.status is Status.PASS for finding in found)
        guards = _guard_findings(backend) if is_writable else []
        return [reachable, *found, *guards, _policy(settings)]
    finally:
        with anyio.CancelScope(shield=True):
            await backend.aclose()


async def _store_findings(backend: Backend, settings: Settings) -> Sequence[Finding]:
    """Ask the store itself; its library is loaded already."""
    match backend.scheme:
        case "file":
            from seamfs.doctor_local import local_findings as findings
        case "s3":
            from seamfs.doctor_s3 import s3_findings as findings
        case "sftp":
            from seamfs.doctor_sftp import sftp_findings as findings
        case "memory":
            return [weaker("durability", "kept in this process alone, and gone with it", remedy="use another store")]
        case _:
            return []
    try:
        return await findings(backend, settings)
    except FsError as error:
        return [failed("probe", f"{error.code}: {error}", remedy=_open_remedy(error))]


def _open_remedy(error: FsError) -> str:
    # What is unavailable for good, such as an unknown host key, says by itself what to do.
    is_told = error.code is ErrorCode.UNAVAILABLE and not error.retryable
    return "" if is_told else _OPEN_REMEDIES.get(error.code, "")


def _guard_findings(backend: Backend) -> list[Finding]:
    capabilities = backend.capabilities
    if backend.scheme not in WRITABLE:
        return [weaker("guards", "this store is read here and not written", remedy="use a store that can be written")]
    return [
        _guard("create", capabilities.create, "when something is there already"),
        _guard("replace", capabilities.replace, "when the file is another one by then"),
    ]


def _guard(kind: str, guard: Guard, when: str) -> Finding:
    subject = f"{kind} guard"
    match guard:
        case Guard.NATIVE:
            return passed(subject, f"native: the store itself refuses {when}, whoever wrote")
        case Guard.CHECKED:
            return passed(
                subject, f"checked: refused {when}, under a lock that all clients of this library share; see the README"
            )
        case Guard.NONE:
            return weaker(subject, f"none: nothing refuses {when}", remedy="use a store that honours conditions")


def _policy(settings: Settings) -> Finding:
    if settings.policy == "none":
        return weaker("policy", "none: a file may be changed unread", remedy="set policy = read-before-write")
    return passed("policy", f"{settings.policy}: a session changes only what it has read")
