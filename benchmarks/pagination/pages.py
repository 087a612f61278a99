"""A page of 100 lines, by size, content and position: ours cold and warm, and those of the peers.

Warm is a page of a file of which another page was read before. Cold is the first page that a fresh workspace reads of
it; its bytes are in the machine's page cache in both. The peers know nothing of a file from one page to the next, so
theirs are the same in both tables.
"""

from collections.abc import Iterator, Sequence
from contextlib import AsyncExitStack
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from benchmarks.measure.case import Absent, Case, Contender, NotInstalled, size_text
from benchmarks.measure.compare import compare
from benchmarks.measure.content import CONTENTS, Content, Made, make
from benchmarks.measure.plan import GB, KB, MB, Plan
from benchmarks.measure.report import Goal, Report
from benchmarks.peers.anthropic_toolset import ANTHROPIC
from benchmarks.peers.deepagents_backend import DEEPAGENTS
from benchmarks.peers.files import Span
from benchmarks.peers.installed import Opened, opened
from benchmarks.peers.mcp_filesystem import MCP_FILESYSTEM
from benchmarks.peers.seam import NAME, SEAM, ColdFiles
from benchmarks.peers.shell import SED

__all__ = ["PAGE_LINES", "measure_pages", "span_at"]

PAGE_LINES = 100
"""What deepagents shows by default; all others are asked for the same."""

_SIZES = (KB, 100 * KB, 10 * MB, 200 * MB, GB)
_POSITIONS = ("start", "middle", "end")


@dataclass(frozen=True, slots=True)
class _Cell:
    content: Content
    size_bytes: int
    position: str


@dataclass(frozen=True, slots=True)
class _Field:
    """Everyone who reads pages, on one directory."""

    root: Path
    ours: Opened
    cold: ColdFiles
    peers: Sequence[Opened]
    missing: Sequence[NotInstalled]


async def measure_pages(plan: Plan, report: Report) -> None:
    """Measure all cells of the plan, and pages of large files against one of a small file."""
    root = plan.scratch / "pages"
    root.mkdir()
    async with (
        AsyncExitStack() as of_cold,
        opened([SEAM, DEEPAGENTS, ANTHROPIC, MCP_FILESYSTEM, SED], root, report) as ([ours, *peers], missing),
    ):
        field = _Field(root, ours, ColdFiles(root, of_cold), peers, missing)
        for content in CONTENTS:
            await _measure_content(content, field, plan, report)


async def _measure_content(content: Content, field: _Field, plan: Plan, report: Report) -> None:
    cells = [cell for cell in _cells(plan) if cell.content == content]
    sizes = dict.fromkeys(cell.size_bytes for cell in cells)
    files = {size_bytes: make(field.root / f"{size_text(size_bytes)}.txt", content, size_bytes) for size_bytes in sizes}
    for cell in cells:
        await _warm(cell, files[cell.size_bytes], field, plan, report)
        if cell.position == "middle":
            await _cold(cell, files[cell.size_bytes], field, plan, report)
    if content == "code":
        await _by_size(files, field.ours, plan, report)
    for file in files.values():
        file.path.unlink()


def span_at(file: Made, position: str) -> Span:
    """Return the page at the start, in the middle or at the end."""
    last = max(1, file.lines - PAGE_LINES + 1)
    first_line = {"start": 1, "middle": max(1, file.lines // 2), "end": last}[position]
    return Span(first_line, PAGE_LINES, is_end=first_line >= last)


def _cells(plan: Plan) -> Iterator[_Cell]:
    """Yield what is measured: quick, code from the middle, and the other contents at 10 MB; 1 GB of code if huge."""
    for content in CONTENTS:
        for size_bytes in _SIZES:
            for position in _POSITIONS if content != "one line" else ("middle",):
                if size_bytes == GB and not (plan.is_huge and content == "code"):
                    continue
                is_quick = position == "middle" and (content == "code" or size_bytes == 10 * MB)
                is_full = content == "code" or position == "middle" or size_bytes == 10 * MB
                if is_quick or (plan.is_full and is_full):
                    yield _Cell(content, size_bytes, position)


async def _warm(cell: _Cell, file: Made, field: _Field, plan: Plan, report: Report) -> None:
    span = span_at(file, cell.position)
    own = Contender(NAME, partial(field.ours.files.read, file.name, span))
    goals = [
        Goal(
            f"page of {size_text(cell.size_bytes)}, warm: deepagents over seamfs", "deepagents", NAME, "at least", limit
        )
        for size_bytes, limit in ((100 * KB, 1.2), (10 * MB, 100.0))
        if cell == _Cell("code", size_bytes, "middle")
    ]
    case = _case("page, warm", cell)
    contenders = [own, *_peers(cell, file, span, field)]
    report.add(await compare(case, contenders, base=NAME, rounds=plan.rounds, budget_s=plan.budget_s), *goals)


async def _cold(cell: _Cell, file: Made, field: _Field, plan: Plan, report: Report) -> None:
    span = span_at(file, cell.position)
    own = Contender(NAME, partial(field.cold.read, file.name, span), prepare=field.cold.forget)
    goal = Goal("page of 10 MB, cold: deepagents over seamfs", "deepagents", NAME, "at least", 15.0)
    goals = [goal] if cell == _Cell("code", 10 * MB, "middle") else []
    case = _case("page, cold", cell)
    contenders = [own, *_peers(cell, file, span, field)]
    report.add(await compare(case, contenders, base=NAME, rounds=plan.rounds, budget_s=plan.budget_s), *goals)


async def _by_size(files: dict[int, Made], ours: Opened, plan: Plan, report: Report) -> None:
    """Compare our own warm pages with each other."""
    base = "100 KB, middle"
    contenders = [_own(base, files[100 * KB], "middle", ours)]
    goals: list[Goal] = []
    for size_bytes in [size for size in files if size >= 10 * MB]:
        for position in _POSITIONS:
            name = f"{size_text(size_bytes)}, {position}"
            contenders.append(_own(name, files[size_bytes], position, ours))
            goals.append(Goal(f"page of {name}, warm, over that of {base}", name, base, "at most", 2.0))
    case = Case(group="pagination", operation="page, warm, by size of the file")
    report.add(await compare(case, contenders, base=base, rounds=plan.rounds, budget_s=plan.budget_s), *goals)


def _own(name: str, file: Made, position: str, ours: Opened) -> Contender:
    return Contender(name, partial(ours.files.read, file.name, span_at(file, position)))


def _peers(cell: _Cell, file: Made, span: Span, field: _Field) -> list[Contender | NotInstalled | Absent]:
    return [*(_peer(each, cell, file, span) for each in field.peers), *field.missing]


def _peer(one: Opened, cell: _Cell, file: Made, span: Span) -> Contender | Absent:
    peer = one.peer
    if cell.content == "one line" and not peer.has_long_lines:
        return Absent(peer.name, "takes minutes for a line of megabytes")
    if peer.page_bytes_max is not None and peer.page_bytes_max < cell.size_bytes:
        return Absent(peer.name, "would hold several times the file in memory")
    if cell.position == "middle" and peer.middle_bytes_max is not None and peer.middle_bytes_max < cell.size_bytes:
        return Absent(peer.name, "takes minutes, as the whole file would be sent")
    run = partial(one.files.read, file.name, span)
    return Contender(peer.name, run, note=peer.read_note)


def _case(operation: str, cell: _Cell) -> Case:
    return Case(
        group="pagination",
        operation=operation,
        size_bytes=cell.size_bytes,
        content=cell.content,
        position=cell.position,
    )
