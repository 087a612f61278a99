"""Whether what the agents of one file were told fits a single register with compare-and-swap.

The search of Wing and Gong ("Testing and verifying concurrent objects", 1993) with the memory of configurations of Lowe
("Testing for linearizability", 2017) over the linked list of Horn and Kroening ("Faster linearizability checking via
P-compositionality", 2015): place an operation that nothing must precede, go on from the content that it leaves, and
step back where no operation fits. Two things make it near linear for contents that are unique. An operation that
changes nothing is placed as soon as it fits, which never hurts. And a content then tells all changes that led to it,
so a configuration is met once.
"""

import itertools
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final

from tests.torture.history import Event, Outcome, Read, Replace

__all__ = ["Finding", "check"]

_HEAD: Final = 0
_FINAL: Final = "the end of the run"


@dataclass(frozen=True, slots=True)
class Finding:
    """Why a history is not linearizable: the event that fits nowhere, and those that it contradicts.

    Attributes:
        reason: One line about both.
        held: The content at the point up to which most events could be placed.
        stuck: The event that fits nowhere from there on.
        others: What it contradicts: the changes that made or replaced the content that it speaks of.
    """

    reason: str
    held: str | None
    stuck: Event
    others: tuple[Event, ...]

    def __str__(self) -> str:
        lines = [f"{self.stuck.key}: {self.reason}"]
        lines += [f"  {_told(event)}" for event in (self.stuck, *self.others)]
        return "\n".join(lines)


def check(events: Sequence[Event], *, initial: str | None, final: str | None) -> Finding | None:
    """Return `None` if the events of one file can have happened one after the other, else why not.

    `initial` and `final` are the digests of the content before all events and after all of them, `None` for no file.

    Raises:
        ValueError: the events are of several files, or one that was answered has no end.
    """
    keys = {event.key for event in events}
    if len(keys) > 1:
        raise ValueError(f"events of one file are checked at a time, not of {sorted(keys)}")
    last_ns = max((event.end_ns or event.begin_ns for event in events), default=0) + 1
    end = Event("".join(keys), _FINAL, Read(final), last_ns, last_ns, Outcome.DONE)
    dead_end = _Search([*events, end]).run(initial)
    return None if dead_end is None else _explained(dead_end, events, initial)


@dataclass(frozen=True, slots=True)
class _DeadEnd:
    """A content from which no open event could be placed, and the one among these that ended first."""

    placed: int
    held: str | None
    stuck: Event


@dataclass(frozen=True, slots=True)
class _Frame:
    """One step of the search: the change that led here, what was placed because of it, and what may come next."""

    change: int | None
    held: str | None
    absorbed: list[int]
    candidates: Iterator[int]


class _Search:
    """The search over the events that had an effect or say something; the others are left out.

    The list holds a call and a return for each event that must be placed, in the order of time; those of event `i` are
    the nodes `2i + 1` and `2i + 2`. UNKNOWN changes need no place; they stand beside it, by what they would replace.
    """

    def __init__(self, events: Sequence[Event]) -> None:
        self._events = events
        self._unknown: dict[str | None, list[int]] = {}
        self._placed = 0  # one bit per event
        self._placed_count = 0
        order: list[tuple[int, int, int]] = []
        for index, event in enumerate(events):
            if event.outcome is Outcome.UNKNOWN and isinstance(event.action, Replace):
                self._unknown.setdefault(event.action.before, []).append(index)
            elif _says_something(event):
                order += [(event.begin_ns, 0, 2 * index + 1), (_end_ns(event), 1, 2 * index + 2)]
        self._next = [_HEAD] * (2 * len(events) + 1)
        self._previous = [_HEAD] * (2 * len(events) + 1)
        for one, other in itertools.pairwise([_HEAD, *(node for _, _, node in sorted(order)), _HEAD]):
            self._next[one], self._previous[other] = other, one

    def run(self, initial: str | None) -> _DeadEnd | None:
        """Return `None` when all events have a place, else the dead end before which most of them had one."""
        seen: set[tuple[int, str]] = set()
        worst: _DeadEnd | None = None
        stack = [self._enter(None, initial)]
        while self._next[_HEAD] != _HEAD:
            step = self._step(stack[-1].candidates, seen)
            if step is not None:
                stack.append(self._enter(*step))
                continue
            frame = stack.pop()
            if worst is None or self._placed_count > worst.placed:
                worst = _DeadEnd(self._placed_count, frame.held, self._events[self._first_to_end()])
            self._leave(frame)
            if not stack:
                return worst
        return None

    def _step(self, candidates: Iterator[int], seen: set[tuple[int, str]]) -> tuple[int, str] | None:
        """Return the next change to try and the content after it, passing over what was tried before."""
        for index in candidates:
            action = self._events[index].action
            assert isinstance(action, Replace)
            configuration = (self._placed | 1 << index, action.after)
            if configuration not in seen:
                seen.add(configuration)
                return index, action.after
        return None

    def _enter(self, change: int | None, held: str | None) -> _Frame:
        """Place a change, and with it all open events that fit the content now and change nothing."""
        if change is not None:
            self._place(change)
        absorbed: list[int] = []
        candidates: list[int] = []
        passed = _HEAD
        while (node := self._next[passed]) % 2:  # up to the first return: what begins later comes after that event
            index = node // 2
            event = self._events[index]
            if _fits(event, held) and not _is_change(event):
                self._place(index)
                absorbed.append(index)
                continue
            if _fits(event, held):
                candidates.append(index)
            passed = node
        candidates += self._open_unknown(held)
        return _Frame(change, held, absorbed, iter(candidates))

    def _open_unknown(self, held: str | None) -> list[int]:
        """Return the UNKNOWN changes of the content that have begun before some open event ended."""
        if self._next[_HEAD] == _HEAD or held not in self._unknown:
            return []
        end_ns = _end_ns(self._events[self._first_to_end()])
        return [
            index
            for index in self._unknown[held]
            if not self._placed >> index & 1 and self._events[index].begin_ns <= end_ns
        ]

    def _first_to_end(self) -> int:
        node = self._next[_HEAD]
        while node % 2:
            node = self._next[node]
        return node // 2 - 1

    def _leave(self, frame: _Frame) -> None:
        for index in reversed(frame.absorbed):
            self._take_back(index)
        if frame.change is not None:
            self._take_back(frame.change)

    def _place(self, index: int) -> None:
        self._placed |= 1 << index
        if self._events[index].outcome is not Outcome.UNKNOWN:
            self._placed_count += 1
            for node in (2 * index + 1, 2 * index + 2):
                self._next[self._previous[node]] = self._next[node]
                self._previous[self._next[node]] = self._previous[node]

    def _take_back(self, index: int) -> None:
        self._placed ^= 1 << index
        if self._events[index].outcome is not Outcome.UNKNOWN:
            self._placed_count -= 1
            for node in (2 * index + 2, 2 * index + 1):
                self._next[self._previous[node]] = node
                self._previous[self._next[node]] = node


def _says_something(event: Event) -> bool:
    return event.outcome is Outcome.DONE or (event.outcome is Outcome.STALE and isinstance(event.action, Replace))


def _is_change(event: Event) -> bool:
    return isinstance(event.action, Replace) and event.outcome is not Outcome.STALE


def _fits(event: Event, held: str | None) -> bool:
    """Whether an event can happen while the content is `held`."""
    if isinstance(event.action, Read):
        return event.action.content == held
    return (event.action.before == held) is (event.outcome is not Outcome.STALE)


def _end_ns(event: Event) -> int:
    if event.end_ns is None:
        raise ValueError(f"an answer has no time: {event}")
    return event.end_ns


def _explained(dead_end: _DeadEnd, events: Sequence[Event], initial: str | None) -> Finding:
    stuck = dead_end.stuck
    content = stuck.action.before if isinstance(stuck.action, Replace) else stuck.action.content
    makers = [event for event in events if isinstance(event.action, Replace) and event.action.after == content]
    takers = [event for event in events if _has_replaced(event, content, by=stuck)]
    shown = _shown(content)
    if stuck.outcome is Outcome.STALE:
        reason, others = f"a change was refused as stale while {shown} stood there all the time", makers
    elif content != initial and not makers:
        reason, others = f"{_said(stuck)} {shown}, which nobody wrote", []
    elif content != initial and all(event.outcome in {Outcome.STALE, Outcome.FAILED} for event in makers):
        reason, others = f"{_said(stuck)} {shown}, although that change was refused", makers
    elif content != initial and all(event.begin_ns > _end_ns(stuck) for event in makers):
        reason, others = f"{_said(stuck)} {shown}, which was written only later", makers
    elif takers and isinstance(stuck.action, Replace):
        reason, others = f"{_said(stuck)} {shown}, which another acknowledged change replaced too: one is lost", takers
    elif takers:
        reason, others = f"{_said(stuck)} {shown}, although an acknowledged change had replaced it", takers
    else:
        reason, others = f"{_said(stuck)} {shown}, which cannot have stood there then", makers
    return Finding(f"{reason} (last possible content: {_shown(dead_end.held)})", dead_end.held, stuck, tuple(others))


def _has_replaced(event: Event, content: str | None, *, by: Event) -> bool:
    """Whether an acknowledged change other than `by` took `content` away: at any time, or for a read before it."""
    if event is by or event.outcome is not Outcome.DONE or not isinstance(event.action, Replace):
        return False
    return event.action.before == content and (isinstance(by.action, Replace) or _end_ns(event) < by.begin_ns)


def _said(event: Event) -> str:
    if isinstance(event.action, Replace):
        return "an acknowledged change replaced"
    return "in the end there was" if event.agent == _FINAL else "a read saw"


def _shown(content: str | None) -> str:
    return "no file" if content is None else content


def _told(event: Event) -> str:
    action = event.action
    what = (
        f"read {_shown(action.content)}"
        if isinstance(action, Read)
        else f"replace {_shown(action.before)} by {action.after}"
    )
    return f"[{event.begin_ns} .. {event.end_ns}] {event.agent}: {what}: {event.outcome.value}"
