"""What a process and a protocol add to a page: start-up of the command, and a call over MCP."""

import os
import subprocess
import sys
from functools import partial
from pathlib import Path
from typing import TextIO

from mcp import Client, StdioServerParameters
from mcp.client.stdio import stdio_client

from benchmarks.measure.case import Case, Contender
from benchmarks.measure.compare import Comparison, compare
from benchmarks.measure.content import make
from benchmarks.measure.plan import KB, Plan
from benchmarks.measure.report import Report, Verdict
from benchmarks.pagination.pages import PAGE_LINES, span_at
from benchmarks.peers.seam import NAME

__all__ = ["measure_calls", "measure_start"]

_SEAMFS = str(Path(sys.executable).with_name("seamfs"))
_EMPTY_SERVER = Path(__file__).with_name("empty_server.py")
_FILE_BYTES = 100 * KB
_NOTHING = "python -c pass"
_EMPTY = "empty tool"


async def measure_start(plan: Plan, report: Report) -> None:
    """Start the command, for its version and for one page."""
    root = plan.scratch / "start"
    root.mkdir()
    make(root / "file.txt", "code", _FILE_BYTES)
    page = ("read", str(root), "file.txt", "--limit", str(PAGE_LINES))
    contenders = [
        Contender(_NOTHING, partial(_run, sys.executable, "-c", "pass")),
        Contender("seamfs --version", partial(_run, _SEAMFS, "--version")),
        Contender("seamfs read", partial(_run, _SEAMFS, *page), may_be_slow=True),
    ]
    case = Case(group="pagination", operation="start of a process")
    comparison = await compare(case, contenders, base=_NOTHING, rounds=plan.rounds, budget_s=plan.budget_s * 2)
    report.add(comparison)
    limits_ms = {"seamfs --version": 150.0, "seamfs read": 350.0}
    report.add_figures((), *(_in_ms(comparison, name, limit_ms) for name, limit_ms in limits_ms.items()))


async def measure_calls(plan: Plan, report: Report) -> None:
    """Call the tool read for a warm page, and a tool that does nothing, each in a server of its own over stdio."""
    root = plan.scratch / "calls"
    root.mkdir()
    file = make(root / "file.txt", "code", _FILE_BYTES)
    span = span_at(file, "middle")
    arguments: dict[str, object] = {"file_path": file.name, "offset": span.first_line, "limit": span.lines}
    ours = StdioServerParameters(command=_SEAMFS, args=["serve", str(root)])
    empty = StdioServerParameters(command=sys.executable, args=[str(_EMPTY_SERVER)])
    with _nowhere() as log:
        async with (
            Client(stdio_client(ours, errlog=log)) as files,
            Client(stdio_client(empty, errlog=log)) as nothing,
        ):
            comparison = await _compare_calls(files, nothing, arguments, plan)
    report.add(comparison)
    more = comparison.difference_s(NAME, _EMPTY)
    verdict = Verdict(
        what="MCP call of a warm page, over an empty tool",
        sense="at most",
        limit=0.7,
        measured=None if more is None else more.median * 1e3,
        low=None if more is None else more.low * 1e3,
        high=None if more is None else more.high * 1e3,
        unit="ms",
    )
    report.add_figures((), verdict)


async def _compare_calls(files: Client, nothing: Client, arguments: dict[str, object], plan: Plan) -> Comparison:
    contenders = [
        Contender(_EMPTY, partial(_call, nothing, "nothing", {}), note="the same SDK; returns no text"),
        Contender(NAME, partial(_call, files, "read", arguments)),
    ]
    case = Case(group="pagination", operation="MCP call over stdio", size_bytes=_FILE_BYTES, content="code")
    return await compare(case, contenders, base=_EMPTY, rounds=plan.rounds, budget_s=plan.budget_s)


def _nowhere() -> TextIO:
    """Return where logs of servers go, as with most clients."""
    return Path(os.devnull).open("w", encoding="utf-8")


async def _call(client: Client, name: str, arguments: dict[str, object]) -> None:
    result = await client.call_tool(name, arguments)
    if result.is_error:
        raise RuntimeError(f"the tool {name} failed")


def _run(*command: str) -> None:
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL)


def _in_ms(comparison: Comparison, name: str, limit_ms: float) -> Verdict:
    timing = comparison.timing(name)
    measured = None if timing is None else timing.median_s * 1e3
    return Verdict(what=f"start of {name}", sense="at most", limit=limit_ms, measured=measured, unit="ms")
