"""The soak in short: what is level is found level, and a leak of each kind is found."""

import json
import os
import random
import threading
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import anyio
import pytest

from seamfs.workspace import Workspace
from tests.torture.soak import main, soak

LEAKED_BYTES = 1_000_000


class Leaks:
    """Keeps something of every session, as a library with a fault would."""

    def __init__(self) -> None:
        self._bytes: list[bytes] = []
        self._descriptors: list[int] = []
        self._threads: list[threading.Thread] = []
        self._over = threading.Event()

    async def visit(self, workspace: Workspace, dice: random.Random, answers: Counter[str]) -> None:
        assert workspace.remembers
        self._bytes.append(dice.randbytes(LEAKED_BYTES))
        self._descriptors.append(os.open("/dev/null", os.O_RDONLY))
        self._threads.append(threading.Thread(target=self._over.wait))
        self._threads[-1].start()
        # As many sessions in a second however busy the machine is.
        await anyio.sleep(0.1)
        answers["done"] += 1

    def give_back(self) -> None:
        self._over.set()
        for thread in self._threads:
            thread.join()
        for descriptor in self._descriptors:
            os.close(descriptor)


@pytest.fixture
def leaks() -> Iterator[Leaks]:
    kept = Leaks()
    yield kept
    kept.give_back()


def test_sessions_that_come_and_go_leave_nothing() -> None:
    report = soak("local", duration_s=2.0, interval_s=0.05)
    assert report.findings == ()
    assert report.answers["done"] > 0
    assert len([code for code in report.answers if code.startswith("FS_")]) >= 5


def test_leaks_of_memory_descriptors_and_threads_are_found(leaks: Leaks, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tests.torture.soak._CLOSED_WAIT_S", 0.0)
    report = soak("memory", duration_s=2.0, interval_s=0.05, visiting=leaks.visit)
    grown = [finding.split()[0] for finding in report.findings if "GROWS" in finding]
    assert grown == ["memory", "descriptors", "threads"]
    left = [finding.split(maxsplit=1)[1] for finding in report.findings if "left" in finding]
    assert left == ["descriptors are left after closing", "threads are left after closing"]


def test_the_command_reports_in_json_and_succeeds(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "soak.json"
    assert main(["--store", "memory", "--duration-s", "2", "--interval-s", "0.05", "--json", str(file)]) == 0
    (report,) = json.loads(file.read_text())
    assert (report["store"], report["findings"]) == ("memory", [])
    assert "memory level" in capsys.readouterr().out
