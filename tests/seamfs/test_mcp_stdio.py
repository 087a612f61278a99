"""The server on standard input and output, as a process, with the official client, raw, and with the inspector."""

import json
import os
import shutil
import signal
import subprocess
from pathlib import Path
from typing import Any, NoReturn

import pytest
from mcp import Client, StdioServerParameters

from seamfs.cli import main
from tests.seamfs.processes import TIMEOUT_S, command, environment

pytestmark = pytest.mark.anyio

INSPECTOR_TIMEOUT_S = 100


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


@pytest.mark.parametrize(("mode", "revision"), [("auto", "2026-07-28"), ("legacy", "2025-11-25")])
async def test_a_session_reads_and_edits_in_either_era_of_the_protocol(root: Path, mode: str, revision: str) -> None:
    (root / "a.txt").write_text("one\n")
    first, *arguments = command("serve", str(root))
    server = StdioServerParameters(command=first, args=arguments, env=environment())
    edit = {"file_path": "a.txt", "old_string": "one", "new_string": "two"}
    async with Client(server, mode=mode) as client:
        assert client.protocol_version == revision
        assert str(root) in (client.instructions or "")
        unread = await client.call_tool("edit", edit)
        await client.call_tool("read", {"file_path": "a.txt"})
        edited = await client.call_tool("edit", edit)
    assert "FS_NOT_OBSERVED" in str(unread.content)
    assert not edited.is_error
    assert (root / "a.txt").read_text() == "two\n"


def message(method: str, params: dict[str, Any], request_id: int | None = None) -> bytes:
    head: dict[str, Any] = {"jsonrpc": "2.0", "method": method, "params": params}
    return json.dumps(head if request_id is None else {**head, "id": request_id}).encode() + b"\n"


def test_output_holds_protocol_alone_logs_hold_objects_and_the_end_of_input_ends_it(root: Path) -> None:
    (root / "a.txt").write_text("confidential\n")
    who = {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "raw", "version": "1"}}
    given = (
        message("initialize", who, 1)
        + message("notifications/initialized", {})
        + b"this is no JSON: confidential\n"
        + message("tools/call", {"name": "read", "arguments": {"file_path": "a.txt"}}, 2)
        + message("tools/call", {"name": "read", "arguments": {"file_path": "confidential"}}, 3)
    )
    with subprocess.Popen(
        command("serve", str(root)),
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env=environment(),
    ) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        process.stdin.write(given)
        process.stdin.flush()
        answers: dict[object, Any] = {}
        while not {1, 2, 3} <= answers.keys():
            line = json.loads(process.stdout.readline())
            assert line["jsonrpc"] == "2.0"
            answers[line.get("id")] = line
        rest, logged = process.communicate(timeout=TIMEOUT_S)
    assert process.returncode == 0
    assert rest == b""
    assert "confidential" in str(answers[2]["result"]["content"])
    assert answers[3]["result"]["isError"] is True
    events = [json.loads(line) for line in logged.splitlines()]
    assert [event["event"] for event in events if event["logger"].startswith("seamfs")] == ["serving", "call", "call"]
    assert b"confidential" not in logged


@pytest.mark.parametrize(("number", "status"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
def test_a_signal_ends_it_at_once_and_quietly_while_it_waits_for_input(
    root: Path, number: signal.Signals, status: int
) -> None:
    with subprocess.Popen(
        command("serve", str(root)),
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env=environment(),
    ) as process:
        assert process.stderr is not None
        assert json.loads(process.stderr.readline())["event"] == "serving"
        process.send_signal(number)
        # The input stays open: whoever waits for it has to be stopped.
        assert process.wait(TIMEOUT_S) == status
        assert process.stderr.read() == b""


@pytest.mark.usefixtures("restored_logging")
@pytest.mark.parametrize(
    ("root_url", "start"),
    [
        ("missing", "FS_NOT_FOUND: "),
        ("gopher://x/y", "FS_UNSUPPORTED: "),
        ("sftp://user:hunter2@host/x", "FS_UNSUPPORTED: "),
    ],
)
def test_a_root_that_cannot_be_opened_is_one_line_and_status_one(
    root_url: str, start: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["serve", root_url]) == 1
    shown = capsys.readouterr()
    assert shown.out == ""
    (line,) = shown.err.splitlines()
    assert line.startswith(start)
    assert "hunter2" not in line


@pytest.mark.xdist_group("npm")
def test_an_independent_client_lists_and_calls_the_tools(root: Path) -> None:
    """The inspector comes from npm, by another author and in another language than the client above."""
    npx = shutil.which("npx")
    if npx is None:
        _cannot_run("npx is not installed")
    (root / "a.txt").write_text("one\ntwo\n")
    inspector = [npx, "-y", "@modelcontextprotocol/inspector", "--cli", *command("serve", str(root))]
    call = ["--method", "tools/call", "--tool-name", "read", "--tool-arg", "file_path=a.txt", "--tool-arg", "offset=2"]
    done = subprocess.run(
        [*inspector, *call], capture_output=True, env=environment(), timeout=INSPECTOR_TIMEOUT_S, check=False
    )
    if done.returncode != 0 and b"npm" in done.stderr:
        _cannot_run(f"the inspector cannot be installed: {done.stderr.decode()[-300:]}")
    assert done.returncode == 0, done.stderr.decode()
    result = json.loads(done.stdout)
    assert "2: two" in result["content"][0]["text"]
    assert result["_meta"]["seamfs/value"]["total_lines"] == 2


def _cannot_run(reason: str) -> NoReturn:
    if os.environ.get("SEAMFS_REQUIRE_REAL") == "1":
        pytest.fail(reason)
    pytest.skip(reason)
