"""An SFTP server, examined."""

from backends.options import SftpOptions
from backends.sftp import ProbeReport, SftpBackend
from fs_core.protocol import Backend
from seamfs.config import Settings
from seamfs.doctor_clock import clock_finding
from seamfs.doctor_findings import Finding, passed, weaker

__all__ = ["sftp_findings"]


async def sftp_findings(backend: Backend, settings: Settings) -> list[Finding]:
    """Say who we are there, and try on a scratch file what the server offers."""
    if not isinstance(backend, SftpBackend):
        raise TypeError(f"expected an SftpBackend, got {type(backend).__name__}")
    report = await backend.probe()
    return [
        passed("credentials", _credentials_source(settings.sftp)),
        passed("extensions", ", ".join(report.extensions) or "none"),
        *_extension_findings(report),
        *([] if report.clock_offset_s is None else [clock_finding(report.clock_offset_s)]),
    ]


def _credentials_source(options: SftpOptions) -> str:
    """Name what was offered to the server, in short; the server's choice among it is not told."""
    sources = [
        "the password of the settings" if options.password is not None else "",
        f"the key {options.identity_file}" if options.identity_file is not None else "",
        f"{options.config_file or '~/.ssh/config'} and default keys" if options.identity_file is None else "",
        "the SSH agent" if options.use_agent else "",
    ]
    known = f"host key vouched for by {options.known_hosts_file or '~/.ssh/known_hosts'}"
    return f"offered: {', '.join(filter(None, sources))}; {known}"


def _extension_findings(report: ProbeReport) -> list[Finding]:
    remedy = "use a server with the extensions of OpenSSH"
    findings: list[Finding] = []
    if report.posix_rename:
        findings.append(passed("atomic replace", "posix-rename@openssh.com works"))
    else:
        findings.append(
            weaker("atomic replace", "no posix-rename@openssh.com: existing files are not replaced", remedy=remedy)
        )
    if report.hardlink:
        findings.append(passed("atomic create", "hardlink@openssh.com works"))
    else:
        findings.append(
            weaker("atomic create", "no hardlink@openssh.com: new files appear by the plain rename", remedy=remedy)
        )
    if report.fsync:
        findings.append(passed("durability", "fsync@openssh.com: a write is flushed before it is reported"))
    else:
        detail = "no fsync@openssh.com: a crash of the server can lose a write that was reported"
        findings.append(weaker("durability", detail, remedy=remedy))
    return findings
