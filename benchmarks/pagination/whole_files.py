"""All pages of a file against one cold scan of it, and the first page of a very large file against `wc -l`."""

import subprocess
from contextlib import AsyncExitStack
from functools import partial

from benchmarks.measure.case import Case, Contender, size_text
from benchmarks.measure.compare import compare
from benchmarks.measure.content import Made, make
from benchmarks.measure.memory import measure_memory
from benchmarks.measure.plan import GB, MB, Plan
from benchmarks.measure.report import Goal, Report, Verdict
from benchmarks.pagination.pages import PAGE_LINES
from benchmarks.peers.files import Span
from benchmarks.peers.seam import NAME, ColdFiles

__all__ = ["measure_all_pages", "measure_large"]

_ALL_PAGES_BYTES = 100 * MB
_ALL_PAGES_LINES = 2000
_PAGE_BYTES_MAX = MB
"""More than 2,000 lines have, so that every page has that many."""


async def measure_all_pages(plan: Plan, report: Report) -> None:
    """Read every page of a file, of 2,000 lines each, in a workspace that has not seen it."""
    root = plan.scratch / "all-pages"
    root.mkdir()
    file = make(root / "file.txt", "code", _ALL_PAGES_BYTES)
    pages = -(-file.lines // _ALL_PAGES_LINES)
    scan, every = "first page", f"all {pages:,} pages"
    async with AsyncExitStack() as opened:
        cold = ColdFiles(root, opened)
        contenders = [
            Contender(scan, partial(cold.read, file.name, Span(1, PAGE_LINES)), prepare=cold.forget),
            Contender(every, partial(_read_all, cold, file), prepare=cold.forget, may_be_slow=True),
        ]
        case = Case(group="pagination", operation="all pages", size_bytes=_ALL_PAGES_BYTES, content="code")
        goal = Goal(f"{every} of {size_text(_ALL_PAGES_BYTES)} over one cold scan", every, scan, "at most", 5.0)
        report.add(await compare(case, contenders, base=scan, rounds=plan.rounds, budget_s=plan.budget_s), goal)
    file.path.unlink()


async def measure_large(plan: Plan, report: Report) -> None:
    """Read a page from the middle of the largest file, cold; it has 1 GB if the plan is huge, else 200 MB."""
    size_bytes = GB if plan.is_huge else 200 * MB
    size = size_text(size_bytes)
    root = plan.scratch / "large"
    root.mkdir()
    file = make(root / "file.txt", "code", size_bytes)
    async with AsyncExitStack() as opened:
        cold = ColdFiles(root, opened)
        contenders = [
            Contender("wc -l", partial(subprocess.run, ["wc", "-l", str(file.path)], check=True, capture_output=True)),
            Contender(NAME, partial(cold.read, file.name, Span(file.lines // 2, PAGE_LINES)), prepare=cold.forget),
        ]
        case = Case(
            group="pagination",
            operation="page, cold, and wc -l",
            size_bytes=size_bytes,
            content="code",
            position="middle",
        )
        goal = Goal(f"page of {size}, cold, over wc -l", NAME, "wc -l", "at most", 2.0)
        report.add(await compare(case, contenders, base="wc -l", rounds=plan.rounds, budget_s=plan.budget_s), goal)
    file.path.unlink()
    figures = await measure_memory("pagination", "page", size_bytes, plan)
    own = next((figure.value for figure in figures if figure.name == NAME), None)
    what = f"extra memory of a page of {size}"
    report.add_figures(figures, Verdict(what=what, sense="at most", limit=32.0, measured=own, unit="MB"))


async def _read_all(cold: ColdFiles, file: Made) -> None:
    line = 1
    while line <= file.lines:
        read = await cold.read(file.name, Span(line, _ALL_PAGES_LINES), bytes_max=_PAGE_BYTES_MAX)
        line += len(read.page.texts)
