"""What agents did to files and what they were told, as plain values, and the journal that survives a killed worker."""

import itertools
import json
import os
import time
from collections.abc import Iterable
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import Any

__all__ = ["Action", "Event", "Journal", "Outcome", "Read", "Replace", "load"]


class Outcome(StrEnum):
    """What the agent was told.

    DONE: acknowledged. STALE: refused because the file is not as seen, so at some moment of the operation its content
    was another one than `before`. FAILED: any other refusal. Neither refusal has an effect. UNKNOWN: no answer, or one
    that says so; the change may have had its effect once, at any time after its begin.
    """

    DONE = "done"
    STALE = "stale"
    FAILED = "failed"
    UNKNOWN = "unknown"


@dataclass(frozen=True, slots=True)
class Read:
    """A read; `content` is the digest of the whole content that was seen, `None` if nothing was there."""

    content: str | None


@dataclass(frozen=True, slots=True)
class Replace:
    """A change from the content `before` to `after`, as digests; `before` is `None` for a creation."""

    before: str | None
    after: str


Action = Read | Replace


@dataclass(frozen=True, slots=True)
class Event:
    """One operation. Times are of `time.monotonic_ns`, one clock for all processes of a machine.

    `end_ns` is `None` when no answer came.
    """

    key: str
    agent: str
    action: Action
    begin_ns: int
    end_ns: int | None
    outcome: Outcome


class Journal:
    """The operations of one worker process, one file of JSON lines each.

    Every line is one `write` to the kernel, so what was journalled is there after SIGKILL, and a change is journalled
    before it is tried. The times stand a little outside of the operation, which makes a history weaker, never wrong.
    """

    def __init__(self, path: Path) -> None:
        """Make the file.

        Raises:
            FileExistsError: the file exists; a worker that is started again writes another one.
        """
        self._fd = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_APPEND | os.O_CLOEXEC, 0o600)
        self._tokens = itertools.count()

    def begin(self, key: str, agent: str, change: Replace | None = None) -> int:
        """Note that a read, or `change`, begins now; give the token by which it ends."""
        token = next(self._tokens)
        line: dict[str, Any] = {"token": token, "begin_ns": time.monotonic_ns(), "key": key, "agent": agent}
        if change is not None:
            line |= {"before": change.before, "after": change.after}
        self._append(line)
        return token

    def end(self, token: int, outcome: Outcome, *, content: str | None = None) -> None:
        """Note that the operation ended just now; `content` is what a read saw."""
        end_ns = time.monotonic_ns()
        self._append({"token": token, "end_ns": end_ns, "outcome": outcome.value, "content": content})

    def close(self) -> None:
        """Release the file."""
        os.close(self._fd)

    def _append(self, line: dict[str, Any]) -> None:
        data = json.dumps(line).encode() + b"\n"
        if os.write(self._fd, data) != len(data):
            raise OSError(f"the journal took only a part of a line of {len(data)} bytes")


def load(paths: Iterable[Path]) -> list[Event]:
    """Return the events of several journals in the order in which they began.

    A change without an end is UNKNOWN, a read without one is left out. A cut last line is what a killed process leaves.

    Raises:
        ValueError: any other line is not of a journal.
    """
    events = [event for path in paths for event in _events(path)]
    return sorted(events, key=lambda event: event.begin_ns)


def _events(path: Path) -> list[Event]:
    *lines, _cut = path.read_bytes().split(b"\n")
    begun: dict[int, dict[str, Any]] = {}
    ended: dict[int, dict[str, Any]] = {}
    for line in lines:
        fields = json.loads(line)
        (begun if "begin_ns" in fields else ended)[fields["token"]] = fields
    events = (_event(fields, ended.get(token)) for token, fields in begun.items())
    return [event for event in events if event is not None]


def _event(begun: dict[str, Any], ended: dict[str, Any] | None) -> Event | None:
    is_change = "after" in begun
    if ended is None and not is_change:
        return None
    return Event(
        key=begun["key"],
        agent=begun["agent"],
        action=Replace(begun["before"], begun["after"]) if is_change else Read((ended or {}).get("content")),
        begin_ns=begun["begin_ns"],
        end_ns=None if ended is None else ended["end_ns"],
        outcome=Outcome.UNKNOWN if ended is None else Outcome(ended["outcome"]),
    )
