"""The order in which the calls of one turn run."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Final, TypeAlias, TypeVar

import anyio

__all__ = ["ALONE", "Alone", "Keyed", "Lane", "Shared", "may_overlap", "run_in_lanes"]

ItemT = TypeVar("ItemT")
ResultT = TypeVar("ResultT")


@dataclass(frozen=True, slots=True)
class Shared:
    """May overlap with other shared calls."""

    is_ordered: bool = True


@dataclass(frozen=True, slots=True)
class Keyed:
    """May overlap with keyed calls of another key; those of the same key keep their order."""

    key: str
    is_ordered: bool = True


@dataclass(frozen=True, slots=True)
class Alone:
    """Overlaps with nothing, and nothing moves across it."""

    is_ordered: bool = True


Lane: TypeAlias = Shared | Keyed | Alone

ALONE: Final = Alone()


def may_overlap(one: Lane, other: Lane) -> bool:
    """Tell whether two calls that arrive one by one may run at the same time.

    Those that are not ordered always may: a client that sends them together does not want one to wait for the other.
    (The calls of a turn all come at once, and there the order of the model counts: see `run_in_lanes`.)
    """
    if not (one.is_ordered and other.is_ordered):
        return True
    match one, other:
        case Shared(), Shared():
            return True
        case Keyed(key), Keyed(other_key):
            return key != other_key
        case _:
            return False


async def run_in_lanes(
    items: Sequence[ItemT],
    lane_of: Callable[[ItemT], Lane],
    run: Callable[[ItemT], Awaitable[ResultT]],
    *,
    overlap_max: int,
) -> list[ResultT]:
    """Run all items, consecutive ones of the same kind of lane overlapping, and return results in the given order.

    Args:
        items: The calls, in model order.
        lane_of: Asked when the group that an item belongs to is about to start, not before: an earlier call may
            change the answer.
        run: Runs one.
        overlap_max: How many run at once at most.
    """
    results: dict[int, ResultT] = {}

    async def run_chain(chain: Iterable[int]) -> None:
        for index in chain:
            results[index] = await run(items[index])

    start = 0
    while start < len(items):
        chains, start = _next_group(items, start, lane_of)
        if len(chains) == 1:
            await run_chain(chains[0])
        else:
            await _overlapping(chains, run_chain, overlap_max)
    return [results[index] for index in range(len(items))]


async def _overlapping(
    chains: Sequence[Sequence[int]], run_chain: Callable[[Sequence[int]], Awaitable[None]], overlap_max: int
) -> None:
    waiting = iter(chains)

    async def work() -> None:
        for chain in waiting:
            await run_chain(chain)

    async with anyio.create_task_group() as workers:
        for _ in range(min(overlap_max, len(chains))):
            workers.start_soon(work)


def _next_group(items: Sequence[ItemT], start: int, lane_of: Callable[[ItemT], Lane]) -> tuple[list[list[int]], int]:
    """Return the chains of indexes that may overlap from `start` on, and where the next group starts."""
    first = lane_of(items[start])
    chains: dict[object, list[int]] = {_chain_key(first, start): [start]}
    end = start + 1
    while end < len(items) and not isinstance(first, Alone):
        lane = lane_of(items[end])
        if type(lane) is not type(first):
            break
        chains.setdefault(_chain_key(lane, end), []).append(end)
        end += 1
    return list(chains.values()), end


def _chain_key(lane: Lane, index: int) -> object:
    return lane.key if isinstance(lane, Keyed) else index
