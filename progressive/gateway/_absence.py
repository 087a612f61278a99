"""Telling a model which servers are missing, in one bounded line."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from progressive.gateway._link import MountStatus
from progressive.gateway._text import one_line

__all__ = ["absent_note"]

_NAMED_MAX = 8
_EXPLAINED_MAX = 4
_REASON_CHARS_MAX = 120


def absent_note(statuses: Iterable[MountStatus]) -> str | None:
    """Return which mounts are not connected, and why as far as it is known; None if all are.

    A mount that was lost or refused once counts as not connected while the next attempt runs.
    """
    absent = [status for status in statuses if status.state != "connected"]
    starting = [status.name for status in absent if not status.reason]
    missing = [f"{status.name} ({one_line(status.reason, _REASON_CHARS_MAX)})" for status in absent if status.reason]
    parts = [
        f"{what}: {_listed(items, items_max)}"
        for what, items, items_max in (
            ("still connecting", starting, _NAMED_MAX),
            ("not connected", missing, _EXPLAINED_MAX),
        )
        if items
    ]
    return "; ".join(parts) or None


def _listed(items: Sequence[str], items_max: int) -> str:
    more = len(items) - items_max
    return ", ".join(items[:items_max]) + (f" and {more} more" if more > 0 else "")
