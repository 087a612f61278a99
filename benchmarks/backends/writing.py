"""Edits of remote files, and new ones."""

from functools import partial
from itertools import count

from anyio import to_thread

from benchmarks.backends.access import OpenedPeer
from benchmarks.backends.arena import SEAM, Arena
from benchmarks.measure.case import Contender
from benchmarks.measure.compare import compare
from benchmarks.measure.plan import KB, MB, Plan
from benchmarks.measure.report import Report

__all__ = ["measure_writes"]

_NEW_BYTES = 4 * KB


async def measure_writes(plan: Plan, report: Report, arena: Arena) -> None:
    """Compare edits just after a read, and new files, with peers that put without a guard."""
    for size_bytes in (100 * KB, 10 * MB):
        await _edits(plan, report, arena, size_bytes)
    await _new_files(plan, report, arena)


async def _edits(plan: Plan, report: Report, arena: Arena, size_bytes: int) -> None:
    """Content of up to 1 MiB that was seen is still at hand; what is larger has to be fetched for its edit."""
    ours, theirs = f"edit-{size_bytes}.py", f"put-{size_bytes}.py"
    made = await arena.put(ours, size_bytes)
    data = await to_thread.run_sync(made.path.read_bytes)
    seam = arena.seam()
    await seam.page(ours)
    contenders = [Contender(SEAM, partial(seam.edit, ours), note="guarded, and returns a difference")]
    for peer in arena.peers:
        if isinstance(peer, OpenedPeer) and peer.name == arena.base:
            await peer.files.write(theirs, data)
            work = partial(_fetch_and_put, peer, theirs, data)
            contenders.append(Contender(f"{peer.name}, fetch and put", work, note=peer.note))
    case = arena.case("edit after a read", size_bytes=size_bytes, position="start")
    report.add(
        await compare(case, contenders, base=contenders[-1].name, rounds=plan.rounds, budget_s=plan.budget_s / 4)
    )


async def _fetch_and_put(peer: OpenedPeer, name: str, data: bytes) -> None:
    await peer.files.read(name)
    await peer.files.write(name, data)


async def _new_files(plan: Plan, report: Report, arena: Arena) -> None:
    made = await to_thread.run_sync(arena.material.file, _NEW_BYTES)
    data = await to_thread.run_sync(made.path.read_bytes)
    text = data.decode()
    seam = arena.seam()
    numbers = count()

    async def ours() -> None:
        await seam.write(f"new/{next(numbers)}.py", text)

    async def theirs(peer: OpenedPeer) -> None:
        await peer.files.write(f"new-{next(numbers)}.py", data)

    contenders = [
        Contender(SEAM, ours, note="only if nothing is there"),
        *(
            Contender(peer.name, partial(theirs, peer), note=peer.note) if isinstance(peer, OpenedPeer) else peer
            for peer in arena.peers
        ),
    ]
    case = arena.case("new file", size_bytes=_NEW_BYTES)
    report.add(await compare(case, contenders, base=arena.base, rounds=plan.rounds, budget_s=plan.budget_s / 4))
