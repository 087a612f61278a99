"""Processes that are told to end in the middle of writes, or end without closing: prompt, and every file is whole."""

import json
import pickle
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any, Final

import pytest

from backends.options import BackendOptions
from fs_core.testing.harness import DirectoryHarness, StoreHarness
from tests.seamfs.processes import command, environment
from tests.support.s3_servers import S3Harness
from tests.support.sftp_servers import SftpHarness
from tests.support.store_stage import new_store
from tests.support.store_writer import CONTENTS, FILES

_END_TIMEOUT_S: Final = 40.0
_EDITS_MAX: Final = 500


def _where(harness: StoreHarness) -> tuple[str, BackendOptions]:
    """Return how another process opens the store."""
    match harness:
        case S3Harness():
            return f"s3://{harness.bucket}/{harness.prefix}", BackendOptions(s3=harness.server.options())
        case SftpHarness():
            return harness.server.url(harness.directory), BackendOptions(sftp=harness.server.options())
        case DirectoryHarness():
            return str(harness.directory), BackendOptions()
        case _:
            raise AssertionError(harness)


def _start(harness: StoreHarness, loop: str, *, closes: bool) -> subprocess.Popen[bytes]:
    process = subprocess.Popen(
        [sys.executable, "-m", "tests.support.store_writer"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env=environment(),
    )
    assert process.stdin is not None
    process.stdin.write(pickle.dumps((*_where(harness), loop, closes)))
    process.stdin.close()
    process.stdin = None
    return process


_TOLD: Final = (
    ("local", "asyncio", signal.SIGINT),
    ("local", "trio", signal.SIGINT),
    ("seaweedfs", "asyncio", signal.SIGINT),
    ("sshd", "asyncio", signal.SIGINT),
    ("local", "asyncio", signal.SIGTERM),
    ("sshd", "asyncio", signal.SIGTERM),
)


@pytest.mark.parametrize(
    ("store", "loop", "number"),
    [pytest.param(*run, marks=pytest.mark.xdist_group(run[0]), id=f"{run[0]}-{run[1]}-{run[2].name}") for run in _TOLD],
)
def test_a_process_that_is_told_to_end_while_it_writes_ends_at_once_and_leaves_whole_files(
    store: str, loop: str, number: signal.Signals, request: pytest.FixtureRequest
) -> None:
    harness = new_store(store, request)
    with _start(harness, loop, closes=True) as process:
        try:
            assert process.stdout is not None
            assert process.stdout.readline() == b"writing\n"
            process.send_signal(number)
            _, said = process.communicate(timeout=_END_TIMEOUT_S)
        finally:
            process.kill()
    is_group = loop == "trio" and number == signal.SIGINT  # trio raises KeyboardInterrupt in a task, so in a group
    assert process.returncode == (1 if is_group else -number), said.decode()
    assert b"KeyboardInterrupt" in said or number == signal.SIGTERM
    found = [harness.get(path) for path in FILES]
    assert set(found) <= {*CONTENTS, None}
    assert any(found)
    if number == signal.SIGINT:  # the tasks were cancelled and the backend closed; SIGTERM kills
        assert set(harness.names("d")) <= {Path(path).name for path in FILES}
        assert b"never retrieved" not in said
        assert b"Unclosed" not in said


@pytest.mark.parametrize(
    ("store", "loop"),
    [
        pytest.param(store, loop, marks=pytest.mark.xdist_group(store), id=f"{store}-{loop}")
        for store, loop in (("local", "trio"), ("seaweedfs", "asyncio"), ("sshd", "asyncio"))
    ],
)
def test_a_process_that_ends_without_closing_neither_hangs_nor_fails(
    store: str, loop: str, request: pytest.FixtureRequest
) -> None:
    harness = new_store(store, request)
    with _start(harness, loop, closes=False) as process:
        try:
            out, said = process.communicate(timeout=_END_TIMEOUT_S)
        finally:
            process.kill()
    assert process.returncode == 0, said.decode()
    assert out == b"written\n"
    assert b"Traceback" not in said
    assert harness.get(FILES[0]) == CONTENTS[0]


# -- the MCP server ----------------------------------------------------------------------------------------------------


class _Server:
    """`seamfs serve` on standard input and output, spoken to line by line."""

    def __init__(self, process: subprocess.Popen[bytes]) -> None:
        self.process = process
        self._next_id = 0

    def send(self, *messages: dict[str, Any]) -> None:
        assert self.process.stdin is not None
        self.process.stdin.write(b"".join(json.dumps({"jsonrpc": "2.0", **m}).encode() + b"\n" for m in messages))
        self.process.stdin.flush()

    def request(self, method: str, **params: Any) -> dict[str, Any]:
        self._next_id += 1
        return {"id": self._next_id, "method": method, "params": params}

    def call(self, tool: str, **arguments: Any) -> dict[str, Any]:
        return self.request("tools/call", name=tool, arguments=arguments)

    def answers_until(self, request_id: int) -> dict[int, Any]:
        """Return what has been answered up to and with one request."""
        answers: dict[int, Any] = {}
        assert self.process.stdout is not None
        while request_id not in answers:
            answer = json.loads(self.process.stdout.readline())
            answers[answer.get("id")] = answer
        return answers

    def begin(self) -> None:
        who = {"name": "raw", "version": "1"}
        hello = self.request("initialize", protocolVersion="2025-11-25", capabilities={}, clientInfo=who)
        self.send(hello, {"method": "notifications/initialized", "params": {}})
        self.answers_until(hello["id"])


def _serve(root: Path) -> subprocess.Popen[bytes]:
    return subprocess.Popen(
        command("serve", str(root)),
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        env=environment(),
    )


def test_an_edit_cancelled_at_any_moment_has_happened_or_not_and_the_next_one_works(tmp_path: Path) -> None:
    file = tmp_path / "a.txt"
    file.write_text("state 0\n")
    with _serve(tmp_path) as process:
        server = _Server(process)
        server.begin()
        now, cancelled, number = file.read_text(), 0, 0
        # Whether the edit or its cancellation is first is the machine's choice: on until a cancellation was.
        while number < 24 or (not cancelled and number < _EDITS_MAX):
            number += 1
            after = f"state {number}\n"
            read = server.call("read", file_path="a.txt")
            server.send(read)
            server.answers_until(read["id"])
            edit = server.call("edit", file_path="a.txt", old_string=now.strip(), new_string=after.strip())
            between = [server.request("ping") for _ in range((number - 1) % 8)]
            server.send(edit, *between, {"method": "notifications/cancelled", "params": {"requestId": edit["id"]}})
            look = server.call("read", file_path="a.txt")
            server.send(look)
            answers = server.answers_until(look["id"])
            found = file.read_text()
            assert found in {now, after}
            if "result" in answers.get(edit["id"], {}):
                assert found == after
            cancelled += found == now
            now = found
            assert [path.name for path in tmp_path.iterdir()] == ["a.txt"]
        edit = server.call("edit", file_path="a.txt", old_string=now.strip(), new_string="the end")
        server.send(edit)
        assert (
            "isError" not in server.answers_until(edit["id"])[edit["id"]]["result"] or file.read_text() == "the end\n"
        )
        process.communicate(timeout=_END_TIMEOUT_S)
    assert process.returncode == 0
    assert file.read_text() == "the end\n"
    assert cancelled > 0


@pytest.mark.parametrize("pings", [0, 6])
def test_input_that_ends_in_the_middle_of_an_edit_ends_the_server_and_the_file_is_whole(
    tmp_path: Path, pings: int
) -> None:
    file = tmp_path / "a.txt"
    file.write_text("old\n")
    with _serve(tmp_path) as process:
        server = _Server(process)
        server.begin()
        read = server.call("read", file_path="a.txt")
        server.send(read)
        server.answers_until(read["id"])
        edit = server.call("edit", file_path="a.txt", old_string="old", new_string="new")
        server.send(edit, *(server.request("ping") for _ in range(pings)))
        process.communicate(timeout=_END_TIMEOUT_S)
    assert process.returncode == 0
    assert file.read_text() in {"old\n", "new\n"}
    assert [path.name for path in tmp_path.iterdir()] == ["a.txt"]
