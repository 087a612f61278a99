"""Whether reads and edits notice a bad neighbour: `python -m benchmarks.disclosure.isolation [--rounds N]`.

One workspace on local disk is read and edited, alone and beside a mounted server of 1,000 tools that is steady, that
renames all of them five times a second, that crashes a third of a second after each start, or that takes a second for
every answer. The arms take turns within one run; every figure is a ratio to the arm that is alone.
"""

import argparse
import json
import sys
import time
from collections.abc import AsyncGenerator, Iterable, Sequence
from contextlib import asynccontextmanager
from dataclasses import asdict, dataclass, field
from pathlib import Path
from statistics import median, quantiles
from tempfile import TemporaryDirectory

import anyio

from progressive.gateway import Gateway, GatewayOptions, StdioMount
from seamfs.config import Settings
from seamfs.workspace import Workspace, open_workspace
from tool_runtime import JsonObject, ToolSuccess

_SERVER = Path(__file__).with_name("rude_server.py")
_ALONE = "alone"
_ARMS = (_ALONE, "steady", "renaming", "crashing", "slow")
_WINDOW_S = 3.0
_OPTIONS = GatewayOptions()


@dataclass(slots=True)
class Times:
    """Milliseconds of every operation of one arm."""

    arm: str
    reads: list[float] = field(default_factory=list[float])
    edits: list[float] = field(default_factory=list[float])


@dataclass(frozen=True, slots=True, kw_only=True)
class Figures:
    arm: str
    operations: int
    read_p50_ms: float
    read_p99_ms: float
    edit_p50_ms: float
    edit_p99_ms: float


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.disclosure.isolation", description=__doc__)
    parser.add_argument("--rounds", type=int, default=4, help="how often the arms take turns")
    options = parser.parse_args(arguments)
    figures = anyio.run(measure, options.rounds)
    for figure in figures:
        print(json.dumps(asdict(figure)))
    print(table(figures))
    return 0


async def measure(rounds: int) -> list[Figures]:
    times = {arm: Times(arm) for arm in _ARMS}
    with TemporaryDirectory() as root:
        async with open_workspace(root, settings=Settings()) as workspace:
            await _work(workspace, Times("warming up"))
            for _ in range(rounds):
                for arm in _ARMS:
                    async with _beside(workspace, arm):
                        await _work(workspace, times[arm])
    return [_figures(each) for each in times.values()]


@asynccontextmanager
async def _beside(workspace: Workspace, arm: str) -> AsyncGenerator[None]:
    if arm == _ALONE:
        yield
        return
    mount = StdioMount(name=arm, command=(sys.executable, "-S", str(_SERVER), arm))
    gateway = Gateway(workspace.tools, [mount], _OPTIONS)
    async with gateway.opened():
        await gateway.settled(_OPTIONS.connect_timeout_s)
        yield


async def _work(workspace: Workspace, times: Times) -> None:
    session = workspace.session("worker")
    end_s = time.perf_counter() + _WINDOW_S
    number = 0

    async def timed(name: str, arguments: JsonObject) -> float:
        started_s = time.perf_counter()
        result = await workspace.call(session, name, arguments)
        if not isinstance(result, ToolSuccess):
            raise TypeError(result.text)
        return (time.perf_counter() - started_s) * 1e3

    while time.perf_counter() < end_s:
        content = f"line {number}\n" * 500
        await timed("write", {"file_path": "file.txt", "content": f"first\n{content}"})
        times.reads.append(await timed("read", {"file_path": "file.txt", "limit": 100}))
        change: JsonObject = {"file_path": "file.txt", "old_string": "first\n", "new_string": f"{number}\n"}
        times.edits.append(await timed("edit", change))
        number += 1


def _figures(times: Times) -> Figures:
    return Figures(
        arm=times.arm,
        operations=len(times.reads),
        read_p50_ms=median(times.reads),
        read_p99_ms=quantiles(times.reads, n=100)[98],
        edit_p50_ms=median(times.edits),
        edit_p99_ms=quantiles(times.edits, n=100)[98],
    )


def table(figures: Iterable[Figures]) -> str:
    """Return a Markdown table of the ratios."""
    rows = [
        "| neighbour | operations | read p50 | ratio | read p99 | ratio | edit p50 | ratio | edit p99 | ratio |",
        f"|---|{'---:|' * 9}",
    ]
    alone, *_ = figures = list(figures)
    for figure in figures:
        pairs = (
            (figure.read_p50_ms, alone.read_p50_ms),
            (figure.read_p99_ms, alone.read_p99_ms),
            (figure.edit_p50_ms, alone.edit_p50_ms),
            (figure.edit_p99_ms, alone.edit_p99_ms),
        )
        cells = " | ".join(f"{value:.2f} ms | {value / base:.2f}" for value, base in pairs)
        rows.append(f"| {figure.arm} | {figure.operations} | {cells} |")
    return "\n".join(rows)


if __name__ == "__main__":
    sys.exit(main())
