"""Pages of remote files, and many reads at once."""

from collections.abc import Callable, Coroutine, Sequence
from functools import partial
from typing import Final

import anyio

from benchmarks.backends.access import OpenedPeer
from benchmarks.backends.arena import COLD, WARM, Arena
from benchmarks.measure.case import Contender, NotInstalled
from benchmarks.measure.compare import compare
from benchmarks.measure.plan import KB, MB, Plan
from benchmarks.measure.report import Goal, Report

__all__ = ["measure_at_once", "measure_pages", "peer_reads"]

_SLOW_PEER: Final = "fsspec sftp"
"""A megabyte takes it seconds, or many round trips."""
_SMALL_BYTES: Final = 100 * KB
_AT_ONCE: Final = 64


async def measure_pages(plan: Plan, report: Report, arena: Arena) -> None:
    """Compare pages at the start, in the middle and at the end with the whole files that peers fetch for them."""
    sizes = [4 * KB, 100 * KB, 10 * MB]
    if plan.is_full and arena.store.name != "moto":
        sizes.append(200 * MB)
    for size_bytes in sizes:
        name = f"page-{size_bytes}.py"
        made = await arena.put(name, size_bytes)
        places = {"start": 1, "middle": made.lines // 2, "end": made.lines - 20}
        if size_bytes == sizes[0]:
            places = {"start": 1}
        peers = [each for each in arena.peers if size_bytes <= 100 * KB or each.name != _SLOW_PEER]
        for position, first_line in places.items():
            cold, warm = arena.seam(), arena.seam()
            ours = (
                Contender(WARM, partial(warm.page, name, first_line)),
                Contender(COLD, partial(cold.page, name, first_line), prepare=cold.forget),
            )
            comparison = await compare(
                arena.case("page", size_bytes=size_bytes, position=position),
                [*ours, *peer_reads(peers, name)],
                base=WARM,
                rounds=plan.rounds,
                budget_s=plan.budget_s / 4,
            )
            report.add(comparison)


async def measure_at_once(plan: Plan, report: Report, arena: Arena, *goals: Goal) -> None:
    """Compare many reads of whole small files at once; ours see the files for the first time, and again."""
    counts = (1, 8, _AT_ONCE) if plan.is_full else (_AT_ONCE,)
    names = [f"at-once-{number}.py" for number in range(_AT_ONCE)]
    for name in names:
        await arena.put(name, _SMALL_BYTES)
    peers = [each for each in arena.peers if not arena.latency_ms or each.name != _SLOW_PEER]
    for count in counts:
        some = names[:count]
        cold, warm = arena.seam(), arena.seam()
        contenders = [
            Contender(COLD, partial(_all_of, cold.everything, some), prepare=cold.forget, may_be_slow=True),
            Contender(WARM, partial(_all_of, warm.everything, some), may_be_slow=True),
            *(
                Contender(peer.name, partial(_all_of, peer.files.read, some), note=peer.note, may_be_slow=True)
                if isinstance(peer, OpenedPeer)
                else peer
                for peer in peers
            ),
        ]
        comparison = await compare(
            arena.case("reads at once", size_bytes=_SMALL_BYTES, concurrency=count),
            contenders,
            base=arena.base,
            rounds=plan.rounds,
            budget_s=plan.budget_s,
        )
        report.add(comparison, *(goals if count == _AT_ONCE else ()))


def peer_reads(peers: Sequence[OpenedPeer | NotInstalled], name: str) -> list[Contender | NotInstalled]:
    """Return what it costs each peer to have the file."""
    return [
        Contender(peer.name, partial(peer.files.read, name), note=peer.note) if isinstance(peer, OpenedPeer) else peer
        for peer in peers
    ]


async def _all_of(read: Callable[[str], Coroutine[None, None, object]], names: Sequence[str]) -> None:
    async with anyio.create_task_group() as reads:
        for name in names:
            reads.start_soon(read, name)
