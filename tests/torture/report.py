"""What a run came to, as JSON for programs and as lines of a table for people."""

from collections import Counter
from collections.abc import Mapping, Sequence

from pydantic import BaseModel, ConfigDict

from tests.torture.history import Event, Outcome, Read, Replace
from tests.torture.notes import Note, NoteKind
from tests.torture.plan import APPENDED
from tests.torture.verdict import Fault, Finding

__all__ = ["Report", "Told", "found_by_fault", "refusals_by_code", "summary", "table", "told_by_operation"]


class Told(BaseModel):
    """How the operations of one kind ended."""

    model_config = ConfigDict(frozen=True)

    done: int = 0
    stale: int = 0
    failed: int = 0
    unknown: int = 0


class Report(BaseModel):
    """One run on one store."""

    model_config = ConfigDict(frozen=True)

    store: str
    command: str
    started: str
    elapsed_s: float
    seed: int
    processes: int
    agents: int
    mutation: str | None
    versions: Mapping[str, str]
    settings: Mapping[str, float]
    operations: Mapping[str, Told]
    refusals: Mapping[str, int]
    kills: int
    kills_within_a_change: int
    injected: Mapping[str, int]
    files: int
    found: Mapping[str, int]
    findings: tuple[str, ...]

    @property
    def is_clean(self) -> bool:
        """Whether nothing was found."""
        return not self.findings

    @property
    def changes(self) -> Told:
        """All operations that change something, together."""
        parts = [told for name, told in self.operations.items() if name not in {"read", "read behind"}]
        return Told(**{outcome.value: sum(getattr(part, outcome.value) for part in parts) for outcome in Outcome})


def told_by_operation(events: Sequence[Event]) -> dict[str, Told]:
    """Count the events by what was tried and what was told."""
    counted: dict[str, Counter[str]] = {}
    for event in events:
        counted.setdefault(_operation(event), Counter())[event.outcome.value] += 1
    return {name: Told(**counted[name]) for name in sorted(counted)}


def found_by_fault(findings: Sequence[Finding]) -> dict[str, int]:
    """Count the findings; what was looked for and not found is told as 0."""
    counted = Counter(finding.fault for finding in findings)
    return {fault.value: counted[fault] for fault in Fault}


def refusals_by_code(notes: Sequence[Note]) -> dict[str, int]:
    """Count the refusals other than stale ones by their code."""
    return dict(sorted(Counter(note.text for note in notes if note.kind is NoteKind.CODE).items()))


def summary(report: Report) -> str:
    """Return a few lines about a run."""
    changes = report.changes
    lines = [
        f"{report.store}: {report.elapsed_s:.0f} s, {report.processes} processes of {report.agents} agents, "
        f"seed {report.seed}" + (f", mutation {report.mutation}" if report.mutation else ""),
        *(
            f"  {name}: {told.done} done, {told.stale} stale, {told.failed} failed, {told.unknown} unknown"
            for name, told in report.operations.items()
        ),
        f"  changes together: {changes.done} done, {changes.stale} stale, {changes.failed} failed, "
        f"{changes.unknown} unknown; refusals {_pairs(report.refusals)}",
        f"  kills: {report.kills}, {report.kills_within_a_change} of changes under way; "
        f"faults injected: {_pairs(report.injected)}; files: {report.files}",
        f"  found: {_pairs(report.found)}",
        *(f"  ! {finding}" for finding in report.findings[:5]),
    ]
    return "\n".join(lines)


def table(reports: Sequence[Report]) -> str:
    """Return the table of `docs/reliability.md`, one column per store."""
    rows: list[tuple[str, list[str]]] = [
        ("time", [f"{report.elapsed_s:.0f} s" for report in reports]),
        ("processes x agents", [f"{report.processes} x {report.agents}" for report in reports]),
        ("changes acknowledged", [f"{report.changes.done:,}" for report in reports]),
        ("changes refused as stale", [f"{report.changes.stale:,}" for report in reports]),
        ("changes failed", [f"{report.changes.failed:,}" for report in reports]),
        ("changes with unknown outcome", [f"{report.changes.unknown:,}" for report in reports]),
        ("reads through the library", [f"{_done(report, 'read'):,}" for report in reports]),
        ("reads behind it", [f"{_done(report, 'read behind'):,}" for report in reports]),
        ("files", [f"{report.files:,}" for report in reports]),
        ("workers killed", [f"{report.kills:,}" for report in reports]),
        ("changes under way when killed", [f"{report.kills_within_a_change:,}" for report in reports]),
        ("faults injected", [_pairs(report.injected) for report in reports]),
        *((f"**{fault.value}**", [str(report.found[fault.value]) for report in reports]) for fault in Fault),
    ]
    head = "| | " + " | ".join(report.store for report in reports) + " |"
    lines = [f"| {name} | " + " | ".join(values) + " |" for name, values in rows]
    return "\n".join([head, "|---" * (len(reports) + 1) + "|", *lines])


def _operation(event: Event) -> str:
    if isinstance(event.action, Read):
        return "read behind" if event.agent == "bystander" else "read"
    return _change(event.action, event.key)


def _change(action: Replace, key: str) -> str:
    if action.before == APPENDED:
        return "unguarded append"
    if action.before is None:
        return "create"
    return f"{'write' if key.startswith('whole') else 'edit'} of {key.partition('-')[0]}"


def _done(report: Report, operation: str) -> int:
    return report.operations.get(operation, Told()).done


def _pairs(counted: Mapping[str, int]) -> str:
    return ", ".join(f"{name} {count:,}" for name, count in counted.items()) or "none"
