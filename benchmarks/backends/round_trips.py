"""How many round trips an operation takes, and whether they are all that it waits for on a slow line."""

from collections.abc import Awaitable, Callable
from contextlib import AsyncExitStack
from dataclasses import dataclass
from functools import partial
from itertools import count
from statistics import median
from time import perf_counter
from typing import Final

from anyio import to_thread

from benchmarks.backends.arena import Arena, Seam
from benchmarks.backends.slow_link import SlowLink
from benchmarks.backends.stores import Store
from benchmarks.measure.plan import KB, MB, Plan
from benchmarks.measure.report import Figure, Report, Verdict
from seamfs import open_workspace

__all__ = ["measure_round_trips"]

_JUDGED_RTT_S: Final = 0.08
_EXPLAINED_MAX: Final = 1.2
_DIRECTORY: Final = "far"
_SMALL: Final = "far/small.py"
_LARGE: Final = "far/large.py"
_LARGE_BYTES: Final = 2 * MB
"""More than is kept of a file that was read, and little enough that its transfer is no matter on the slow line."""
_LISTED_MAX: Final = 1_000


@dataclass(frozen=True, slots=True)
class _Operation:
    """`prepare` is neither timed nor counted."""

    name: str
    run: Callable[[], Awaitable[object]]
    prepare: Callable[[], Awaitable[object]] | None = None


@dataclass(frozen=True, slots=True)
class _Explained:
    """Medians of one operation: its time, its round trips, and the one over the other."""

    name: str
    elapsed_s: float
    turns: float
    ratio: float


async def measure_round_trips(plan: Plan, report: Report, arena: Arena, link: SlowLink) -> None:
    """Count and time every operation on a slow line; at 80 ms the count has to explain the time."""
    operations = await _operations(arena)
    repeats = 7 if plan.is_full else 3
    found = [await _explained(operation, link, repeats=repeats) for operation in operations]
    what = f"{arena.store.name} at {arena.latency_ms} ms, time over round trips"
    figures = [
        Figure(
            group="backends",
            what=what,
            name=each.name,
            value=each.ratio,
            unit="x",
            note=f"{each.turns:g} round trip{'' if each.turns == 1 else 's'}, {each.elapsed_s * 1e3:.0f} ms",
        )
        for each in found
    ]
    if link.rtt_s != _JUDGED_RTT_S:
        report.add_figures(figures)
        return
    worst = max(found, key=lambda each: each.ratio)
    verdict = Verdict(
        what=f"{what}, the worst operation ({worst.name})", sense="at most", limit=_EXPLAINED_MAX, measured=worst.ratio
    )
    report.add_figures(figures, verdict)


async def _explained(operation: _Operation, link: SlowLink, *, repeats: int) -> _Explained:
    """Run an operation once to warm connections up, then measure it."""
    times_s: list[float] = []
    turns: list[int] = []
    for number in range(repeats + 1):
        if operation.prepare is not None:
            await operation.prepare()
        await to_thread.run_sync(link.reset)
        started_s = perf_counter()
        await operation.run()
        elapsed_s = perf_counter() - started_s
        passed = link.count()
        if number:
            times_s.append(elapsed_s)
            turns.append(passed.turns)
    ratios = [elapsed_s / (one * link.rtt_s) for elapsed_s, one in zip(times_s, turns, strict=True)]
    return _Explained(operation.name, median(times_s), median(turns), median(ratios))


async def _operations(arena: Arena) -> list[_Operation]:
    """Return what an agent does, one thing after another, on connections that are open but for the first."""
    for name, size_bytes in ((_SMALL, 4 * KB), (_LARGE, _LARGE_BYTES)):
        await arena.put(name, size_bytes)
    middle = arena.material.file(_LARGE_BYTES).lines // 2
    text = arena.material.file(4 * KB).path.read_text(encoding="utf-8")
    numbers = count()
    seam = arena.seam()
    opening = _Opening(arena.store)

    async def forget() -> None:
        seam.forget()

    return [
        _Operation("open and stat", opening.run, opening.close),
        _Operation("stat", partial(_stat, seam)),
        _Operation("list", partial(_list, seam)),
        _Operation("read of 4 KB", partial(seam.page, _SMALL), forget),
        _Operation("page of 2 MB, cold", partial(seam.page, _LARGE, middle), forget),
        _Operation("page of 2 MB, warm", partial(seam.page, _LARGE, middle)),
        _Operation("edit of 4 KB, content at hand", partial(seam.edit, _SMALL), partial(seam.page, _SMALL)),
        _Operation("edit of 2 MB, content not at hand", partial(seam.edit, _LARGE), partial(seam.page, _LARGE)),
        _Operation("new file of 4 KB", lambda: seam.write(f"far-new/{arena.latency_ms}-{next(numbers)}.py", text)),
    ]


class _Opening:
    """A workspace of its own, opened anew each time; the last one is closed before the next."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._opened = AsyncExitStack()

    async def run(self) -> None:
        """Open, and ask for something: a store need not be asked to be opened."""
        opening = open_workspace(self._store.url, settings=self._store.settings)
        workspace = await self._opened.enter_async_context(opening)
        await workspace.files.stat(await workspace.files.resolve(_SMALL))

    async def close(self) -> None:
        await self._opened.aclose()


async def _stat(seam: Seam) -> None:
    files = seam.workspace.files
    if await files.stat(await files.resolve(_SMALL)) is None:
        raise RuntimeError(f"{_SMALL} is gone")


async def _list(seam: Seam) -> None:
    files = seam.workspace.files
    await files.list(await files.resolve(_DIRECTORY), limit=_LISTED_MAX)
