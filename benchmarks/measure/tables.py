"""The tables of a report, in Markdown."""

from collections.abc import Iterable, Sequence
from itertools import groupby

from benchmarks.measure.compare import Comparison, Spread, again
from benchmarks.measure.report import Figure, Report, Verdict

__all__ = ["comparison_tables", "environment_lines", "figure_table", "report_text", "verdict_table"]


def report_text(report: Report) -> str:
    """Return everything as one text: where it was measured, the goals, and all tables."""
    parts = [
        environment_lines(report),
        "### Goals\n\n" + verdict_table(report.verdicts),
        *(f"Not measured: {failure}" for failure in report.failures),
        comparison_tables(report.comparisons),
        figure_table(report.figures) if report.figures else "",
    ]
    return "\n\n".join(part for part in parts if part) + "\n"


def environment_lines(report: Report) -> str:
    """Return the date, the command, the machine and the versions."""
    here = report.environment
    versions = ", ".join(f"{name} {number}" for name, number in sorted(report.versions.items()))
    return (
        f"{here.date}, seamfs {here.seamfs}, Python {here.python}, {here.kernel}, {here.cpus} CPUs, "
        f"{here.memory_bytes / (1 << 30):.0f} GB of memory, files on {here.disk}: `{here.command}`\n\n"
        f"Versions: {versions}."
    )


def verdict_table(verdicts: Iterable[Verdict]) -> str:
    """Return the goals with what was measured, the missed ones first."""
    rows = ["| goal | limit | measured | quartiles | |", "|---|---:|---:|---:|---|"]
    for verdict in sorted(verdicts, key=lambda each: each.is_met):
        quartiles = ""
        if verdict.low is not None and verdict.high is not None:
            quartiles = f"{_number(verdict.low)} to {_number(verdict.high)}"
        outcome = "met" if verdict.is_met else "**missed**"
        if verdict.measured is None:
            outcome = f"not measured: {verdict.reason}"
        measured = "" if verdict.measured is None else f"{_number(verdict.measured)} {verdict.unit}"
        limit = f"{verdict.sense} {_number(verdict.limit)} {verdict.unit}"
        rows.append(f"| {verdict.what} | {limit} | {measured} | {quartiles} | {outcome} |")
    return "\n".join(rows)


def comparison_tables(comparisons: Sequence[Comparison]) -> str:
    """Return one table for each group, operation and store; its cells are times over that of the base."""
    parts: list[str] = []
    for (group, operation, store), found in groupby(_sorted(comparisons), key=_table_of):
        parts.append(f"### {group}: {operation}, {store}\n\n{_table(list(found))}")
    return "\n\n".join(parts)


def figure_table(figures: Iterable[Figure]) -> str:
    """Return the single figures."""
    rows = ["| | | value | |", "|---|---|---:|---|"]
    rows += [f"| {each.what} | {each.name} | {_number(each.value)} {each.unit} | {each.note} |" for each in figures]
    return "### Single figures\n\n" + "\n".join(rows)


def _table_of(comparison: Comparison) -> tuple[str, str, str]:
    return comparison.case.group, comparison.case.operation, comparison.case.store


def _sorted(comparisons: Sequence[Comparison]) -> list[Comparison]:
    """Return the comparisons with those of one table side by side, else in the order they were made."""
    order = list(dict.fromkeys(map(_table_of, comparisons)))
    return sorted(comparisons, key=lambda each: order.index(_table_of(each)))


def _table(comparisons: Sequence[Comparison]) -> str:
    bases = list(dict.fromkeys(each.base for each in comparisons))
    names = list(dict.fromkeys(name for each in comparisons for name in _columns(each)))
    base = bases[0] if len(bases) == 1 else "base"
    rows = [f"| | {' | '.join([base, *names])} | noise |", f"|---|{'---:|' * (len(names) + 2)}"]
    for each in comparisons:
        timing = each.timing(each.base)
        own = "failed" if timing is None else _time(timing.median_s)
        first = own if len(bases) == 1 else f"{each.base} {own}"
        cells = [each.case.row, first, *(_cell(each, name) for name in names), _spread(each.noise)]
        rows.append(f"| {' | '.join(cells)} |")
    return "\n".join([*rows, *_footnotes(comparisons)])


def _columns(comparison: Comparison) -> list[str]:
    present = [timing.name for timing in comparison.timings]
    hidden = {comparison.base, again(comparison.base)}
    return [name for name in [*present, *(each.name for each in comparison.absent)] if name not in hidden]


def _cell(comparison: Comparison, name: str) -> str:
    ratio = comparison.ratio(name)
    if ratio is not None:
        return f"{_number(ratio.median)} x"
    return "-" if any(each.name == name for each in comparison.absent) else ""


def _footnotes(comparisons: Sequence[Comparison]) -> list[str]:
    noted = [timing for each in comparisons for timing in each.timings if timing.name != again(each.base)]
    notes = {f"{timing.name}: {timing.note}": None for timing in noted if timing.note}
    for each in comparisons:
        for absent in each.absent:
            of = "" if absent.reason.startswith("not installed") else f" ({each.case.row})"
            notes[f"{absent.name}{of}: {absent.reason}"] = None
    return ["", *(f"* {note}" for note in notes)] if notes else []


def _spread(ratio: Spread | None) -> str:
    return "" if ratio is None else f"{ratio.low:.2f} to {ratio.high:.2f}"


def _time(time_s: float) -> str:
    """Return a time with three digits in a fitting unit."""
    for unit_s, unit in ((1.0, "s"), (1e-3, "ms")):
        if time_s >= unit_s:
            return f"{time_s / unit_s:.3g} {unit}"
    return f"{time_s * 1e6:.3g} us"


def _number(value: float) -> str:
    """Return three digits, without an exponent."""
    return f"{value:,.0f}" if abs(value) >= 100 else f"{value:.3g}"
