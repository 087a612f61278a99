"""Histories of a correct register under agents that are slow, refused and cut off, and ways to falsify them."""

import heapq
import itertools
import random
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum

from tests.torture.history import Event, Outcome, Read, Replace

__all__ = ["History", "Mutation", "mutated", "simulated"]

_KEY = "file.txt"
_STEP_NS_MAX = 20
_LATE_NS_MAX = 400
_FAILED_SHARE = 0.05
_CHANGE_SHARE = 0.6


@dataclass(frozen=True, slots=True)
class History:
    """Events in the order in which they began, and what there was before and after them."""

    events: tuple[Event, ...]
    initial: str | None
    final: str | None


def simulated(seed: int, *, events: int, agents: int, unknown: int = 0) -> History:
    """Return a linearizable history: every operation took effect at one moment between its begin and its end.

    Of the `unknown` changes that got no answer about half took effect, some long after.
    """
    return _Simulation(random.Random(seed), events=events, agents=agents, unknown=unknown).run()


class _Simulation:
    """Agents that read, and change what they have seen last, on one clock."""

    def __init__(self, chance: random.Random, *, events: int, agents: int, unknown: int) -> None:
        self._chance = chance
        self._cut_off = frozenset(chance.sample(range(events), unknown))
        self._numbers = iter(range(events))
        self._order = itertools.count()
        self._held: str | None = chance.choice((None, "first"))
        self._seen: dict[int, str | None] = dict.fromkeys(range(agents), self._held)
        self._is_ahead = dict.fromkeys(range(agents), True)  # whether what was seen may be changed without a read
        self._told: list[Event] = []
        self._moments: list[tuple[int, int, Callable[[int], None]]] = []

    def run(self) -> History:
        """Let all agents act until the operations are used up."""
        initial = self._held
        for agent in self._seen:
            self._later(0, lambda now_ns, agent=agent: self._begin(agent, now_ns))
        while self._moments:
            now_ns, _, act = heapq.heappop(self._moments)
            act(now_ns)
        told = sorted(self._told, key=lambda event: event.begin_ns)
        return History(tuple(told), initial, self._held)

    def _later(self, now_ns: int, act: Callable[[int], None], *, at_most_ns: int = _STEP_NS_MAX) -> int:
        at_ns = now_ns + self._chance.randrange(1, at_most_ns)
        heapq.heappush(self._moments, (at_ns, next(self._order), act))
        return at_ns

    def _begin(self, agent: int, now_ns: int) -> None:
        number = next(self._numbers, None)
        if number is None:
            return
        if number in self._cut_off:
            self._begin_cut_off(agent, Replace(self._seen[agent], f"c{number}"), now_ns)
        elif self._is_ahead[agent] and self._chance.random() < _CHANGE_SHARE:
            change = Replace(self._seen[agent], f"c{number}")
            self._later(now_ns, lambda effect_ns: self._change(agent, change, now_ns, effect_ns))
        else:
            self._later(now_ns, lambda effect_ns: self._read(agent, now_ns, effect_ns))

    def _begin_cut_off(self, agent: int, change: Replace, now_ns: int) -> None:
        def take_effect(_: int) -> None:
            if self._held == change.before:
                self._held = change.after

        if self._chance.random() < 0.5:
            self._later(now_ns, take_effect, at_most_ns=self._chance.choice((_STEP_NS_MAX, _LATE_NS_MAX)))
        self._is_ahead[agent] = False
        self._told.append(Event(_KEY, f"agent{agent}", change, now_ns, None, Outcome.UNKNOWN))
        self._later(now_ns, lambda later_ns: self._begin(agent, later_ns))

    def _change(self, agent: int, change: Replace, begin_ns: int, effect_ns: int) -> None:
        if self._chance.random() < _FAILED_SHARE:
            outcome = Outcome.FAILED
        elif self._held != change.before:
            outcome = Outcome.STALE
            self._is_ahead[agent] = False
        else:
            outcome = Outcome.DONE
            self._held = self._seen[agent] = change.after
        self._answer(agent, change, begin_ns, effect_ns, outcome)

    def _read(self, agent: int, begin_ns: int, effect_ns: int) -> None:
        self._seen[agent] = self._held
        self._is_ahead[agent] = True
        self._answer(agent, Read(self._held), begin_ns, effect_ns, Outcome.DONE)

    def _answer(self, agent: int, action: Read | Replace, begin_ns: int, effect_ns: int, outcome: Outcome) -> None:
        end_ns = self._later(effect_ns, lambda now_ns: self._begin(agent, now_ns))
        self._told.append(Event(_KEY, f"agent{agent}", action, begin_ns, end_ns, outcome))


class Mutation(StrEnum):
    """How a history is made one that no register can have."""

    LOST_UPDATE = "lost update"
    STALE_READ = "stale read"
    DOUBLE_APPLY = "double apply"
    REFUSED_YET_APPLIED = "refused yet applied"
    ACKNOWLEDGED_YET_MISSING = "acknowledged yet missing"
    READ_FROM_THE_FUTURE = "read from the future"
    FALSE_STALE = "false stale"


def mutated(history: History, mutation: Mutation, *, seed: int) -> History:
    """Return the history with one lie in it, at a place where no order of the events can explain it."""
    chance = random.Random(seed)
    one = _MUTATIONS[mutation](history, chance)
    return replace(one, events=tuple(sorted(one.events, key=lambda event: event.begin_ns)))


def _lost_update(history: History, chance: random.Random) -> History:
    """Two changes of the same content are acknowledged."""
    first, change = chance.sample(_done_changes(history), 2)
    return _swapped(history, change, replace(change, action=Replace(_replaced(first).before, _replaced(change).after)))


def _stale_read(history: History, chance: random.Random) -> History:
    """A read sees what was replaced before it began."""
    change, read = _one_after_the_other(_done_changes(history), _done_reads(history), chance)
    return _swapped(history, read, replace(read, action=Read(_replaced(change).before)))


def _double_apply(history: History, chance: random.Random) -> History:
    """A change that others have built upon is applied once more, which is what stands there in the end."""
    done = [_replaced(event) for event in _done_changes(history)]
    built_upon = {change.before for change in done}
    return replace(history, final=chance.choice([change.after for change in done if change.after in built_upon]))


def _refused_yet_applied(history: History, chance: random.Random) -> History:
    """A read sees the content of a change that was refused."""
    refused = [event for event in history.events if event.outcome in {Outcome.STALE, Outcome.FAILED}]
    read = chance.choice(_done_reads(history))
    return _swapped(history, read, replace(read, action=Read(_replaced(chance.choice(refused)).after)))


def _acknowledged_yet_missing(history: History, chance: random.Random) -> History:
    """The last change is acknowledged, and what was there before it stands there in the end."""
    last_ns = max(event.end_ns or event.begin_ns for event in history.events)
    change = Replace(history.final, f"missing{chance.randrange(100)}")
    event = Event(_KEY, "agent0", change, last_ns + 1, last_ns + 2, Outcome.DONE)
    return replace(history, events=(*history.events, event))


def _read_from_the_future(history: History, chance: random.Random) -> History:
    """A read sees what was written only after it had ended."""
    read, change = _one_after_the_other(_done_reads(history), _done_changes(history), chance)
    return _swapped(history, read, replace(read, action=Read(_replaced(change).after)))


def _false_stale(history: History, chance: random.Random) -> History:
    """A change is refused as stale between two reads that saw what it would replace."""
    spans: list[tuple[str | None, int, int]] = []
    reads = itertools.groupby(_done_reads(history), key=lambda event: event.action)
    for action, group in reads:
        first, *_, last = [*group] * 2
        if isinstance(action, Read) and first.end_ns is not None and first.end_ns + 2 < last.begin_ns:
            spans.append((action.content, first.end_ns + 1, last.begin_ns - 1))
    content, begin_ns, end_ns = chance.choice(spans)
    event = Event(_KEY, "agent0", Replace(content, "refused"), begin_ns, end_ns, Outcome.STALE)
    return replace(history, events=(*history.events, event))


_MUTATIONS: dict[Mutation, Callable[[History, random.Random], History]] = {
    Mutation.LOST_UPDATE: _lost_update,
    Mutation.STALE_READ: _stale_read,
    Mutation.DOUBLE_APPLY: _double_apply,
    Mutation.REFUSED_YET_APPLIED: _refused_yet_applied,
    Mutation.ACKNOWLEDGED_YET_MISSING: _acknowledged_yet_missing,
    Mutation.READ_FROM_THE_FUTURE: _read_from_the_future,
    Mutation.FALSE_STALE: _false_stale,
}


def _done_changes(history: History) -> list[Event]:
    return [e for e in history.events if isinstance(e.action, Replace) and e.outcome is Outcome.DONE]


def _done_reads(history: History) -> list[Event]:
    return [e for e in history.events if isinstance(e.action, Read) and e.outcome is Outcome.DONE]


def _replaced(event: Event) -> Replace:
    assert isinstance(event.action, Replace)
    return event.action


def _one_after_the_other(ones: Sequence[Event], others: Sequence[Event], chance: random.Random) -> tuple[Event, Event]:
    """Return one of each such that the second began when the first had ended."""
    while True:
        one, other = chance.choice(ones), chance.choice(others)
        if one.end_ns is not None and one.end_ns < other.begin_ns:
            return one, other


def _swapped(history: History, old: Event, new: Event) -> History:
    return replace(history, events=tuple(new if event is old else event for event in history.events))
