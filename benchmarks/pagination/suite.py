"""All measurements of pages."""

from benchmarks.measure.plan import Plan
from benchmarks.measure.report import Report
from benchmarks.pagination.pages import measure_pages

__all__ = ["run"]


async def run(plan: Plan, report: Report) -> None:
    await measure_pages(plan, report)
