"""The stores that are tortured: reached by the workers through faults, and by the judge behind the library."""

import platform
import subprocess
import sys
from collections.abc import Generator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final, Literal

from backends.options import BackendOptions, LocalOptions, S3Options
from fs_core.testing.harness import StoreHarness
from tests.support.local_store import LocalHarness
from tests.support.s3_servers import S3Server, seaweedfs
from tests.support.sftp_servers import SftpServer, real_server
from tests.torture.faults import FaultPlan, Proxy
from tests.torture.plan import StoreName
from tests.torture.s3_faults import s3_fault_proxy
from tests.torture.stream_faults import stream_fault_proxy

__all__ = ["TorturedStore", "local_store", "opened_store", "s3_store", "sftp_store"]

_S3_FAULT_PROBABILITY: Final = 0.008
"""Of each of six kinds, per request."""

_SFTP_FAULT_PROBABILITY: Final = 0.003
"""Of each of five kinds, per 4 KiB in one direction, and of a refused connection."""

_REQUEST_TIMEOUT_S: Final = 2.0
_CONNECT_TIMEOUT_S: Final = 5.0
_SFTP_LEASE_S: Final = 1.0
_SFTP_LEASES_UNTIL_SWEPT: Final = 8
_S3_TIMEOUTS_UNTIL_SWEPT: Final = 10
_CLOCK_TICK_S: Final = 2.0
"""Servers tell times in whole seconds."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TorturedStore:
    """One empty root.

    Attributes:
        url: How workers reach it.
        options: Their settings, short of secrets.
        environment: Variables of theirs that hold the secrets.
        harness: The way behind the library, and to a backend that no fault touches.
        proxy: What injects faults, where there is a network.
        expiry_s: After this, what dead writers left behind is removed by the next write in its directory (on S3, by
            the next probe).
        kill_every_s: How often a worker is killed unless a run says otherwise; starting another takes its time.
        event_loops: What the library runs on, taken in turn.
        versions: Of the servers.
    """

    name: StoreName
    url: str
    options: BackendOptions
    environment: Mapping[str, str] = field(default_factory=dict[str, str], repr=False)
    harness: StoreHarness
    proxy: Proxy | None
    expiry_s: float
    kill_every_s: float
    event_loops: tuple[Literal["asyncio", "trio"], ...]
    versions: Mapping[str, str]

    @property
    def injected(self) -> dict[str, int]:
        """How often each kind of fault has happened."""
        return {} if self.proxy is None else dict(sorted(self.proxy.injected.items()))


@contextmanager
def opened_store(name: StoreName, directory: Path, *, seed: int) -> Generator[TorturedStore]:
    """Start what the store needs, in an empty directory, until the block ends."""
    match name:
        case "local":
            yield local_store(directory)
        case "s3":
            plan = FaultPlan.even(_S3_FAULT_PROBABILITY, seed=seed)
            with seaweedfs(directory) as server, s3_store(server, plan) as store:
                yield store
        case "sftp":
            plan = FaultPlan.even(_SFTP_FAULT_PROBABILITY, seed=seed)
            with real_server(directory) as server, sftp_store(server, plan) as store:
                yield store


def local_store(directory: Path) -> TorturedStore:
    """Return a directory of this machine, with locks of its own."""
    tree = directory / "tree"
    tree.mkdir()
    options = LocalOptions(lock_directory=directory / "locks", lock_timeout_s=10.0)
    return TorturedStore(
        name="local",
        url=str(tree),
        options=BackendOptions(local=options),
        harness=LocalHarness(tree, options),
        proxy=None,
        expiry_s=0.0,
        kill_every_s=0.5,
        event_loops=("asyncio", "trio"),
        versions={"kernel": platform.release()},
    )


@contextmanager
def s3_store(
    server: S3Server, plan: FaultPlan, *, request_timeout_s: float = _REQUEST_TIMEOUT_S
) -> Generator[TorturedStore]:
    """Put a fault proxy in front of an S3 service."""
    harness = server.harness(request_timeout_s=request_timeout_s)
    with s3_fault_proxy(server.endpoint_url, plan) as proxy:
        options = S3Options(
            endpoint_url=proxy.endpoint_url,
            region="us-east-1",
            addressing_style="path",
            request_timeout_s=request_timeout_s,
            connect_timeout_s=_CONNECT_TIMEOUT_S,
        )
        secrets = {"AWS_ACCESS_KEY_ID": server.access_key_id, "AWS_SECRET_ACCESS_KEY": server.secret_access_key}
        yield TorturedStore(
            name="s3",
            url=f"s3://{harness.bucket}/{harness.prefix}",
            options=BackendOptions(s3=options),
            environment=secrets,
            harness=harness,
            proxy=proxy,
            kill_every_s=3.0,
            expiry_s=_S3_TIMEOUTS_UNTIL_SWEPT * request_timeout_s + _CLOCK_TICK_S,
            event_loops=("asyncio",),
            versions={server.name: _told(str(Path(sys.executable).parent / "weed"), "version")},
        )


@contextmanager
def sftp_store(server: SftpServer, plan: FaultPlan, *, lease_s: float = _SFTP_LEASE_S) -> Generator[TorturedStore]:
    """Put a fault proxy in front of an SSH server."""
    harness = server.harness(lock_lease_s=lease_s)
    with stream_fault_proxy(server.port, plan) as proxy:
        url, options = harness.through(
            proxy.port, request_timeout_s=_REQUEST_TIMEOUT_S, connect_timeout_s=_CONNECT_TIMEOUT_S
        )
        yield TorturedStore(
            name="sftp",
            url=url,
            options=BackendOptions(sftp=options),
            harness=harness,
            proxy=proxy,
            kill_every_s=1.0,
            expiry_s=_SFTP_LEASES_UNTIL_SWEPT * lease_s + _CLOCK_TICK_S,
            event_loops=("asyncio", "trio"),
            versions={server.name: _told("ssh", "-V")},
        )


def _told(*command: str) -> str:
    """Return what a program says about its version."""
    told = subprocess.run(command, check=True, capture_output=True, text=True)
    return (told.stdout or told.stderr).strip()
