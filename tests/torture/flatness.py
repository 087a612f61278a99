"""Whether what a process holds stays level: resident memory, descriptors and threads over time. Pure.

Each series is fitted with the median of the slopes between all pairs of samples (Theil and Sen), which neither single
peaks nor up to a quarter of bad samples move. What counts is the growth that the fit gives over the whole series.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations
from statistics import median
from typing import Final

__all__ = ["RSS_GROWTH_BYTES_MAX", "SAMPLES_MIN", "Growth", "Sample", "findings", "growths"]

RSS_GROWTH_BYTES_MAX: Final = 8 << 20
"""What the allocator may still take after all caches are full: arenas of a few threads, and their fragmentation."""

_COUNT_GROWTH_MAX: Final = 0.5
"""Of descriptors and threads. They come and go in whole numbers, so a fit that grows by one is a leak."""

SAMPLES_MIN: Final = 10
"""Fewer say nothing."""

_SAMPLES_MAX: Final = 400
"""More are thinned out: the pairs grow with the square."""


@dataclass(frozen=True, slots=True)
class Sample:
    """What the process held at one moment."""

    at_s: float
    rss_bytes: int
    descriptors: int
    threads: int


@dataclass(frozen=True, slots=True)
class Growth:
    """How one quantity went from the first sample to the last, by the fit."""

    what: str
    typical: float
    growth: float
    growth_max: float

    @property
    def is_level(self) -> bool:
        """Whether it grew no more than it may."""
        return self.growth <= self.growth_max

    def __str__(self) -> str:
        verdict = "level" if self.is_level else "GROWS"
        if self.what == "memory":
            mib = 1 << 20
            return (
                f"memory {verdict}: {self.typical / mib:.1f} MiB, {self.growth / mib:+.2f} MiB by the fit, "
                f"at most {self.growth_max / mib:+.2f}"
            )
        return f"{self.what} {verdict}: {self.typical:g}, {self.growth:+.2f} by the fit, at most {self.growth_max:+.2f}"


def growths(samples: Sequence[Sample]) -> tuple[Growth, ...]:
    """Return how memory, descriptors and threads went.

    Raises:
        ValueError: there are fewer than `SAMPLES_MIN` samples.
    """
    if len(samples) < SAMPLES_MIN:
        raise ValueError(f"{len(samples)} samples are too few to judge")
    thinned = samples[:: -(-len(samples) // _SAMPLES_MAX)]
    times = [sample.at_s for sample in thinned]
    series = (
        ("memory", [float(sample.rss_bytes) for sample in thinned], float(RSS_GROWTH_BYTES_MAX)),
        ("descriptors", [float(sample.descriptors) for sample in thinned], _COUNT_GROWTH_MAX),
        ("threads", [float(sample.threads) for sample in thinned], _COUNT_GROWTH_MAX),
    )
    duration_s = samples[-1].at_s - samples[0].at_s
    return tuple(Growth(what, median(values), _slope(times, values) * duration_s, top) for what, values, top in series)


def findings(samples: Sequence[Sample]) -> tuple[str, ...]:
    """Return what grows, one line each."""
    return tuple(str(growth) for growth in growths(samples) if not growth.is_level)


def _slope(times: Sequence[float], values: Sequence[float]) -> float:
    pairs = combinations(zip(times, values, strict=True), 2)
    return median((later - earlier) / (end - start) for (start, earlier), (end, later) in pairs if end > start)
