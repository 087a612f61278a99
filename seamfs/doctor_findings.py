"""What an examination of a store comes to."""

from dataclasses import dataclass
from enum import StrEnum

__all__ = ["Finding", "Status", "failed", "passed", "weaker"]


class Status(StrEnum):
    """Fine; works with a weaker promise; does not work."""

    PASS = "pass"  # noqa: S105 - a verdict, not a password
    WEAKER = "weaker"
    FAIL = "fail"


@dataclass(frozen=True, slots=True)
class Finding:
    """One line: a verdict on a subject, the reason, and what would mend it."""

    status: Status
    subject: str
    detail: str
    remedy: str = ""


def passed(subject: str, detail: str) -> Finding:
    """Return a finding that needs nothing."""
    return Finding(Status.PASS, subject, detail)


def weaker(subject: str, detail: str, *, remedy: str) -> Finding:
    """Return a finding about a promise that holds only in part."""
    return Finding(Status.WEAKER, subject, detail, remedy)


def failed(subject: str, detail: str, *, remedy: str) -> Finding:
    """Return a finding about something that does not work."""
    return Finding(Status.FAIL, subject, detail, remedy)
