"""All measurements of searches: in a tree of this machine, in a bucket, and over SFTP."""

from collections.abc import Callable
from contextlib import AbstractContextManager, ExitStack
from functools import partial
from pathlib import Path
from typing import Final, TypeVar

import pytest
from anyio import to_thread

from benchmarks.backends.stores import S3Store, SftpStore, openssh_store, seaweedfs_store
from benchmarks.measure.plan import MB, Plan
from benchmarks.measure.report import Report
from benchmarks.peers.asyncssh import ASYNCSSH
from benchmarks.peers.fsspec_sftp import FSSPEC_SFTP
from benchmarks.peers.naive_s3fs import NAIVE_S3FS
from benchmarks.peers.obstore import OBSTORE
from benchmarks.peers.raw_aiobotocore import RAW_AIOBOTOCORE
from benchmarks.search.listing_server import listing_store, listing_tree
from benchmarks.search.local import measure_local
from benchmarks.search.remote import measure_s3, measure_sftp, put_all
from benchmarks.search.source_tree import make_tree

__all__ = ["run"]

_REMOTE_PEERS: Final = (RAW_AIOBOTOCORE, OBSTORE, NAIVE_S3FS, ASYNCSSH, FSSPEC_SFTP)

Store = TypeVar("Store", S3Store, SftpStore)

_LARGE_BYTES: Final = 500_000_000
_SMALL_BYTES: Final = 48 * MB
"""Of a tree that has enough files for several pages of a listing of S3."""

_KEYS: Final = 10_000
"""Of a bucket that has names alone."""

_TINY_BYTES: Final = 9 * MB
"""Of a tree of some forty directories, each of which is four round trips to one who asks for one after another."""


async def run(plan: Plan, report: Report) -> None:
    """Measure one after another."""
    report.versions |= {peer.name: peer.version() or f"not installed (`{peer.install}`)" for peer in _REMOTE_PEERS}
    small = await to_thread.run_sync(partial(make_tree, _directory(plan, "small"), size_bytes=_SMALL_BYTES))
    if plan.is_full:
        large = await to_thread.run_sync(partial(make_tree, _directory(plan, "large"), size_bytes=_LARGE_BYTES))
        await measure_local(plan, report, large)
    else:
        await measure_local(plan, report, small)
    with ExitStack() as stack:
        pages = await to_thread.run_sync(stack.enter_context, listing_store(_KEYS))
        await measure_s3(plan, report, pages, listing_tree(_KEYS))
    with ExitStack() as stack:
        bucket = await _started(report, stack, lambda: seaweedfs_store(_directory(plan, "searched-seaweedfs")))
        if bucket is not None:
            await to_thread.run_sync(put_all, bucket, small)
            await measure_s3(plan, report, bucket, small)
    with ExitStack() as stack:
        host = await _started(report, stack, lambda: openssh_store(_directory(plan, "searched-openssh")))
        if host is not None:
            make = partial(make_tree, host.access.directory, size_bytes=_TINY_BYTES, has_version_control=False)
            await measure_sftp(plan, report, host, await to_thread.run_sync(make))


async def _started(
    report: Report, stack: ExitStack, start: Callable[[], AbstractContextManager[Store]]
) -> Store | None:
    """Run a server; one that cannot be started is told of and left out."""
    try:
        return await to_thread.run_sync(stack.enter_context, start())
    except pytest.skip.Exception as missing:
        report.failures.append(f"search: {missing}")
        return None


def _directory(plan: Plan, name: str) -> Path:
    directory = plan.scratch / name
    directory.mkdir()
    return directory
