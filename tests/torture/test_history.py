"""The journal of a worker: nothing that was begun is forgotten, whenever the worker dies."""

import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from tests.torture.history import Event, Journal, Outcome, Read, Replace, load


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "journal"


def told(events: list[Event]) -> list[tuple[str, object, Outcome]]:
    return [(event.agent, event.action, event.outcome) for event in events]


def test_what_was_journalled_is_loaded_in_the_order_of_its_begin(path: Path) -> None:
    journal = Journal(path)
    change, read = journal.begin("f", "one", Replace(None, "a")), journal.begin("f", "two")
    journal.end(read, Outcome.DONE, content="a")
    journal.end(change, Outcome.STALE)
    journal.close()
    events = load([path])
    assert told(events) == [("one", Replace(None, "a"), Outcome.STALE), ("two", Read("a"), Outcome.DONE)]
    first, second = events
    assert first.end_ns is not None
    assert second.end_ns is not None
    assert first.begin_ns <= second.begin_ns <= second.end_ns <= first.end_ns


def test_journals_of_several_workers_are_merged_by_time(tmp_path: Path) -> None:
    journals = [Journal(tmp_path / name) for name in ("a", "b")]
    for number in range(4):
        journal = journals[number % 2]
        journal.end(journal.begin("f", str(number)), Outcome.DONE)
    for journal in journals:
        journal.close()
    assert [event.agent for event in load([tmp_path / "b", tmp_path / "a"])] == ["0", "1", "2", "3"]


def test_of_what_has_no_end_a_change_is_unknown_and_a_read_is_left_out(path: Path) -> None:
    journal = Journal(path)
    journal.begin("f", "one", Replace("a", "b"))
    journal.begin("f", "two")
    journal.close()
    (event,) = load([path])
    assert (event.outcome, event.end_ns) == (Outcome.UNKNOWN, None)


def test_a_change_that_a_killed_worker_had_begun_is_unknown(path: Path) -> None:
    program = (
        "import sys; from pathlib import Path; from tests.torture.history import Journal, Replace\n"
        "Journal(Path(sys.argv[1])).begin('f', 'one', Replace('a', 'b')); print('begun', flush=True); sys.stdin.read()"
    )
    with subprocess.Popen(
        [sys.executable, "-c", program, str(path)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as worker:
        assert worker.stdout is not None
        assert worker.stdout.readline() == "begun\n"
        worker.send_signal(signal.SIGKILL)
    assert told(load([path])) == [("one", Replace("a", "b"), Outcome.UNKNOWN)]


def test_a_last_line_that_was_cut_is_no_line(path: Path) -> None:
    journal = Journal(path)
    journal.end(journal.begin("f", "one", Replace("a", "b")), Outcome.DONE)
    journal.close()
    os.truncate(path, path.stat().st_size - 1)
    assert told(load([path])) == [("one", Replace("a", "b"), Outcome.UNKNOWN)]


def test_any_other_line_that_was_cut_is_refused(path: Path) -> None:
    path.write_text('{"token": 0, "beg\n{}\n')
    with pytest.raises(json.JSONDecodeError):
        load([path])


def test_a_second_journal_in_one_file_is_refused(path: Path) -> None:
    Journal(path).close()
    with pytest.raises(FileExistsError):
        Journal(path)
