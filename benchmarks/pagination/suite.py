"""All measurements of pages."""

from benchmarks.measure.plan import Plan
from benchmarks.measure.report import Report
from benchmarks.pagination.pages import measure_pages
from benchmarks.pagination.processes import measure_calls, measure_start
from benchmarks.pagination.whole_files import measure_all_pages, measure_large

__all__ = ["run"]


async def run(plan: Plan, report: Report) -> None:
    """Measure them in the order of the goals."""
    await measure_pages(plan, report)
    await measure_large(plan, report)
    await measure_all_pages(plan, report)
    await measure_start(plan, report)
    await measure_calls(plan, report)
