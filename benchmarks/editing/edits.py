"""Edits of one place at the start or the end, of all places, and edits that are refused.

The limit is a copy of the file that is flushed. Ours are published as by default: atomic, guarded, file and directory
flushed. What others leave unflushed is flushed before the next contender's turn, outside its time. Every contender has
a file of its own, and changes the same place back and forth.
"""

import os
import shutil
import subprocess
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path

from benchmarks.measure.case import Absent, Case, Contender, NotInstalled, size_text
from benchmarks.measure.compare import compare
from benchmarks.measure.content import ABSENT, CONTENTS, FIRST, LAST, REPEATED, Content, Made, make
from benchmarks.measure.plan import KB, MB, Plan
from benchmarks.measure.report import Goal, Report
from benchmarks.peers.anthropic_toolset import ANTHROPIC
from benchmarks.peers.deepagents_backend import DEEPAGENTS
from benchmarks.peers.files import RefusedError, Span
from benchmarks.peers.installed import Opened, opened
from benchmarks.peers.mcp_filesystem import MCP_FILESYSTEM
from benchmarks.peers.seam import NAME, SEAM
from benchmarks.peers.shell import PERL

__all__ = ["measure_edits"]

_SIZES = (KB, 100 * KB, 10 * MB, 200 * MB)
_OPERATIONS = ("edit", "edit of all places", "edit, text absent", "edit, text ambiguous")
_COPY = "cp, fsync"
_COPIED = "copied.txt"
_GOAL_SIZES = (10 * MB, 200 * MB)


@dataclass(frozen=True, slots=True)
class _Cell:
    content: Content
    size_bytes: int
    operation: str
    position: str


@dataclass(frozen=True, slots=True)
class _Field:
    """Everyone who edits, on one directory."""

    root: Path
    able: Sequence[Opened]
    missing: Sequence[NotInstalled]


@dataclass(slots=True)
class _Dirt:
    """Flushes what was written and not flushed, so that nobody waits for the writes of another."""

    folder: Path
    seen: dict[str, tuple[int, int]] = field(default_factory=dict[str, tuple[int, int]])

    def settle(self) -> None:
        for file in self.folder.iterdir():
            status = file.stat()
            state = (status.st_ino, status.st_mtime_ns)
            if self.seen.get(file.name) != state:
                _flush(file)
                self.seen[file.name] = state


@dataclass(slots=True)
class _Toggle:
    """Changes a text into another, and back the next time."""

    opened: Opened
    name: str
    old: str
    new: str
    everywhere: bool = False

    async def run(self) -> None:
        await self.opened.files.edit(self.name, self.old, self.new, everywhere=self.everywhere)
        self.old, self.new = self.new, self.old


async def measure_edits(plan: Plan, report: Report) -> None:
    """Measure all cells of the plan."""
    root = plan.scratch / "edits"
    root.mkdir()
    async with opened([SEAM, DEEPAGENTS, ANTHROPIC, MCP_FILESYSTEM, PERL], root, report) as (able, missing):
        everyone = _Field(root, able, missing)
        for content in CONTENTS:
            for size_bytes in _SIZES:
                cells = [cell for cell in _cells(plan) if (cell.content, cell.size_bytes) == (content, size_bytes)]
                if cells:
                    await _measure_file(cells, everyone, plan, report)


def _cells(plan: Plan) -> Iterator[_Cell]:
    """Yield what is measured: quick, code, with refusals at 10 MB only, and the other contents at 10 MB."""
    for content in CONTENTS:
        for size_bytes in _SIZES:
            for operation in _OPERATIONS:
                for position in ("start", "end") if operation == "edit" else ("",):
                    is_plain = operation == "edit" and position == "start"
                    is_quick = size_bytes == 10 * MB if content == "code" else size_bytes == 10 * MB and is_plain
                    is_goal = content == "code" and is_plain
                    is_asked = plan.is_full and (content == "code" or size_bytes == 10 * MB)
                    if is_asked or is_quick or is_goal:
                        yield _Cell(content, size_bytes, operation, position)


async def _measure_file(cells: Sequence[_Cell], everyone: _Field, plan: Plan, report: Report) -> None:
    """Run all operations on one content and size, each contender on a copy of its own."""
    [first, *_] = cells
    original = make(everyone.root / "original.txt", first.content, first.size_bytes)
    for one in everyone.able:
        shutil.copyfile(original.path, everyone.root / _name(one))
        if one.peer is SEAM:
            await one.files.read(_name(one), Span(1, 1))  # a file has to be read before it is changed
    for cell in cells:
        await _measure(cell, original, everyone, plan, report)
    for name in [original.name, _COPIED, *map(_name, everyone.able)]:
        (everyone.root / name).unlink(missing_ok=True)


async def _measure(cell: _Cell, original: Made, everyone: _Field, plan: Plan, report: Report) -> None:
    dirt = _Dirt(original.path.parent)
    case = Case(
        group="editing",
        operation=cell.operation,
        size_bytes=cell.size_bytes,
        content=cell.content,
        position=cell.position,
    )
    contenders = [each for one in everyone.able for each in _contenders(cell, one, dirt)]
    base = NAME
    if cell.operation in {"edit", "edit of all places"}:
        base = _COPY
        contenders += _copies(original, dirt)
    goals = _goals(cell)
    chosen = [*contenders, *everyone.missing]
    report.add(await compare(case, chosen, base=base, rounds=plan.rounds, budget_s=plan.budget_s), *goals)


def _contenders(cell: _Cell, one: Opened, dirt: _Dirt) -> Iterator[Contender | Absent]:
    peer, name = one.peer, _name(one)
    is_long = cell.content == "one line" and not peer.has_long_lines
    if is_long or (peer.edit_bytes_max is not None and peer.edit_bytes_max < cell.size_bytes):
        yield Absent(peer.name, "takes minutes for a line of megabytes" if is_long else "takes minutes for such a file")
        return
    everywhere = cell.operation == "edit of all places"
    if everywhere and not peer.can_replace_all:
        return
    if cell.operation == "edit, text ambiguous" and not peer.refuses_ambiguous:
        return
    if cell.operation == "edit, text absent":
        run = partial(_refused, one, name, ABSENT)
    elif cell.operation == "edit, text ambiguous":
        run = partial(_refused, one, name, REPEATED)
    elif everywhere:
        run = _Toggle(one, name, REPEATED, "attempts_max", everywhere=True).run
    else:
        text = FIRST if cell.position == "start" else LAST
        run = _Toggle(one, name, text, f"{text}_000").run
    yield Contender(peer.name, run, prepare=dirt.settle, note=peer.edit_note, may_be_slow=peer is SEAM)


async def _refused(one: Opened, name: str, text: str) -> None:
    try:
        await one.files.edit(name, text, "something else")
    except RefusedError:
        return
    raise RuntimeError("the edit was made")


def _copies(original: Made, dirt: _Dirt) -> Iterator[Contender]:
    """Yield the limits: what an atomic edit cannot do without."""
    target = original.path.with_name(_COPIED)

    def prepare() -> None:
        target.unlink(missing_ok=True)
        dirt.settle()

    def by_program() -> None:
        subprocess.run(["cp", str(original.path), str(target)], check=True)
        _flush(target)

    def in_process() -> None:
        shutil.copyfile(original.path, target)
        _flush(target)

    yield Contender(_COPY, by_program, prepare=prepare, note="the program cp, and fsync of the copy by us")
    yield Contender(
        "copy in process, fsync", in_process, prepare=prepare, note="shutil.copyfile: no process is started"
    )


def _goals(cell: _Cell) -> list[Goal]:
    if (cell.content, cell.operation) != ("code", "edit") or cell.position != "start":
        return []
    size = size_text(cell.size_bytes)
    goals: list[Goal] = []
    if cell.size_bytes in _GOAL_SIZES:
        goals.append(Goal(f"edit of {size} over cp and fsync", NAME, _COPY, "at most", 1.3))
    if cell.size_bytes == 10 * MB:
        goals.append(Goal(f"edit of {size}: deepagents over seamfs", "deepagents", NAME, "at least", 2.0))
    return goals


def _name(one: Opened) -> str:
    """Return the file of a contender."""
    return f"{one.peer.name.replace(' ', '-')}.txt"


def _flush(file: Path) -> None:
    descriptor = os.open(file, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
