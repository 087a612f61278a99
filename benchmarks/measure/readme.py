"""Puts a report into the marked part of a README; what is around the marks stays."""

from collections.abc import Iterable
from pathlib import Path
from typing import Final

from benchmarks.measure.report import Report
from benchmarks.measure.tables import report_text

__all__ = ["BEGIN", "END", "fill"]

BEGIN: Final = "<!-- measured: begin; python -m benchmarks --readme writes this part -->"
END: Final = "<!-- measured: end -->"


def fill(file: Path, report: Report, plots: Iterable[Path]) -> None:
    """Replace what stands between the marks by the report and its plots, files beside or below the README.

    Raises:
        ValueError: The file has not both marks, in this order.
    """
    text = file.read_text(encoding="utf-8")
    before, begin, rest = text.partition(BEGIN)
    _, end, after = rest.partition(END)
    if not begin or not end:
        raise ValueError(f"{file.name} has no part between {BEGIN!r} and {END!r}")
    images = "".join(f"![{plot.stem}]({plot.relative_to(file.parent).as_posix()})\n\n" for plot in plots)
    file.write_text(f"{before}{BEGIN}\n\n{report_text(report)}\n{images}{END}{after}", encoding="utf-8")
