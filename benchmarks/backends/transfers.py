"""A hundred megabytes: what a first page has to see, and a safe put, against the shortest way over the wire."""

from collections.abc import Sequence
from contextlib import ExitStack
from functools import partial
from pathlib import Path
from typing import Final

from anyio import to_thread

from benchmarks.backends.arena import SEAM, Arena
from benchmarks.backends.stores import S3Store, SftpStore
from benchmarks.measure.case import Case, Contender, NotInstalled
from benchmarks.measure.compare import Comparison, compare
from benchmarks.measure.plan import MB, Plan
from benchmarks.measure.report import Goal, Report
from benchmarks.peers import openssh_sftp as program
from benchmarks.peers.raw_aiobotocore import RAW_AIOBOTOCORE, raw_aiobotocore

__all__ = ["measure_s3_scan", "measure_sftp_transfers"]

_LARGE_BYTES: Final = 100 * MB
_LARGE: Final = "large.py"
_NEW: Final = "new.py"
_NOWHERE: Final = "/dev/null"
_GCM: Final = f"{program.NAME}, aes128-gcm"
_FLUSHED: Final = f"{program.NAME}, put -f"
_NOTE: Final = "one session, its login is not timed; in place, not flushed"
_SCAN_NOTE: Final = "checked and indexed as text"

_SCAN_GOAL: Final = Goal("S3: scan of 100 MB over a raw GET", SEAM, RAW_AIOBOTOCORE.name, "at most", 1.3)
_GET_GOAL: Final = Goal("SFTP: scan of 100 MB over sftp get", SEAM, program.NAME, "at most", 1.1)
_PUT_GOAL: Final = Goal("SFTP: safe put of 100 MB over sftp put", SEAM, program.NAME, "at most", 1.3)


async def measure_s3_scan(plan: Plan, report: Report, arena: Arena, store: S3Store) -> None:
    """Compare the first page of a large object with one GET that drops what it gets."""
    await arena.put(_LARGE, _LARGE_BYTES)
    seam = arena.seam()
    async with raw_aiobotocore(store.access) as raw:
        contenders = [
            Contender(SEAM, partial(seam.page, _LARGE), prepare=seam.forget, note=_SCAN_NOTE, may_be_slow=True),
            Contender(RAW_AIOBOTOCORE.name, partial(raw.drain, _LARGE), note="one GET, dropped piece by piece"),
        ]
        comparison = await compare(
            arena.case("first page", size_bytes=_LARGE_BYTES, position="start"),
            contenders,
            base=RAW_AIOBOTOCORE.name,
            rounds=plan.rounds,
            budget_s=plan.budget_s,
        )
    report.add(comparison, _SCAN_GOAL)


async def measure_sftp_transfers(plan: Plan, report: Report, arena: Arena, store: SftpStore) -> None:
    """Compare the first page and a new file of 100 MB with get and put of OpenSSH's program."""
    made = await arena.put(_LARGE, _LARGE_BYTES)
    if program.version() is None:
        missing = NotInstalled(program.NAME, program.INSTALL)
        report.add(await _get(plan, arena, [missing]), _GET_GOAL)
        report.add(await _put(plan, arena, store, made.path, [missing]), _PUT_GOAL)
        return
    with ExitStack() as stack:
        session = await to_thread.run_sync(stack.enter_context, program.openssh_sftp(store.access))
        gets = [Contender(program.NAME, partial(session.get, _LARGE, _NOWHERE), note=_NOTE)]
        if plan.is_full:
            gcm = program.openssh_sftp(store.access, cipher="aes128-gcm@openssh.com")
            other = await to_thread.run_sync(stack.enter_context, gcm)
            gets.append(
                Contender(
                    _GCM, partial(other.get, _LARGE, _NOWHERE), note="the cipher that ours prefers", may_be_slow=True
                )
            )
        report.add(await _get(plan, arena, gets), _GET_GOAL)
        forget = partial(_remove, store)
        puts = [
            Contender(program.NAME, partial(session.put, str(made.path), _NEW), prepare=forget, note=_NOTE),
            Contender(
                _FLUSHED,
                partial(session.put, str(made.path), _NEW, flush=True),
                prepare=forget,
                note="written in place, flushed to the disk",
                may_be_slow=True,
            ),
        ]
        report.add(await _put(plan, arena, store, made.path, puts), _PUT_GOAL)


async def _get(plan: Plan, arena: Arena, theirs: Sequence[Contender | NotInstalled]) -> Comparison:
    seam = arena.seam()
    ours = Contender(SEAM, partial(seam.page, _LARGE), prepare=seam.forget, note=_SCAN_NOTE, may_be_slow=True)
    case = arena.case("first page", size_bytes=_LARGE_BYTES, position="start")
    return await _compared(plan, case, [ours, *theirs])


async def _put(
    plan: Plan, arena: Arena, store: SftpStore, source: Path, theirs: Sequence[Contender | NotInstalled]
) -> Comparison:
    seam = arena.seam()
    text = await to_thread.run_sync(partial(source.read_text, encoding="utf-8"))

    def start_over() -> None:
        _remove(store)
        seam.forget()

    ours = Contender(
        SEAM,
        partial(seam.write, _NEW, text),
        prepare=start_over,
        note="staged, flushed, verified and then published",
        may_be_slow=True,
    )
    return await _compared(plan, arena.case("new file", size_bytes=_LARGE_BYTES), [ours, *theirs])


async def _compared(plan: Plan, case: Case, contenders: Sequence[Contender | NotInstalled]) -> Comparison:
    """Compare with the program if it is there."""
    base = program.NAME if isinstance(contenders[1], Contender) else SEAM
    return await compare(case, contenders, base=base, rounds=plan.rounds, budget_s=1.5 * plan.budget_s)


def _remove(store: SftpStore) -> None:
    (store.access.directory / _NEW).unlink(missing_ok=True)
