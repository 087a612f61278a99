"""Trees on other machines: a flat listing of S3, and a walk over SFTP on a slow line."""

from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import AsyncExitStack, ExitStack
from pathlib import Path
from typing import Final

from anyio import to_thread

from benchmarks.backends.slow_link import slow_link
from benchmarks.backends.stores import S3Store, SftpStore
from benchmarks.measure.case import Case, Contender, NotInstalled
from benchmarks.measure.compare import compare
from benchmarks.measure.plan import Plan
from benchmarks.measure.report import Goal, Report
from benchmarks.peers.asyncssh import ASYNCSSH, asyncssh
from benchmarks.peers.fsspec_sftp import FSSPEC_SFTP, fsspec_sftp
from benchmarks.peers.naive_s3fs import NAIVE_S3FS, naive_s3fs
from benchmarks.peers.obstore import OBSTORE, obstore
from benchmarks.peers.raw_aiobotocore import RAW_AIOBOTOCORE, raw_aiobotocore
from benchmarks.search.asked import GLOB, GLOBBING, LISTING, SEAM, SeamSearch, checked, tree_case
from benchmarks.search.source_tree import SourceTree
from seamfs import open_workspace

__all__ = ["measure_s3", "measure_sftp", "put_all"]

_PUTS_AT_ONCE: Final = 8
_LATENCY_MS: Final = 20
_SFTP_GOAL: Final = Goal("SFTP at 20 ms: one directory after another over ours", ASYNCSSH.name, SEAM, "at least", 5.0)


async def measure_s3(plan: Plan, report: Report, store: S3Store, tree: SourceTree) -> None:
    """List a tree that is in a bucket, and compare with raw pages and with libraries."""
    async with AsyncExitStack() as stack:
        workspace = await stack.enter_async_context(open_workspace(store.url, settings=store.settings))
        raw = await stack.enter_async_context(raw_aiobotocore(store.access))
        s3fs = await stack.enter_async_context(naive_s3fs(store.access))
        seam = SeamSearch(workspace.session())
        pages = Contender(RAW_AIOBOTOCORE.name, checked(raw.names, tree.files), note="pages of keys, which are counted")
        listing = [
            Contender(SEAM, checked(seam.names, tree.files), may_be_slow=True),
            pages,
            Contender(NAIVE_S3FS.name, checked(s3fs.names, tree.files)),
            await _rust(stack, store, tree),
        ]
        goal = Goal(f"{store.name}: {LISTING} over a raw listing", SEAM, RAW_AIOBOTOCORE.name, "at most", 1.2)
        case = tree_case(LISTING, tree, store=store.name)
        await _compare(plan, report, case, listing, RAW_AIOBOTOCORE.name, goal)
        globbing = [
            Contender(SEAM, checked(seam.glob, tree.python_files), may_be_slow=True),
            pages,
            Contender(NAIVE_S3FS.name, checked(lambda: s3fs.glob(GLOB), tree.python_files)),
        ]
        case = tree_case(GLOBBING, tree, store=store.name)
        await _compare(plan, report, case, globbing, RAW_AIOBOTOCORE.name)


async def _rust(stack: AsyncExitStack, store: S3Store, tree: SourceTree) -> Contender | NotInstalled:
    if OBSTORE.version() is None:
        return NotInstalled(OBSTORE.name, OBSTORE.install)
    opened = await stack.enter_async_context(obstore(store.access))
    return Contender(OBSTORE.name, checked(opened.names, tree.files), note="pages of keys, read by a library in Rust")


async def measure_sftp(plan: Plan, report: Report, store: SftpStore, tree: SourceTree) -> None:
    """Walk a tree that an SFTP server has, at the end of a slow line; connections are open before."""
    with ExitStack() as line:
        link = await to_thread.run_sync(line.enter_context, slow_link(store.port, rtt_s=_LATENCY_MS / 1e3))
        there = store.through(link.port)
        async with AsyncExitStack() as stack:
            workspace = await stack.enter_async_context(open_workspace(there.url, settings=there.settings))
            one_by_one = await stack.enter_async_context(asyncssh(there.access))
            fsspec = await stack.enter_async_context(fsspec_sftp(there.access))
            seam = SeamSearch(workspace.session())
            note = "one directory after another"
            contenders = [
                Contender(SEAM, checked(seam.names, tree.files)),
                Contender(ASYNCSSH.name, checked(one_by_one.names, tree.files), note=note, may_be_slow=True),
                Contender(FSSPEC_SFTP.name, checked(fsspec.names, tree.files), note=note, may_be_slow=True),
            ]
            case = tree_case(LISTING, tree, store=store.name, latency_ms=_LATENCY_MS)
            await _compare(plan, report, case, contenders, SEAM, _SFTP_GOAL)


async def _compare(
    plan: Plan, report: Report, case: Case, contenders: Sequence[Contender | NotInstalled], base: str, *goals: Goal
) -> None:
    comparison = await compare(case, contenders, base=base, rounds=plan.rounds, budget_s=3 * plan.budget_s)
    report.add(comparison, *goals)


def put_all(store: S3Store, tree: SourceTree) -> None:
    """Put a tree of this machine into a bucket."""

    def put(path: Path) -> None:
        store.put(path.relative_to(tree.root).as_posix(), path.read_bytes())

    with ThreadPoolExecutor(_PUTS_AT_ONCE) as threads:
        for _ in threads.map(put, tree.paths()):
            pass
