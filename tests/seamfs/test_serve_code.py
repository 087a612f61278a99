"""`seamfs serve --mode code|both` as a process: with the official client, the inspector, and when things end badly."""

import json
import os
import shlex
import shutil
import signal
import subprocess
from collections.abc import Generator, Iterable
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any

import anyio
import httpx2
import pytest
from mcp import Client, MCPError, StdioServerParameters
from mcp.types import CallToolResult

from seamfs import extras
from seamfs.cli import main
from seamfs.config import BadSettingError, load_settings
from tests.seamfs.mounted import OWN, STABLE, TOOLBOX, meta_of, text_of, toolbox_over_http
from tests.seamfs.processes import TIMEOUT_S, HttpServer, command, environment, http_server
from tests.support.processes import children, command_of, cpu_ticks, is_running
from tests.support.waiting import until, wait_until

BOX = f"box={shlex.join(TOOLBOX)}"
LISTED = {"code": ["run_code"], "both": sorted(["describe_tools", "run_code", "search_tools", *OWN])}
INSPECTOR_TIMEOUT_S = 100
READY_TICKS = 8
"""Hundredths of a second that a process of the sandbox has computed at most when it is ready; it takes one."""
FOR_EVER_S = "600"
"""The limit of a program that something else is to end."""
EDIT_THREE = """
import asyncio
plan = await tools["read"]({"file_path": "plan.txt"})
names = [line["text"] for line in plan["lines"]]
await asyncio.gather(*[tools.read({"file_path": name}) for name in names])
edits = await asyncio.gather(
    *[tools.edit({"file_path": name, "old_string": "one", "new_string": "two"}) for name in names]
)
print("edited", len(edits))
return [edit["path"] for edit in edits]
"""
INITIALIZE = {
    "jsonrpc": "2.0",
    "id": 1,
    "method": "initialize",
    "params": {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "raw", "version": "1"}},
}
INITIALIZED = {"jsonrpc": "2.0", "method": "notifications/initialized"}
HEADERS = {"Accept": "application/json, text/event-stream"}
HANGING = """
import asyncio
while True:
    try:
        await tools["mcp__box__hang"]({"reached": "REACHED"})
    except ToolCallError:
        await asyncio.sleep(0.05)  # it is not connected yet
"""
ENDLESS = """
await tools.write({"file_path": "reached", "content": ""})
while True:
    pass
"""


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


def server(*arguments: str, **variables: str) -> StdioServerParameters:
    first, *rest = command("serve", *arguments)
    return StdioServerParameters(command=first, args=rest, env=environment(**variables))


async def run(client: Client, code: str) -> CallToolResult:
    return await client.call_tool("run_code", {"code": code, "description": "Does what a test wants."})


def returned(result: CallToolResult) -> Any:
    assert not result.is_error, text_of(result)
    return meta_of(result)["seamfs/value"]["value"]


def is_over_time(result: CallToolResult) -> bool:
    return result.is_error is True and meta_of(result)["seamfs/error"]["code"] == "PROGRAM_TIMEOUT"


def has_loaded_sandbox(pid: int) -> bool:
    return "pydantic_monty" in Path(f"/proc/{pid}/maps").read_text()


def sandbox(pid: int) -> list[int]:
    """Return the processes for programs that a server has started, one of which waits for the next program."""
    return [child for child in children(pid) if command_of(child) == "monty"]


def is_in_loop(root: Path, pid: int) -> bool:
    """Tell whether the endless program has begun, and a process of programs has computed for some time."""
    return (root / "reached").exists() and any(cpu_ticks(child) > READY_TICKS for child in sandbox(pid))


def are_gone(pids: Iterable[int]) -> bool:
    return not any(map(is_running, pids))


def write_files(root: Path) -> None:
    (root / "plan.txt").write_text("a\nb\nc\n")
    for name in "abc":
        (root / name).write_text("one\n")


@pytest.mark.anyio
@pytest.mark.parametrize("mode", ["code", "both"])
async def test_over_stdio_one_program_edits_three_files(root: Path, mode: str) -> None:
    write_files(root)
    async with Client(server(str(root), "--mode", mode)) as client:
        listed = [tool.name for tool in (await client.list_tools()).tools]
        result = await run(client, EDIT_THREE)
        direct = await client.call_tool("read", {"file_path": "a"})
    assert listed == LISTED[mode]
    assert returned(result) == ["a", "b", "c"]
    assert "edited 3" in text_of(result)
    assert [(root / name).read_text() for name in "abc"] == ["two\n"] * 3
    assert direct.is_error is (mode == "code")


@pytest.mark.anyio
@pytest.mark.parametrize("mode", ["code", "both"])
async def test_over_http_sessions_run_programs_at_once_over_mounted_servers_too(root: Path, mode: str) -> None:
    write_files(root)
    add = 'return await tools["mcp__box__add"]({"left": 40, "right": 2})'
    results: list[object] = []

    async def program(client: Client) -> None:
        results.append(returned(await run(client, add)))

    with (
        toolbox_over_http() as url,
        http_server(str(root), "--mode", mode, "--mount-url", f"box={url}") as served,
    ):
        async with Client(served.url) as one, Client(served.url) as other:
            lists = [[tool.name for tool in (await client.list_tools()).tools] for client in (one, other)]
            with anyio.fail_after(TIMEOUT_S):
                while (await run(one, add)).is_error:  # noqa: ASYNC110 - another process connects
                    await anyio.sleep(0.1)
            async with anyio.create_task_group() as tasks:
                for client in (one, other, one, other):
                    tasks.start_soon(program, client)
            edited = await run(one, EDIT_THREE)
            # What one session has read, another has not.
            refused = await run(other, 'await tools.edit({"file_path": "a", "old_string": "two", "new_string": "3"})')
    assert lists == [LISTED[mode]] * 2
    assert results == [{"total": 42}] * 4
    assert returned(edited) == ["a", "b", "c"]
    assert "FS_NOT_OBSERVED" in text_of(refused)


@pytest.mark.anyio
async def test_a_killed_worker_fails_its_program_alone(root: Path) -> None:
    write_files(root)
    results: list[CallToolResult] = []
    killed_pids: list[int] = []

    async def endless(client: Client) -> None:
        results.append(await run(client, ENDLESS))

    with http_server(str(root), "--mode", "code") as served:
        async with Client(served.url) as client:
            with anyio.fail_after(TIMEOUT_S):
                async with anyio.create_task_group() as tasks:
                    tasks.start_soon(endless, client)
                    await until(lambda: is_in_loop(root, served.process.pid))
                    killed_pids += sandbox(served.process.pid)
                    for pid in killed_pids:
                        os.kill(pid, signal.SIGKILL)
            await until(lambda: are_gone(killed_pids))
            after = await run(client, EDIT_THREE)
    (killed,) = results
    assert killed.is_error
    assert meta_of(killed)["seamfs/error"]["code"] == "PROGRAM_CRASHED"
    assert returned(after) == ["a", "b", "c"]


@pytest.mark.anyio
async def test_a_program_that_runs_into_its_limit_says_so_and_the_next_one_runs(root: Path) -> None:
    write_files(root)
    async with Client(server(str(root), "--mode", "code", SEAMFS_CODE__TIMEOUT_S="2")) as client:
        endless = await run(client, ENDLESS)
        uncatchable = await run(client, "while True:\n    try:\n        pass\n    except BaseException:\n        pass")
        # The limit is that of all programs, and short ones exceed it too where the machine has no time for them.
        with anyio.fail_after(TIMEOUT_S):
            while is_over_time(after := await run(client, "return 1 + 1")):
                continue
    for result in (endless, uncatchable):
        assert is_over_time(result)
        assert "within 2 s" in text_of(result)
    assert returned(after) == 2


@pytest.mark.parametrize(
    ("number", "code"),
    [pytest.param(signal.SIGTERM, ENDLESS, id="loop"), pytest.param(signal.SIGINT, HANGING, id="call")],
)
def test_over_stdio_a_signal_ends_server_program_and_worker_at_once(
    root: Path, tmp_path: Path, number: signal.Signals, code: str
) -> None:
    reached = tmp_path / "reached"
    with raw_server(str(root), "--mode", "code", "--mount", BOX, SEAMFS_CODE__TIMEOUT_S=FOR_EVER_S) as process:
        send(process, program(code.replace("REACHED", str(reached))))
        wait_until(lambda: reached.exists() if code is HANGING else is_in_loop(root, process.pid))
        started = list(children(process.pid))
        process.send_signal(number)
        assert process.wait(TIMEOUT_S) == 128 + number
    assert started
    wait_until(lambda: are_gone(started))


def test_a_server_that_is_killed_outright_leaves_a_program_no_more_than_its_time(root: Path) -> None:
    with raw_server(str(root), "--mode", "code", SEAMFS_CODE__TIMEOUT_S="4") as process:
        send(process, program(ENDLESS))
        wait_until(lambda: is_in_loop(root, process.pid))
        started = list(children(process.pid))
        process.kill()
        wait_until(lambda: are_gone(started))
    assert started


def test_over_stdio_a_client_that_leaves_in_the_middle_of_a_program_ends_everything(root: Path) -> None:
    with raw_server(str(root), "--mode", "code", SEAMFS_CODE__TIMEOUT_S=FOR_EVER_S) as process:
        send(process, program(ENDLESS))
        wait_until(lambda: is_in_loop(root, process.pid))
        started = list(children(process.pid))
        assert process.stdin is not None
        process.stdin.close()
        assert process.wait(TIMEOUT_S) == 0
    assert started
    wait_until(lambda: are_gone(started))


@pytest.mark.anyio
async def test_over_http_a_signal_ends_server_and_worker_while_a_program_runs_and_nothing_is_an_error(
    root: Path,
) -> None:
    failures: list[Exception] = []
    started: list[int] = []
    logged = ""

    async def endless(client: Client) -> None:
        try:
            await run(client, ENDLESS)
        except MCPError as error:
            failures.append(error)

    variables = {"SEAMFS_CODE__TIMEOUT_S": FOR_EVER_S}
    with http_server(str(root), "--mode", "code", variables=variables) as served:
        async with Client(served.url, mode="legacy") as client, anyio.create_task_group() as tasks:
            tasks.start_soon(endless, client)
            await until(lambda: is_in_loop(root, served.process.pid))
            started.extend(children(served.process.pid))
            served.process.send_signal(signal.SIGTERM)
            _, logged = await anyio.to_thread.run_sync(lambda: served.process.communicate(timeout=TIMEOUT_S))
    events = [json.loads(line) for line in logged.splitlines()]
    assert served.process.returncode == 143
    assert len(failures) == 1
    assert [event for event in events if event["level"] != "info"] == []
    assert [event["code"] for event in events if event["event"] == "call"] == ["CANCELLED"]
    assert started
    await until(lambda: are_gone(started))


@pytest.mark.anyio
@pytest.mark.parametrize(
    ("ending", "code"),
    [("lost connection", "PROGRAM_TIMEOUT"), ("deleted session", "CANCELLED")],
    ids=["lost", "deleted"],
)
async def test_over_http_a_lost_connection_leaves_a_program_its_time_and_a_deleted_session_ends_it(
    root: Path, ending: str, code: str
) -> None:
    write_files(root)
    limit_s = "4" if ending == "lost connection" else FOR_EVER_S
    # The limit is that of the other program too, so nothing of it shall wait for a disk.
    variables = {"SEAMFS_CODE__TIMEOUT_S": limit_s, "SEAMFS_LOCAL__FSYNC": "false"}
    with http_server(str(root), "--mode", "code", variables=variables) as served:
        async with Client(served.url) as other, httpx2.AsyncClient(headers=HEADERS, timeout=TIMEOUT_S) as http:
            session_id = (await http.post(served.url, json=INITIALIZE)).headers["mcp-session-id"]
            http.headers.update({"mcp-session-id": session_id, "mcp-protocol-version": "2025-11-25"})
            await http.post(served.url, json=INITIALIZED)
            with anyio.fail_after(TIMEOUT_S):
                async with anyio.create_task_group() as tasks:
                    tasks.start_soon(partial(http.post, served.url, json=program(ENDLESS)))
                    await until(lambda: is_in_loop(root, served.process.pid))
                    tasks.cancel_scope.cancel()
                # Nobody else is held up.
                assert returned(await run(other, EDIT_THREE)) == ["a", "b", "c"]
                if ending == "deleted session":
                    assert (await http.delete(served.url)).status_code == 200
                events = await anyio.to_thread.run_sync(logged_until_calls, 2, served)
    assert {event["session"]: event["code"] for event in events if event["event"] == "call"} == {"s1": code, "s2": None}
    nested = [(event["session"], event["tool"]) for event in events if event["event"] == "nested call"]
    assert nested == [("s1", "write")] + [("s2", "read")] * 4 + [("s2", "edit")] * 3


def logged_until_calls(count: int, served: HttpServer) -> list[dict[str, Any]]:
    """Wait until so many calls of clients are logged, and return all that is logged until then."""
    assert served.process.stderr is not None
    events: list[dict[str, Any]] = []
    while sum(event["event"] == "call" for event in events) < count:
        events.append(json.loads(served.process.stderr.readline()))
    return events


@contextmanager
def raw_server(*arguments: str, **variables: str) -> Generator[subprocess.Popen[bytes]]:
    """Start a server and shake hands with it; it is ended with the block, if it still runs."""
    with subprocess.Popen(
        command("serve", *arguments),
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        env=environment(**variables),
    ) as process:
        try:
            send(process, INITIALIZE)
            assert process.stdout is not None
            assert json.loads(process.stdout.readline())["id"] == 1
            send(process, INITIALIZED)
            yield process
        finally:
            if process.poll() is None:
                process.kill()


def send(process: subprocess.Popen[bytes], message: dict[str, Any]) -> None:
    assert process.stdin is not None
    process.stdin.write(json.dumps(message).encode() + b"\n")
    process.stdin.flush()


def program(code: str) -> dict[str, Any]:
    arguments = {"code": code, "description": "Lasts."}
    return {"jsonrpc": "2.0", "id": 2, "method": "tools/call", "params": {"name": "run_code", "arguments": arguments}}


@pytest.mark.xdist_group("npm")
def test_an_independent_client_lists_and_runs_a_program(root: Path) -> None:
    """The inspector comes from npm, by another author and in another language than the client above."""
    npx = shutil.which("npx")
    if npx is None:
        if os.environ.get("SEAMFS_REQUIRE_REAL") == "1":
            pytest.fail("npx is not installed")
        pytest.skip("npx is not installed")
    write_files(root)
    call = ["--method", "tools/call", "--tool-name", "run_code", "--tool-arg", f"code={EDIT_THREE}"]
    done = subprocess.run(
        [
            *(npx, "-y", "@modelcontextprotocol/inspector", "--cli", *command("serve", str(root), "--mode", "code")),
            *(*call, "--tool-arg", "description=Edits."),
        ],
        capture_output=True,
        env=environment(),
        timeout=INSPECTOR_TIMEOUT_S,
        check=False,
    )
    assert done.returncode == 0, done.stderr.decode()
    result = json.loads(done.stdout)
    assert result["_meta"]["seamfs/value"]["value"] == ["a", "b", "c"]
    assert (root / "c").read_text() == "two\n"


@pytest.mark.anyio
async def test_mode_and_limits_come_from_the_file_and_the_flag_wins(root: Path, tmp_path: Path) -> None:
    config = tmp_path / "conf.toml"
    config.write_text("[progressive]\nmode = 'code'\n[code]\ncalls_max = 2\n")
    async with Client(server(str(root), "--config", str(config))) as client:
        assert [tool.name for tool in (await client.list_tools()).tools] == LISTED["code"]
        result = await run(client, "for _ in range(3):\n    await tools.search_tools({})")
    assert result.is_error
    assert "more than 2 tool calls" in text_of(result)
    flags = ("--config", str(config), "--mode", "native", "--progressive")
    async with Client(server(str(root), *flags, SEAMFS_PROGRESSIVE__MODE="both")) as client:
        assert [tool.name for tool in (await client.list_tools()).tools] == STABLE


def test_a_mode_with_programs_enables_the_layer_and_a_contradiction_is_one_line_that_names_it(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    assert not load_settings().progressive.enabled
    assert load_settings(flags={"progressive": {"mode": "both"}}).progressive.enabled
    monkeypatch.setenv("SEAMFS_PROGRESSIVE__MODE", "code")
    assert load_settings().progressive.enabled
    Path("seamfs.toml").write_text("[progressive]\nenabled = false\n")
    with pytest.raises(BadSettingError) as caught:
        load_settings()
    assert str(caught.value) == ("SEAMFS_PROGRESSIVE__MODE: code needs progressive.enabled, which is set to false")
    assert not load_settings(flags={"progressive": {"mode": "native"}}).progressive.enabled


@pytest.mark.parametrize(
    ("name", "value", "expected"),
    [
        ("SEAMFS_PROGRESSIVE__MODE", "all", "Input should be 'native', 'code' or 'both'"),
        ("SEAMFS_CODE__TIMEOUT_S", "0", "Input should be greater than 0"),
        ("SEAMFS_CODE__TIMEOUT_S", "inf", "Input should be a finite number"),
        ("SEAMFS_CODE__CALLS_MAX", "-1", "Input should be greater than 0"),
        ("SEAMFS_CODE__SPEED", "1", "unknown setting; known here: "),
    ],
)
def test_a_bad_setting_is_one_line_that_names_it(
    name: str, value: str, expected: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(name, value)
    with pytest.raises(BadSettingError) as caught:
        load_settings()
    assert str(caught.value).startswith(f"{name}: {expected}")


@pytest.mark.usefixtures("restored_logging")
def test_a_mode_whose_sandbox_is_not_installed_is_one_line_with_the_command_that_installs_it(
    root: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    found = extras.find_spec

    def not_the_sandbox(name: str) -> object:
        return None if name == "pydantic_monty" else found(name)

    monkeypatch.setattr(extras, "find_spec", not_the_sandbox)
    assert main(["serve", str(root), "--mode", "both"]) == 1
    shown = capsys.readouterr()
    assert shown.out == ""
    assert shown.err == (
        "seamfs: seamfs serve --mode both needs pydantic_monty, not installed here: pip install 'seamfs[code]'\n"
    )


@pytest.mark.usefixtures("restored_logging")
def test_a_sandbox_that_cannot_be_started_is_one_line(
    root: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("MONTY_BIN", str(root / "missing"))
    assert main(["serve", str(root), "--mode", "code"]) == 1
    shown = capsys.readouterr()
    assert shown.out == ""
    (line,) = shown.err.splitlines()
    assert line.startswith("seamfs: the sandbox of mode code cannot be started: ")
    assert "missing: No such file or directory" in line


@pytest.mark.usefixtures("restored_logging")
def test_the_catalog_is_shown_without_a_sandbox_whatever_the_mode(
    root: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("SEAMFS_PROGRESSIVE__MODE", "code")
    monkeypatch.setenv("MONTY_BIN", str(root / "missing"))
    assert main(["tools", "--json"]) == 0
    shown = json.loads(capsys.readouterr().out)
    assert [tool["name"] for tool in shown["tools"]] == OWN


@pytest.mark.parametrize("wrong", ["progressive = 3", "progressive = ['code']"])
def test_a_section_that_is_no_table_is_one_line(wrong: str) -> None:
    Path("seamfs.toml").write_text(f"{wrong}\n")
    with pytest.raises(BadSettingError, match=r"^seamfs.toml: progressive: Input should be a valid dictionary"):
        load_settings()


def test_an_unknown_mode_is_wrong_usage_and_help_says_what_they_are(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as caught:
        main(["serve", ".", "--mode", "all"])
    assert caught.value.code == 2
    assert "argument --mode: invalid choice: 'all'" in capsys.readouterr().err
    with pytest.raises(SystemExit):
        main(["serve", "--help"])
    told = " ".join(capsys.readouterr().out.split())
    assert "--mode {native,code,both}" in told
    assert "code and both imply --progressive" in told


@pytest.mark.anyio
@pytest.mark.parametrize("flags", [(), ("--progressive",)], ids=["plain", "progressive"])
async def test_other_servers_load_no_sandbox_and_start_no_process(root: Path, flags: tuple[str, ...]) -> None:
    with http_server(str(root), *flags) as served:
        async with Client(served.url) as client:
            assert "run_code" not in [tool.name for tool in (await client.list_tools()).tools]
            assert not has_loaded_sandbox(served.process.pid)
            assert not list(children(served.process.pid))


@pytest.mark.anyio
async def test_a_server_with_programs_has_loaded_the_sandbox(root: Path) -> None:
    with http_server(str(root), "--mode", "code") as served:
        async with Client(served.url) as client:
            assert returned(await run(client, "return 1")) == 1
            assert has_loaded_sandbox(served.process.pid)
