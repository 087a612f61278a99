"""`seamfs serve --progressive` as a process and as a command line."""

import json
import shlex
import signal
import subprocess
import sys
from pathlib import Path

import anyio
import pytest
from mcp import Client, MCPError, StdioServerParameters

from seamfs.cli import main
from tests.seamfs.mounted import HARMLESS, STABLE, TOOLBOX, invoke, text_of, toolbox_over_http
from tests.seamfs.processes import TIMEOUT_S, command, environment, http_server
from tests.support.processes import is_running
from tests.support.waiting import until, wait_until

BOX = f"box={shlex.join(TOOLBOX)}"
SILENT = f"silent={sys.executable} -c 'import time; time.sleep(600)'"


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


def server(*arguments: str, **variables: str) -> StdioServerParameters:
    first, *rest = command("serve", *arguments)
    return StdioServerParameters(command=first, args=rest, env=environment(**variables))


async def connected(client: Client, server: str) -> None:
    """Wait until a server that was mounted beside the start answers."""
    with anyio.fail_after(TIMEOUT_S):
        while (await invoke(client, f"mcp__{server}__pid")).is_error:  # noqa: ASYNC110 - another process connects
            await anyio.sleep(0.1)


@pytest.mark.anyio
async def test_over_stdio_a_mounted_tool_is_found_and_called_and_its_server_ends_with_ours(root: Path) -> None:
    (root / "a.txt").write_text("one\n")
    async with Client(server(str(root), "--progressive", "--mount", BOX)) as client:
        listed = [tool.name for tool in (await client.list_tools()).tools]
        assert "## Tools that are not declared" in (client.instructions or "")
        await connected(client, "box")
        found = await client.call_tool("search_tools", {"query": "add numbers"})
        described = await client.call_tool("describe_tools", {"names": ["mcp__box__add"]})
        total = await invoke(client, "mcp__box__add", left=40, right=2)
        pid = int(text_of(await invoke(client, "mcp__box__pid")))
        assert is_running(pid)
        read = await client.call_tool("read", {"file_path": "a.txt"})
    assert listed == STABLE
    assert "mcp__box__add: Add two numbers." in text_of(found)
    assert "right" in text_of(described)
    assert json.loads(text_of(total)) == {"total": 42}
    assert "1: one" in text_of(read)
    # Our server is ended by its client if it takes more than two seconds, and its own servers end with their input.
    await until(lambda: not is_running(pid))


@pytest.mark.anyio
async def test_settings_and_flags_are_put_together_and_the_flag_wins(root: Path, tmp_path: Path) -> None:
    config = tmp_path / "conf.toml"
    config.write_text(
        f"[progressive]\nenabled = true\nmax_search_results = 1\n"
        f"[mounts.box]\ncommand = 'no-such-program'\n"
        f"[mounts.second]\ncommand = {json.dumps(TOOLBOX)}\nenv_from = ['PASSED_ON']\nenv = {{ GIVEN = 'given' }}\n"
    )
    started = server(str(root), "--config", str(config), "--mount", BOX, PASSED_ON="passed on", KEPT="kept back")
    async with Client(started) as client:
        for name in ("box", "second"):
            await connected(client, name)
        ranked = text_of(await client.call_tool("search_tools", {"query": "say it louder"}))
        variables = [
            text_of(await invoke(client, "mcp__second__variable", name=name)) for name in ("PASSED_ON", "GIVEN", "KEPT")
        ]
    assert ranked.startswith("1 of ")
    assert variables == ["passed on", "given", "not set"]


@pytest.mark.anyio
async def test_a_server_that_says_nothing_holds_up_neither_the_start_nor_the_files(root: Path) -> None:
    (root / "a.txt").write_text("one\n")
    with anyio.fail_after(TIMEOUT_S):
        async with Client(server(str(root), "--progressive", "--mount", SILENT)) as client:
            assert [tool.name for tool in (await client.list_tools()).tools] == STABLE
            assert not (await client.call_tool("read", {"file_path": "a.txt"})).is_error
            for arguments in ({}, {"query": "anything"}):
                found = text_of(await client.call_tool("search_tools", arguments))
                assert found.startswith("0 tools (")
                assert "still connecting: silent" in found
            missing = text_of(await invoke(client, "mcp__silent__x"))
    assert missing == (
        "UNKNOWN_TOOL: there is no tool 'mcp__silent__x' now: the server silent is still being connected"
    )


@pytest.mark.anyio
async def test_over_http_every_session_sees_the_same_stable_list(root: Path) -> None:
    with toolbox_over_http() as url, http_server(str(root), "--progressive", "--mount-url", f"box={url}") as served:
        async with Client(served.url) as one, Client(served.url) as other:
            await connected(one, "box")
            lists = [[tool.name for tool in (await client.list_tools()).tools] for client in (one, other)]
            direct = await other.call_tool("mcp__box__shout", {"text": "hey"})
            nested = await one.call_tool("invoke_tool", {"name": "mcp__box__shout", "arguments": {"text": "hey"}})
    assert lists == [STABLE, STABLE]
    assert text_of(direct) == text_of(nested) == "HEY"


@pytest.mark.anyio
async def test_over_http_idle_clients_and_a_call_in_flight_are_no_errors_when_the_server_is_told_to_stop(
    root: Path, tmp_path: Path
) -> None:
    failures: list[Exception] = []
    reached = tmp_path / "reached"
    logged = ""

    async def hang(client: Client) -> None:
        try:
            await invoke(client, "mcp__box__hang", reached=str(reached))
        except MCPError as error:
            failures.append(error)

    with http_server(str(root), "--progressive", "--mount", BOX) as served:
        async with Client(served.url, mode="legacy") as idle, Client(served.url, mode="legacy") as busy:
            await connected(idle, "box")
            async with anyio.create_task_group() as tasks:
                tasks.start_soon(hang, busy)
                await until(reached.exists)
                served.process.send_signal(signal.SIGTERM)
                _, logged = await anyio.to_thread.run_sync(lambda: served.process.communicate(timeout=TIMEOUT_S))
    events = [json.loads(line) for line in logged.splitlines()]
    assert served.process.returncode == 143
    assert len(failures) == 1
    assert [event for event in events if event["level"] != "info"] == []
    assert [event["code"] for event in events if event["event"] == "call"][-1] == "CANCELLED"


@pytest.mark.anyio
async def test_over_http_read_only_and_structured_work_in_the_newest_revision(root: Path) -> None:
    flags = ("--progressive", "--read-only", "--structured", "--mount", BOX)
    with http_server(str(root), *flags) as served:
        async with Client(served.url) as client:
            assert client.protocol_version == "2026-07-28"
            listed = [tool.name for tool in (await client.list_tools()).tools]
            await connected(client, "box")
            total = await invoke(client, "mcp__box__add", left=1, right=2)
            # The list does not have it, so that nobody told the client of the header.
            located = await client.call_tool("mcp__box__locate", {"region": "eu"})
    assert text_of(located) == "in eu"
    assert listed == sorted(["describe_tools", "invoke_tool", "search_tools", *HARMLESS])
    assert total.structured_content == {"total": 3}


@pytest.mark.anyio
async def test_an_eager_tool_of_a_server_is_declared_from_the_start(root: Path) -> None:
    started = server(str(root), "--progressive", "--mount", BOX, "--eager", "mcp__box__add", "--eager", "read")
    async with Client(started) as client:
        assert [tool.name for tool in (await client.list_tools()).tools] == sorted([*STABLE, "mcp__box__add"])


def test_a_mount_that_fails_is_logged_with_its_reason_and_without_its_secrets(root: Path, tmp_path: Path) -> None:
    config = tmp_path / "conf.toml"
    config.write_text(
        "[progressive]\nenabled = true\n"
        "[mounts.gone]\ncommand = 'no-such-program'\nenv_from = ['TOKEN']\nenv = { OTHER = 'hunter2-other' }\n"
        "[mounts.far]\nurl = 'http://user:hunter2-pass@127.0.0.1:9/mcp?key=hunter2-key'\n"
    )
    with subprocess.Popen(
        command("serve", str(root), "--config", str(config)),
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env=environment(TOKEN="hunter2-token"),
    ) as process:
        assert process.stderr is not None
        lines: list[bytes] = []
        while sum(b"not connected" in line for line in lines) < 2:
            lines.append(process.stderr.readline())
            assert lines[-1], lines
        _, rest = process.communicate(timeout=TIMEOUT_S)
    assert process.returncode == 0
    logged = b"".join([*lines, rest])
    assert b"mount gone: not connected: there is no command 'no-such-program'" in logged
    assert b"mount far: not connected: " in logged
    assert b"hunter2" not in logged


def test_mounts_that_are_not_started_are_said(root: Path, tmp_path: Path) -> None:
    config = tmp_path / "conf.toml"
    config.write_text("[mounts.box]\ncommand = 'no-such-program'\n")
    done = subprocess.run(
        command("serve", str(root), "--config", str(config)),
        input=b"",
        capture_output=True,
        env=environment(),
        timeout=TIMEOUT_S,
        check=True,
    )
    events = [json.loads(line) for line in done.stderr.splitlines()]
    assert [event["event"] for event in events] == ["mounts are not started without --progressive", "serving"]
    assert events[0]["mounts"] == ["box"]


def test_a_signal_is_heard_while_the_server_of_an_eager_tool_is_waited_for(root: Path, tmp_path: Path) -> None:
    note = tmp_path / "started"
    silent = f"import os, time, pathlib; pathlib.Path({str(note)!r}).write_text(str(os.getpid())); time.sleep(600)"
    mount = f"silent={shlex.join([sys.executable, '-c', silent])}"
    with subprocess.Popen(
        command("serve", str(root), "--progressive", "--mount", mount, "--eager", "mcp__silent__x"),
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env=environment(),
    ) as process:
        wait_until(lambda: note.exists() and note.read_text() != "", timeout_s=TIMEOUT_S)
        process.send_signal(signal.SIGTERM)
        assert process.wait(TIMEOUT_S) == 143
    wait_until(lambda: not is_running(int(note.read_text())))


def one_line(capsys: pytest.CaptureFixture[str]) -> str:
    shown = capsys.readouterr()
    assert shown.out == ""
    (line,) = shown.err.splitlines()
    return line


@pytest.mark.usefixtures("restored_logging")
@pytest.mark.parametrize(
    "flags", [["--mount", "a=b"], ["--mount-url", "a=http://h/"], ["--eager", "mcp__a__b"]], ids=lambda flags: flags[0]
)
def test_mounts_without_the_layer_are_wrong_usage(
    root: Path, flags: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["serve", str(root), *flags]) == 2
    assert one_line(capsys).startswith("seamfs: --mount, --mount-url and --eager need --progressive (or progressive.en")


@pytest.mark.parametrize(
    ("flags", "expected"),
    [
        (["--mount", "npx"], "argument --mount: expected NAME=COMMAND"),
        (["--mount", "=npx"], "argument --mount: expected NAME=COMMAND"),
        (["--mount", "a="], "argument --mount: a: the command is empty"),
        (["--mount", "a=b 'c"], "argument --mount: a: the command cannot be split: No closing quotation"),
        (["--mount", "a=b", "--mount-url", "a=http://h/"], "argument --mount-url: a is mounted twice"),
        (["--mount-url", "http://user:hunter2@h/"], "argument --mount-url: expected NAME=URL"),
    ],
)
def test_a_flag_that_cannot_be_read_is_wrong_usage(
    flags: list[str], expected: str, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit) as caught:
        main(["serve", ".", "--progressive", *flags])
    assert caught.value.code == 2
    told = capsys.readouterr().err
    assert told.endswith(f"{expected}\n")
    assert "hunter2" not in told


@pytest.mark.usefixtures("restored_logging")
@pytest.mark.parametrize(
    ("flags", "status", "expected"),
    [
        (
            ["--eager", "search"],
            2,
            "seamfs: eager tools: there is no tool 'search'; there are: edit, glob, grep, list_dir, read, write",
        ),
        (["--eager", "run_code"], 2, "seamfs: --eager: reserved for the discovery tools: run_code"),
        (
            ["--eager", "mcp__b__x", "--mount", "a=x"],
            2,
            "seamfs: eager tools: there is no tool 'mcp__b__x'; there are: edit, glob, grep, list_dir, read, write, "
            "mcp__a__...",
        ),
        (["--mount-url", "a=h"], 2, "seamfs: mount a: the URL must be http:// or https:// with a host"),
        (["--mount", "a b=x"], 2, "seamfs: mount name 'a b': 1 to 32 of A-Z a-z 0-9 _ -, without two _ in a row"),
        (
            ["--eager", "mcp__a__x", "--mount", "a=no-such-program"],
            1,
            "seamfs: mcp__a__x cannot be declared from the start: mount a: there is no command 'no-such-program'",
        ),
    ],
)
def test_a_start_that_cannot_work_is_one_line(
    root: Path, flags: list[str], status: int, expected: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["serve", str(root), "--progressive", *flags]) == status
    told = capsys.readouterr()
    assert told.out == ""
    *logged, line = told.err.splitlines()
    assert line == expected
    assert all(json.loads(event)["logger"].startswith("progressive.gateway") for event in logged)


@pytest.mark.usefixtures("restored_logging")
def test_a_file_in_the_workspace_starts_no_programs_unless_it_is_named(
    root: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    work = root / "below"
    work.mkdir()
    monkeypatch.chdir(work)
    (work / "seamfs.toml").write_text("[mounts.a]\ncommand = 'no-such-program'\n")
    assert main(["serve", str(root), "--progressive"]) == 2
    assert one_line(capsys).startswith(f"seamfs: {work.resolve()}/seamfs.toml: mounts: the file lies in ROOT, where")
    named = ["--config", "seamfs.toml", "--eager", "mcp__a__x"]
    assert main(["serve", str(root), "--progressive", *named]) == 1
    assert "there is no command 'no-such-program'" in capsys.readouterr().err


def test_help_says_what_is_declared_and_that_no_shell_is_involved(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        main(["serve", "--help"])
    told = " ".join(capsys.readouterr().out.split())
    assert "declare the tools for the files of ROOT and three more by which a model finds and calls all others" in told
    assert "no shell is involved" in told
    assert "--mount-url NAME=URL" in told


def test_help_says_what_read_only_is_about_and_what_an_eager_tool_costs(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        main(["serve", "--help"])
    told = " ".join(capsys.readouterr().out.split())
    assert (
        "of the tools for the files of ROOT offer those alone that change nothing; tools of mounted servers stay"
        in told
    )
    assert "the start then waits for that server, and fails without the tool" in told
