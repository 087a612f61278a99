from tests.torture.history import Event, Outcome, Read, Replace
from tests.torture.notes import Note, NoteKind
from tests.torture.plan import APPENDED
from tests.torture.report import Report, Told, found_by_fault, refusals_by_code, summary, table, told_by_operation
from tests.torture.verdict import Fault, Finding


def event(key: str, action: Read | Replace, outcome: Outcome = Outcome.DONE, agent: str = "w0a0") -> Event:
    return Event(key, agent, action, 0, 1, outcome)


EVENTS = [
    event("race/0000/1.txt", Replace(None, "a")),
    event("whole-0/0000.txt", Replace("a", "b"), Outcome.STALE),
    event("log-0/0000.txt", Replace("a", "b"), Outcome.UNKNOWN),
    event("log-0/0000.txt", Replace(APPENDED, "token"), Outcome.FAILED),
    event("log-0/0000.txt", Read("a")),
    event("log-0/0000.txt", Read("a"), agent="bystander"),
]


def report(*findings: Finding) -> Report:
    return Report(
        store="s3",
        command="python -m tests.torture",
        started="2026-01-01T00:00:00+00:00",
        elapsed_s=60.0,
        seed=1,
        processes=4,
        agents=3,
        mutation=None,
        versions={},
        settings={},
        operations=told_by_operation(EVENTS),
        refusals={"FS_UNAVAILABLE": 1},
        kills=7,
        kills_within_a_change=5,
        injected={"cut": 1200},
        files=3,
        found=found_by_fault(findings),
        findings=tuple(finding.text for finding in findings),
    )


def test_operations_are_counted_by_what_was_tried_and_what_was_told() -> None:
    assert told_by_operation(EVENTS) == {
        "create": Told(done=1),
        "edit of log": Told(unknown=1),
        "read": Told(done=1),
        "read behind": Told(done=1),
        "unguarded append": Told(failed=1),
        "write of whole": Told(stale=1),
    }
    assert report().changes == Told(done=1, stale=1, failed=1, unknown=1)


def test_refusals_are_counted_by_code_and_faults_are_not() -> None:
    notes = [Note(NoteKind.CODE, "f", "FS_UNAVAILABLE"), Note(NoteKind.TORN, "f", "text")]
    assert refusals_by_code(notes) == {"FS_UNAVAILABLE": 1}


def test_what_was_not_found_is_told_as_none() -> None:
    assert report().is_clean
    assert set(report().found.values()) == {0}
    assert "| **lost** | 0 | 0 |" in table([report(), report()])
    assert "| faults injected | cut 1,200 |" in table([report()])


def test_a_finding_is_counted_and_shown() -> None:
    found = report(Finding(Fault.TORN, "f", "half a file"))
    assert not found.is_clean
    assert found.found[Fault.TORN] == 1
    assert "  ! half a file" in summary(found)
