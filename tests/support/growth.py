"""How the cost of something grows with its size, on a machine that does other things too."""

import time
from collections.abc import Callable
from math import inf
from typing import Final

__all__ = ["growth"]

_ROUNDS_MAX: Final = 8


def growth(small: Callable[[], object], large: Callable[[], object], *, enough: float, least_s: float = 0.0) -> float:
    """Return how many times as much of the processor the large work takes as the small one.

    Other work on the machine, which spoils caches and takes turns, only adds to the cost, so the least of several
    counts; it is measured again while the growth is not below `enough`.

    Args:
        small: What is measured several times in each round; the first time is for warming up.
        large: What is measured once in each round.
        enough: A growth below this needs no other round.
        least_s: What the small work is taken to cost at least.
    """
    _cost_s(small)
    small_s = large_s = inf
    for _ in range(_ROUNDS_MAX):
        small_s = min(small_s, *(_cost_s(small) for _ in range(5)))
        large_s = min(large_s, _cost_s(large))
        if large_s < enough * max(small_s, least_s):
            break
    return large_s / max(small_s, least_s)


def _cost_s(work: Callable[[], object]) -> float:
    started_s = time.thread_time()
    work()
    return time.thread_time() - started_s
