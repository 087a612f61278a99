"""Times of several contenders that take turns, so that what else the machine does meets all of them alike.

Every round runs every contender, in an order that moves on by one from round to round. The base takes part twice, as
itself and as "... again": the ratio of the two is the noise of the run. A ratio is the median over the rounds of the
ratio within a round.
"""

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from inspect import isawaitable
from statistics import median, quantiles
from time import perf_counter
from typing import Final

import anyio

from benchmarks.measure.case import Absent, Case, Contender, NotInstalled

__all__ = ["Comparison", "Spread", "Timing", "again", "compare"]

_ROUNDS_MIN: Final = 3
_RUNS_MAX: Final = 20
"""Of one contender in one round."""
_SLOT_S: Final = 0.03
"""After which a contender is not run again in that round; preparations count."""
_ONCE_S: Final = 3.0
"""A contender that takes longer, and may not be slow, is run once and told of without a ratio."""

_TURN_TIMEOUT_S: Final = 20.0
_SLOW_TURN_TIMEOUT_S: Final = 120.0

_PATH: Final = re.compile(r"(/[\w.+@-]+){2,}")


@dataclass(frozen=True, slots=True)
class Spread:
    """The median over the rounds, and the quartiles around it."""

    median: float
    low: float
    high: float


@dataclass(frozen=True, slots=True)
class Timing:
    """Seconds that every run of a contender took, by rounds."""

    name: str
    note: str
    rounds: tuple[tuple[float, ...], ...]

    @property
    def median_s(self) -> float:
        """Return the median over all runs."""
        return median(time_s for one in self.rounds for time_s in one)


@dataclass(frozen=True, slots=True)
class Comparison:
    """All times of a case."""

    case: Case
    base: str
    timings: tuple[Timing, ...]
    absent: tuple[Absent, ...]

    def timing(self, name: str) -> Timing | None:
        """Return the times of one contender, if there are any."""
        return next((timing for timing in self.timings if timing.name == name), None)

    def ratio(self, of: str, over: str | None = None) -> Spread | None:
        """Return time over time, by default over the base's; `None` if one of them has none."""
        pairs = self._pairs(of, self.base if over is None else over)
        return None if pairs is None else _spread([one / other for one, other in pairs])

    def difference_s(self, of: str, over: str) -> Spread | None:
        """Return how much longer one takes than another, in seconds."""
        pairs = self._pairs(of, over)
        return None if pairs is None else _spread([one - other for one, other in pairs])

    @property
    def noise(self) -> Spread | None:
        """Return the base's time over its own."""
        return self.ratio(again(self.base))

    def _pairs(self, of: str, over: str) -> list[tuple[float, float]] | None:
        """Return the medians of two within every round."""
        upper, lower = self.timing(of), self.timing(over)
        if upper is None or lower is None:
            return None
        return [(median(one), median(other)) for one, other in zip(upper.rounds, lower.rounds, strict=True)]


def _spread(values: Sequence[float]) -> Spread:
    low, middle, high = quantiles(values, n=4, method="inclusive")
    return Spread(median=middle, low=low, high=high)


@dataclass(slots=True)
class _Lane:
    """A contender in the running."""

    contender: Contender
    rounds: list[tuple[float, ...]] = field(default_factory=list[tuple[float, ...]])
    failure: str = ""


def again(base: str) -> str:
    """Return the name under which the base takes part a second time."""
    return f"{base} again"


async def compare(
    case: Case,
    contenders: Sequence[Contender | NotInstalled | Absent],
    *,
    base: str,
    rounds: int,
    budget_s: float,
) -> Comparison:
    """Run all contenders against each other.

    There are `rounds` rounds, fewer when `budget_s` has passed, but no fewer than three, after one that is not
    counted. In a round a fast contender runs several times, until its slot of 30 ms is over. One that fails, or takes
    seconds, is out from then on and is shown with the reason.

    Args:
        case: What is compared.
        contenders: Those who take part; the name of one of them is `base`.
        base: The contender that ratios are to.
        rounds: How many rounds are wanted.
        budget_s: When to be content with fewer, preparations included.

    Raises:
        ValueError: No contender has the name `base`.
    """
    able = [each for each in contenders if isinstance(each, Contender)]
    first = next((each for each in able if each.name == base), None)
    if first is None:
        raise ValueError(f"no contender is called {base!r}")
    lanes = [_Lane(each) for each in [*able, replace(first, name=again(base))]]
    started_s = perf_counter()
    for lane in lanes:
        await _turn(lane, runs_max=1)
        is_kept = lane.contender.may_be_slow or lane.contender.name in {base, again(base)}
        if not lane.failure and not is_kept and lane.rounds[0][0] > _ONCE_S:
            lane.failure = f"not repeated, as it took {lane.rounds[0][0]:.1f} s"
        lane.rounds.clear()
    for number in range(rounds):
        if number >= _ROUNDS_MIN and perf_counter() - started_s > budget_s:
            break
        start = number % len(lanes)
        for lane in lanes[start:] + lanes[:start]:
            await _turn(lane, runs_max=_RUNS_MAX)
    return Comparison(
        case=case,
        base=base,
        timings=tuple(
            Timing(lane.contender.name, lane.contender.note, tuple(lane.rounds)) for lane in lanes if not lane.failure
        ),
        absent=(*(Absent(lane.contender.name, lane.failure) for lane in lanes if lane.failure), *_absent(contenders)),
    )


def _absent(contenders: Iterable[Contender | NotInstalled | Absent]) -> Iterator[Absent]:
    for each in contenders:
        if isinstance(each, NotInstalled):
            yield Absent(each.name, f"not installed: `{each.install}`")
        elif isinstance(each, Absent):
            yield each


async def _turn(lane: _Lane, *, runs_max: int) -> None:
    """Let one contender have its slot of a round."""
    if lane.failure:
        return
    times: list[float] = []
    end_s = perf_counter() + _SLOT_S
    try:
        with anyio.fail_after(_SLOW_TURN_TIMEOUT_S if lane.contender.may_be_slow else _TURN_TIMEOUT_S):
            while not times or (len(times) < runs_max and perf_counter() < end_s):
                times.append(await _timed_s(lane.contender))
    except Exception as error:  # noqa: BLE001 - whatever a contender fails of, the others are measured and it is shown
        text = " ".join(f"{type(error).__name__}: {error}".split())
        lane.failure = f"failed: {_PATH.sub('PATH', text)[:200]}"
    lane.rounds.append(tuple(times))


async def _timed_s(contender: Contender) -> float:
    if contender.prepare is not None:
        await _done(contender.prepare())
    started_s = perf_counter()
    await _done(contender.run())
    return perf_counter() - started_s


async def _done(result: object) -> None:
    if isawaitable(result):
        await result
