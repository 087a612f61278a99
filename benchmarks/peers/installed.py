"""Who of the local peers can take part, opened on one directory."""

from collections.abc import AsyncGenerator, Iterable, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from pathlib import Path

from benchmarks.measure.case import NotInstalled
from benchmarks.measure.report import Report
from benchmarks.peers.files import FilePeer, Peer

__all__ = ["Opened", "opened"]


@dataclass(frozen=True, slots=True)
class Opened:
    """A peer that is installed, with its files."""

    peer: Peer
    files: FilePeer


@asynccontextmanager
async def opened(
    peers: Iterable[Peer], root: Path, report: Report
) -> AsyncGenerator[tuple[Sequence[Opened], Sequence[NotInstalled]]]:
    """Open all that are installed, note their versions in the report, and name the others."""
    able: list[Opened] = []
    missing: list[NotInstalled] = []
    async with AsyncExitStack() as stack:
        for peer in peers:
            version = peer.version()
            report.versions[peer.name] = version or f"not installed (`{peer.install}`)"
            if version is None:
                missing.append(NotInstalled(peer.name, peer.install))
            else:
                able.append(Opened(peer, await stack.enter_async_context(peer.opened(root))))
        yield able, missing
