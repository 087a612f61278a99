"""An S3 store, examined."""

import time
from email.utils import parsedate_to_datetime
from functools import partial
from http.client import HTTPConnection, HTTPException, HTTPSConnection
from importlib import import_module
from typing import Final, Protocol, cast
from urllib.parse import urlsplit

from anyio import to_thread

from backends.options import S3Options
from backends.s3 import ProbeReport, S3Backend
from fs_core.protocol import Backend, Guard
from seamfs.config import Settings
from seamfs.doctor_clock import clock_finding
from seamfs.doctor_findings import Finding, failed, passed, weaker

__all__ = ["s3_findings"]


OFFSET_REFUSED_S: Final = 900.0
"""S3 refuses requests signed more than 15 minutes away from its own time (`RequestTimeTooSkewed`)."""


class _Credentials(Protocol):
    method: str


class _Session(Protocol):
    """What is used of `botocore.session.Session`."""

    def get_credentials(self) -> _Credentials | None: ...


async def s3_findings(backend: Backend, settings: Settings) -> list[Finding]:
    """Ask where credentials come from, what the store makes of conditions, and what time it has."""
    if not isinstance(backend, S3Backend):
        raise TypeError(f"expected an S3Backend, got {type(backend).__name__}")
    source = await to_thread.run_sync(partial(_credentials_source, settings.s3))
    report = await backend.probe()
    return [
        passed("credentials", source),
        *_condition_findings(report, settings.s3),
        await to_thread.run_sync(partial(_clock, report.endpoint, settings.s3)),
    ]


def _credentials_source(options: S3Options) -> str:
    """Say where the credentials come from, without any of them."""
    if options.access_key_id is not None:
        return "from the settings (s3.access_key_id)"
    session = cast("_Session", import_module("botocore.session").Session(profile=options.profile))
    credentials = session.get_credentials()
    return "none: requests are anonymous" if credentials is None else f"from the AWS chain: {credentials.method}"


def _condition_findings(report: ProbeReport, options: S3Options) -> list[Finding]:
    findings = [
        passed("conditions", check.name) if check.passed else _unmet(check.name, report, options)
        for check in report.checks
    ]
    if not report.is_cleaned_up:
        remedy = "delete .seamfs-*.tmp below the root, or let these credentials delete"
        findings.append(weaker("clean-up", "the scratch object could not be removed", remedy=remedy))
    return findings


def _unmet(question: str, report: ProbeReport, options: S3Options) -> Finding:
    detail = f"not so: {question}"
    if Guard.NONE not in {report.guards.create, report.guards.replace}:
        return weaker("conditions", detail, remedy="nothing to do: the store understands another form")
    if options.allow_unsafe_writes:
        remedy = "use a store that honours If-None-Match and If-Match"
        return weaker("conditions", f"{detail}; writes go through unprotected (s3.allow_unsafe_writes)", remedy=remedy)
    remedy = "use a store that honours If-None-Match and If-Match, or set s3.allow_unsafe_writes and risk lost updates"
    return failed("conditions", f"{detail}; such writes are refused", remedy=remedy)


def _clock(address: str, options: S3Options) -> Finding:
    is_plain = urlsplit(options.endpoint_url or "").scheme == "http"
    kind = HTTPConnection if is_plain else HTTPSConnection
    connection = kind(address, timeout=options.connect_timeout_s)
    try:
        connection.request("HEAD", "/")
        told = connection.getresponse().getheader("Date")
        theirs_s = None if told is None else parsedate_to_datetime(told).timestamp()
    except (OSError, HTTPException, ValueError) as error:
        return weaker("clock", f"the endpoint does not tell its time: {error}", remedy="nothing to do if writes work")
    finally:
        connection.close()
    if theirs_s is None:
        return weaker("clock", "the endpoint does not tell its time", remedy="nothing to do if writes work")
    return clock_finding(theirs_s - time.time(), refused_from_s=OFFSET_REFUSED_S)
