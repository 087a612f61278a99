from dataclasses import replace

import pytest

from tests.torture.contents import Content, Shape, digest_of, render
from tests.torture.history import Event, Outcome, Read, Replace
from tests.torture.notes import Note, NoteKind
from tests.torture.plan import APPENDED
from tests.torture.verdict import Fault, Finding, Tree, judge

KEY = "log-0/0000.txt"
ONE, TWO, THREE = (Content(Shape.LOG, ("a", "b", "c")[:count]) for count in (1, 2, 3))


def event(action: Read | Replace, begin: int, outcome: Outcome = Outcome.DONE, *, agent: str = "w0a0") -> Event:
    return Event(KEY, agent, action, begin, begin + 5, outcome)


def change(before: Content | None, after: Content) -> Replace:
    return Replace(None if before is None else digest_of(before), digest_of(after))


def read(content: Content) -> Read:
    return Read(digest_of(content))


CREATED = event(change(None, ONE), 0)
SECOND = event(change(ONE, TWO), 10)
THIRD = event(change(TWO, THREE), 20)


def faults(*events: Event, final: Content | None = None, data: bytes | None = None) -> list[Fault]:
    found = data if final is None else render(final).encode()
    files = {} if found is None else {KEY: found}
    return [finding.fault for finding in judge(events, Tree(files, frozenset({"log-0"})), [], asked_for=frozenset())]


def test_nothing_is_wrong_with_what_can_have_happened() -> None:
    refused = event(change(ONE, Content(Shape.LOG, ("a", "x"))), 21, Outcome.STALE)
    failed = event(change(TWO, Content(Shape.LOG, ("a", "b", "x"))), 12, Outcome.FAILED)
    unknown = replace(THIRD, outcome=Outcome.UNKNOWN, end_ns=None)
    reads = [event(read(TWO), 18), event(Read(None), -10), event(read(TWO), 24)]
    assert faults(CREATED, SECOND, failed, refused, unknown, *reads, final=TWO) == []
    assert faults(CREATED, SECOND, failed, refused, unknown, *reads, final=THREE) == []


def test_an_acknowledged_change_that_is_not_there_is_lost() -> None:
    assert faults(CREATED, SECOND, THIRD, final=TWO) == [Fault.LOST]
    assert faults(CREATED, data=None) == [Fault.LOST]


def test_two_acknowledged_changes_of_one_version_are_one_lost_change() -> None:
    other = Content(Shape.LOG, ("a", "x"))
    assert faults(CREATED, SECOND, event(change(ONE, other), 11), final=TWO) == [Fault.LOST]


@pytest.mark.parametrize("outcome", [Outcome.STALE, Outcome.FAILED])
def test_a_refused_change_that_is_there_is_found(outcome: Outcome) -> None:
    assert faults(CREATED, replace(SECOND, outcome=outcome), final=TWO) == [Fault.REFUSED_PRESENT]


def test_a_change_that_is_there_twice_is_found() -> None:
    twice = Content(Shape.LOG, ("a", "b", "b"))
    appended = event(Replace(APPENDED, "b"), 10)
    assert Fault.DUPLICATED in faults(CREATED, appended, final=twice)


def test_an_append_of_whatever_was_there_is_accounted_for_by_its_token() -> None:
    appended = event(Replace(APPENDED, "b"), 10)
    assert faults(CREATED, appended, THIRD, final=THREE) == []
    assert faults(CREATED, appended, final=ONE) == [Fault.LOST]
    assert faults(CREATED, replace(appended, outcome=Outcome.FAILED), final=ONE) == []
    assert faults(CREATED, replace(appended, outcome=Outcome.FAILED), final=TWO) == [Fault.REFUSED_PRESENT]
    assert faults(CREATED, replace(appended, outcome=Outcome.UNKNOWN, end_ns=None), final=ONE) == []


def test_a_content_that_is_not_whole_or_that_nobody_wrote_is_torn() -> None:
    assert faults(CREATED, data=render(ONE).encode()[:-1]) == [Fault.TORN]
    assert faults(CREATED, event(Read("0123"), 10), final=ONE) == [Fault.TORN]
    assert faults(CREATED, final=TWO) == [Fault.TORN]


def test_a_read_of_the_past_is_disorder() -> None:
    assert faults(CREATED, SECOND, event(read(ONE), 30), final=TWO) == [Fault.DISORDER]


def test_a_refusal_as_stale_while_nothing_had_changed_is_a_false_alarm() -> None:
    refused = event(change(TWO, Content(Shape.LOG, ("a", "b", "x"))), 30, Outcome.STALE)
    assert faults(CREATED, SECOND, refused, final=TWO) == [Fault.FALSE_ALARM]


def test_names_that_nobody_asked_for_are_strays() -> None:
    calm = "log-0/calm.txt"
    files = {KEY: render(ONE).encode(), calm: b"", "log-0/.seamfs-0000000000000000.tmp": b"", "other/f": b""}
    found = judge([CREATED], Tree(files, frozenset({"log-0", "other"})), [], asked_for=frozenset({calm}))
    assert [(finding.fault, finding.key) for finding in found] == [
        (Fault.STRAY, "log-0/.seamfs-0000000000000000.tmp"),
        (Fault.STRAY, "other/f"),
        (Fault.STRAY, "other"),
    ]


def test_what_workers_noticed_themselves_is_found_and_refusals_by_code_are_not() -> None:
    notes = [Note(kind, KEY, "text") for kind in NoteKind]
    found = judge([CREATED], Tree({KEY: render(ONE).encode()}, frozenset({"log-0"})), notes, asked_for=frozenset())
    assert found == [Finding(fault, KEY, "text") for fault in (Fault.TORN, Fault.MISTOLD, Fault.CRASHED)]
