"""All measurements of edits."""

from benchmarks.editing.edits import measure_edits
from benchmarks.measure.memory import measure_memory
from benchmarks.measure.plan import MB, Plan
from benchmarks.measure.report import Report, Verdict

__all__ = ["run"]

_FILE_BYTES = 200 * MB


async def run(plan: Plan, report: Report) -> None:
    """Measure times, then the memory of one large edit."""
    await measure_edits(plan, report)
    figures = await measure_memory("editing", "edit", _FILE_BYTES, plan)
    own = next((figure.value for figure in figures if figure.name == "seamfs"), None)
    verdict = Verdict(
        what="extra memory of an edit of 200 MB over the file",
        sense="at most",
        limit=1.2,
        measured=None if own is None else own * MB / _FILE_BYTES,
    )
    report.add_figures(figures, verdict)
