"""How much memory one operation takes beyond what the process had before, in a process of its own.

`python -m benchmarks.measure.memory PEER OPERATION ROOT LINE` prints the bytes: `PEER` reads line `LINE` of
`large.txt`, or changes its first line, after it did the same with `small.txt`. Peak and present memory are those that
Linux tells in `/proc/self/status`, the peak counted from just before the operation.
"""

import re
import subprocess
import sys
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import Final, Literal, cast

import anyio

from benchmarks.measure.case import size_text
from benchmarks.measure.content import FIRST, make
from benchmarks.measure.plan import KB, MB, Plan
from benchmarks.measure.report import Figure
from benchmarks.peers.anthropic_toolset import ANTHROPIC
from benchmarks.peers.deepagents_backend import DEEPAGENTS
from benchmarks.peers.files import FilePeer, Span
from benchmarks.peers.seam import SEAM

__all__ = ["measure_memory"]

Operation = Literal["page", "edit"]

_PEERS: Final = {peer.name: peer for peer in (SEAM, DEEPAGENTS, ANTHROPIC)}
_PAGE_LINES: Final = 100
_SMALL: Final = "small.txt"
_LARGE: Final = "large.txt"


async def measure_memory(group: str, operation: Operation, size_bytes: int, plan: Plan) -> list[Figure]:
    """Return the extra memory in MB of everyone who works in a process of ours and is installed."""
    root = plan.scratch / f"memory-{operation}"
    root.mkdir()
    lines = make(root / _LARGE, "code", size_bytes).lines
    figures: list[Figure] = []
    for peer in _PEERS.values():
        if peer.version() is None:
            continue
        make(root / _SMALL, "code", 100 * KB)
        make(root / _LARGE, "code", size_bytes)
        command = [sys.executable, "-m", "benchmarks.measure.memory", peer.name, operation, str(root), str(lines // 2)]
        # Peers write to standard error as they like.
        done = await anyio.run_process(command, stderr=subprocess.DEVNULL)
        figures.append(
            Figure(
                group=group,
                what=f"extra memory, {operation} of {size_text(size_bytes)}",
                name=peer.name,
                value=int(done.stdout) / MB,
                unit="MB",
            )
        )
    for file in root.iterdir():
        file.unlink()
    return figures


def main(arguments: Sequence[str]) -> None:
    name, operation, root, line = arguments
    print(anyio.run(partial(_extra_bytes, name, cast("Operation", operation), Path(root), int(line))))


async def _extra_bytes(name: str, operation: Operation, root: Path, line: int) -> int:
    async with _PEERS[name].opened(root) as files:
        await _work(files, operation, _SMALL, line=1)
        if operation == "edit":
            await files.read(_LARGE, Span(1, 1))
        # Writing 5 there sets the peak to the present: proc(5).
        Path("/proc/self/clear_refs").write_text("5")  # noqa: ASYNC240 - nothing else runs here
        before = _memory_bytes("VmRSS")
        await _work(files, operation, _LARGE, line=line)
        return _memory_bytes("VmHWM") - before


async def _work(files: FilePeer, operation: Operation, name: str, *, line: int) -> None:
    if operation == "page":
        await files.read(name, Span(line, _PAGE_LINES))
        return
    await files.read(name, Span(1, 1))
    await files.edit(name, FIRST, f"{FIRST}_000")


def _memory_bytes(field: str) -> int:
    found = re.search(rf"^{field}:\s+(\d+) kB$", Path("/proc/self/status").read_text(), re.MULTILINE)
    if found is None:
        raise RuntimeError(f"/proc/self/status has no {field}")
    return int(found[1]) * KB


if __name__ == "__main__":
    main(sys.argv[1:])
