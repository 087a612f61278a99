"""What a run of the benchmarks found: comparisons, single figures, and how they stand to the goals."""

import json
import sys
from collections.abc import Iterable
from dataclasses import asdict, dataclass, field
from typing import Literal

from benchmarks.measure.compare import Comparison
from benchmarks.measure.environment import Environment

__all__ = ["Figure", "Goal", "Report", "Sense", "Verdict"]

Sense = Literal["at most", "at least"]


@dataclass(frozen=True, slots=True)
class Goal:
    """The time of one contender over that of another has to be at most, or at least, `limit`."""

    what: str
    of: str
    over: str
    sense: Sense
    limit: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Verdict:
    """A goal and what was measured; `None` if that could not be measured, which `reason` explains.

    `low` and `high` are the quartiles, where there are some. The unit x is a ratio.
    """

    what: str
    sense: Sense
    limit: float
    measured: float | None
    low: float | None = None
    high: float | None = None
    unit: str = "x"
    reason: str = ""

    @property
    def is_met(self) -> bool:
        """Whether the goal is reached; what was not measured is not."""
        if self.measured is None:
            return False
        return self.measured <= self.limit if self.sense == "at most" else self.measured >= self.limit


@dataclass(frozen=True, slots=True, kw_only=True)
class Figure:
    """A single measured value that is no time of a comparison, such as memory."""

    group: str
    what: str
    name: str
    value: float
    unit: str
    note: str = ""


@dataclass(slots=True)
class Report:
    """Grows while the benchmarks run, so that an interrupted run shows what it has.

    `versions` are those of the peers and servers, put there by the group that runs them.
    """

    environment: Environment
    comparisons: list[Comparison] = field(default_factory=list[Comparison])
    figures: list[Figure] = field(default_factory=list[Figure])
    verdicts: list[Verdict] = field(default_factory=list[Verdict])
    versions: dict[str, str] = field(default_factory=dict[str, str])
    failures: list[str] = field(default_factory=list[str])

    def add(self, comparison: Comparison, *goals: Goal) -> None:
        """Take a comparison and judge the goals that it decides."""
        self.comparisons.append(comparison)
        self.verdicts += [_judged(goal, comparison) for goal in goals]
        case = comparison.case
        medians = (f"{timing.name} {timing.median_s * 1e3:.3g} ms" for timing in comparison.timings)
        print(f"{case.group}: {case.operation}: {case.row}: {', '.join(medians)}", file=sys.stderr, flush=True)

    def add_figures(self, figures: Iterable[Figure], *verdicts: Verdict) -> None:
        """Take single figures, and goals that were judged where they were measured."""
        for figure in figures:
            self.figures.append(figure)
            line = f"{figure.group}: {figure.what}: {figure.name}: {figure.value:.4g} {figure.unit}"
            print(line, file=sys.stderr, flush=True)
        self.verdicts += verdicts

    def to_json(self) -> str:
        """Return everything, with the time of every single run."""
        return json.dumps(asdict(self), indent=1)


def _judged(goal: Goal, comparison: Comparison) -> Verdict:
    ratio = comparison.ratio(goal.of, goal.over)
    if ratio is None:
        reasons = [f"{each.name}: {each.reason}" for each in comparison.absent if each.name in {goal.of, goal.over}]
        reason = "; ".join(reasons) or "one of the two was not run"
        return Verdict(what=goal.what, sense=goal.sense, limit=goal.limit, measured=None, reason=reason)
    return Verdict(
        what=goal.what, sense=goal.sense, limit=goal.limit, measured=ratio.median, low=ratio.low, high=ratio.high
    )
