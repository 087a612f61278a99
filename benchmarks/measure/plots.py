"""Plots of a report as SVG: pages and edits against file size, and throughput against how many work at once."""

from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import Any, Final, cast

from benchmarks.measure.case import Case, size_text
from benchmarks.measure.compare import Comparison, again

__all__ = ["draw"]


@dataclass(frozen=True, slots=True)
class _Plot:
    """One file: the comparisons whose lines it has, and what is on its axis."""

    file: str
    title: str
    has: Callable[[Case], bool]
    at: Callable[[Case], int]
    label: str = "at once"


_BY_SIZE: Final = "size of the file"


def _size(case: Case) -> int:
    return case.size_bytes or 0


def _concurrency(case: Case) -> int:
    return case.concurrency


def _is(case: Case, operation: str, *, position: str = "middle") -> bool:
    """Whether a case is of the code files on local disk."""
    return (case.operation, case.position, case.content, case.store) == (operation, position, "code", "local disk")


def _at_once(case: Case, store: str) -> bool:
    """Whether a case is of reads at once from a store that is near."""
    return (case.operation, case.store, case.latency_ms) == ("reads at once", store, 0)


_PLOTS: Final = (
    _Plot("pages", "A later page: 100 lines from the middle", lambda case: _is(case, "page, warm"), _size, _BY_SIZE),
    _Plot(
        "first_pages", "A first page: 100 lines from the middle", lambda case: _is(case, "page, cold"), _size, _BY_SIZE
    ),
    _Plot("edits", "Edit at the start", lambda case: _is(case, "edit", position="start"), _size, _BY_SIZE),
    _Plot("s3_at_once", "Reads of 100 KB at once, SeaweedFS", lambda case: _at_once(case, "seaweedfs"), _concurrency),
    _Plot("sftp_at_once", "Reads of 100 KB at once, OpenSSH", lambda case: _at_once(case, "openssh"), _concurrency),
)


def draw(comparisons: Iterable[Comparison], folder: Path) -> list[Path]:
    """Write the plots that the comparisons have points for, and return their files.

    Raises:
        ImportError: matplotlib is not installed: `pip install --group bench`.
    """
    found = list(comparisons)
    folder.mkdir(parents=True, exist_ok=True)
    files: list[Path] = []
    for plot in _PLOTS:
        chosen = sorted((each for each in found if plot.has(each.case)), key=lambda each: plot.at(each.case))
        if len({plot.at(each.case) for each in chosen}) > 1:
            files.append(_drawn(plot, chosen, folder / f"{plot.file}.svg"))
    return files


def _drawn(plot: _Plot, comparisons: Sequence[Comparison], file: Path) -> Path:
    # The types of matplotlib are partly unknown, and it may not be installed.
    matplotlib, pyplot = (cast("Any", import_module(name)) for name in ("matplotlib", "matplotlib.pyplot"))
    matplotlib.use("svg")
    # Fixed ids and no date: the same figures make the same file.
    matplotlib.rcParams["svg.hashsalt"] = "seamfs"
    figure, axes = pyplot.subplots(figsize=(7.5, 4.5), layout="constrained")
    for name, points in _lines(plot, comparisons).items():
        places = sorted(points)
        axes.plot(places, [points[place] * 1e3 for place in places], marker="o", label=name)
    axes.set(xscale="log", yscale="log", xlabel=plot.label, ylabel="milliseconds, median", title=plot.title)
    ticks = sorted({plot.at(each.case) for each in comparisons})
    axes.set_xticks([], minor=True)
    axes.set_xticks(ticks, [size_text(tick) if plot.label == _BY_SIZE else str(tick) for tick in ticks])
    axes.grid(which="both", alpha=0.25)
    axes.legend(fontsize="small")
    figure.savefig(file, metadata={"Date": None, "Creator": None})
    pyplot.close(figure)
    return file


def _lines(plot: _Plot, comparisons: Sequence[Comparison]) -> dict[str, dict[int, float]]:
    """Return the points of every contender: its median at every place of the axis."""
    lines: dict[str, dict[int, float]] = defaultdict(dict)
    for each in comparisons:
        for timing in each.timings:
            if timing.name != again(each.base):
                lines[timing.name][plot.at(each.case)] = timing.median_s
    return lines
