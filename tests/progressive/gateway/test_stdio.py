"""Servers that are processes."""

import json
import logging
import os
import sys
from pathlib import Path
from typing import Any

import anyio
import pytest
from pydantic import SecretStr

from progressive.gateway import Gateway, GatewayOptions, StdioMount
from tests.progressive.gateway.support import NO_MORE, SERVERS, RawServer, definition, opened
from tests.support.processes import is_running
from tests.support.waiting import WAIT_S, until
from tool_runtime import AbortSignal, JsonObject, ToolCall, ToolFailure, ToolRuntime, ToolSuccess

pytestmark = pytest.mark.anyio


def tools(*names: str) -> list[Any]:
    return [definition(name) for name in names]


@pytest.fixture
def server(tmp_path: Path) -> RawServer:
    return RawServer(tmp_path / "raw")


async def test_tools_of_a_server_made_with_the_sdk_can_be_called() -> None:
    mount = StdioMount(name="sdk", command=(sys.executable, str(SERVERS / "sdk_server.py")))
    async with opened(mount) as world:
        assert world.names == [f"mcp__sdk__{name}" for name in ("add", "fail", "grow", "pid", "shout", "where")]
        tool = world.runtime.get("mcp__sdk__add")
        assert tool is not None
        assert tool.description == "Add two numbers."
        assert tool.annotations.read_only
        assert await world.value("mcp__sdk__add", left=1, right=2) == {"total": 3}
        refused = await world.failure("mcp__sdk__add", left="one", right=2)
        assert refused.code == "INVALID_ARGS"
        failed = await world.failure("mcp__sdk__fail")
        assert (failed.code, failed.message) == ("TOOL_FAILED", "Error executing tool fail")
        assert await world.value("mcp__sdk__grow", name="x y") == {"result": "grown"}
        await until(lambda: "mcp__sdk__x_y" in world.names)
        assert await world.value("mcp__sdk__x_y") == "x y"
    assert world.names == []


async def test_a_list_of_several_pages_is_read_whole(server: RawServer) -> None:
    server.lists(tools("a", "b"), tools("c"), tools("d"))
    async with opened(server.mount()) as world:
        assert world.names == [f"mcp__raw__{name}" for name in "abcd"]
        assert json.loads(str(await world.value("mcp__raw__d", x=1))) == {"name": "d", "arguments": {"x": 1}}


@pytest.mark.parametrize(("flag", "expected"), [("circle", 2), ("endless", 5)])
async def test_a_list_without_an_end_is_left_at_some_point(tmp_path: Path, flag: str, expected: int) -> None:
    server = RawServer(tmp_path / "raw", flag)
    server.lists(tools("a", "b"))
    async with opened(server.mount(), tools_max=5) as world:
        assert len(world.names) == expected
        assert world.status().state == "connected"
        assert len(server.notes("lists")) < 10


async def test_more_tools_than_are_taken_are_counted(server: RawServer) -> None:
    server.lists(tools(*(f"t{number}" for number in range(50))))
    async with opened(server.mount(), tools_max=10) as world:
        assert (world.status().tools, world.status().skipped) == (10, 40)
        assert world.status().left_out == ("40 beyond the 10 that are taken (tools_max)",)


async def test_a_list_that_is_cut_is_told_as_cut(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    server = RawServer(tmp_path / "raw", "endless")
    with caplog.at_level(logging.INFO):
        async with opened(server.mount(), pages_max=3) as world:
            cut = "whatever comes after the 3 pages that are read (pages_max)"
            assert (world.status().tools, world.status().skipped, world.status().left_out) == (3, 0, (cut,))
    assert f"mount raw: connected, 3 tools; left out: {cut}" in caplog.messages


async def test_a_list_that_goes_on_beyond_the_bound_is_told_as_such(tmp_path: Path) -> None:
    server = RawServer(tmp_path / "raw", "endless")
    async with opened(server.mount(), tools_max=2) as world:
        assert world.status().left_out == ("1 or more beyond the 2 that are taken (tools_max)",)


async def test_a_tool_that_nests_too_deep_costs_that_tool_only(server: RawServer) -> None:
    deep: JsonObject = {}
    for _ in range(300):
        deep = {"a": deep}
    server.lists([definition("deep", inputSchema={"type": "object", "x": deep}), definition("good")])
    async with opened(server.mount()) as world:
        assert world.names == ["mcp__raw__good"]
        assert world.status().left_out[0].startswith("'deep': its schema ")


async def test_malformed_definitions_cost_themselves_only(server: RawServer) -> None:
    server.lists([definition("good"), {"name": "bad", "inputSchema": 5}, 7, {"name": ["x"]}, definition("fine")])
    async with opened(server.mount()) as world:
        assert world.names == ["mcp__raw__fine", "mcp__raw__good"]
        assert world.status().skipped == 3
        await world.value("mcp__raw__good")


async def test_a_server_without_tools_is_connected(tmp_path: Path) -> None:
    async with opened(RawServer(tmp_path / "raw", "no-tools").mount()) as world:
        assert (world.status().state, world.status().tools) == ("connected", 0)


async def test_a_banner_before_the_protocol_does_no_harm(tmp_path: Path) -> None:
    async with opened(RawServer(tmp_path / "raw", "banner").mount()) as world:
        assert world.status().state == "connected"


async def test_a_flood_of_notices_is_few_readings_of_the_list(server: RawServer) -> None:
    server.lists(tools("flood"))
    async with opened(server.mount(), list_interval_s=0.3) as world:
        server.lists(tools("flood", "new"))
        started_s = anyio.current_time()
        assert await world.value("mcp__raw__flood", times=1_500) == "flooded"
        await until(lambda: "mcp__raw__new" in world.names)
        readings = len(server.notes("lists"))
        # One when the connection was made, one for the first notice, and one after each interval.
        assert readings <= 2 + (anyio.current_time() - started_s) / 0.3


async def test_a_renamed_tool_is_replaced_and_the_others_stay_the_same_objects(server: RawServer) -> None:
    server.lists(tools("flood", "old"))
    async with opened(server.mount()) as world:
        kept = world.runtime.get("mcp__raw__flood")
        server.lists(tools("flood", "renamed"))
        await world.value("mcp__raw__flood", times=1)
        await until(lambda: "mcp__raw__renamed" in world.names)
        assert world.names == ["mcp__raw__flood", "mcp__raw__renamed"]
        assert world.runtime.get("mcp__raw__flood") is kept


async def test_a_server_gets_its_own_variables_and_few_others(
    server: RawServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "not for everybody")
    monkeypatch.setenv("LANG", "C.UTF-8")
    server.lists(tools("env"))
    async with opened(server.mount(env={"TOKEN": SecretStr("s3cret"), "PLAIN": "1"})) as world:
        env = json.loads(str(await world.value("mcp__raw__env")))
    assert (env["TOKEN"], env["PLAIN"], env["LANG"], env["PATH"]) == ("s3cret", "1", "C.UTF-8", os.environ["PATH"])
    allowed = {"HOME", "LANG", "LC_ALL", "LC_CTYPE", "LOGNAME", "PATH", "SHELL", "TERM", "TMPDIR", "TZ", "USER"}
    assert env.keys() <= allowed | {"TOKEN", "PLAIN"}


async def test_no_secret_gets_into_logs_reasons_or_errors(server: RawServer, caplog: pytest.LogCaptureFixture) -> None:
    token = "s3cret-token-value"
    server.lists(tools("print", "crash", "refuse"))
    with caplog.at_level(logging.DEBUG):
        async with opened(server.mount(env={"TOKEN": token})) as world:
            await world.value("mcp__raw__print", text="started with it: " + token)
            refused = await world.failure("mcp__raw__refuse", message=f"bad {token}")
            assert refused.message == "raw: bad ***"
            await until(lambda: "started with it: ***" in caplog.text)
            await world.call("mcp__raw__crash")
            await until(lambda: world.status().attempts > 1)
            assert world.status().reason == "" or "***" in world.status().reason
    ours = [record.getMessage() for record in caplog.records if record.name.startswith("progressive")]
    assert ours
    assert not [message for message in ours if token in message]


@pytest.mark.parametrize(
    ("command", "reason"),
    [
        (("no-such-command-anywhere",), "there is no command 'no-such-command-anywhere'"),
        (("sh", "-c", "echo no config >&2; exit 3"), "the server ended with exit code 3; it last said: no config"),
        (("sh", "-c", "kill -9 $$"), "the server was ended by signal 9"),
        (("sh", "-c", "exec >&-; exec sleep 60"), "the server closed its output"),
    ],
)
async def test_a_server_that_cannot_be_had_gives_one_clear_reason(command: tuple[str, ...], reason: str) -> None:
    async with opened(StdioMount(name="x", command=command), **NO_MORE) as world:
        status = world.status()
        assert (status.state, status.reason, status.attempts) == ("waiting", reason, 1)


@pytest.mark.parametrize(("mode", "what"), [(0o600, "may not be executed"), (0o700, "is not a program")])
async def test_a_file_that_cannot_be_run_gives_one_clear_reason(tmp_path: Path, mode: int, what: str) -> None:
    path = tmp_path / "server"
    path.write_text("no program")
    path.chmod(mode)
    async with opened(StdioMount(name="x", command=(str(path),))) as world:
        assert world.status().reason == f"the command {str(path)!r} {what}"


async def test_a_missing_directory_is_named(tmp_path: Path) -> None:
    async with opened(StdioMount(name="x", command=("true",), cwd=tmp_path / "gone")) as world:
        assert world.status().reason == f"there is no directory {tmp_path / 'gone'} to run it in"


async def test_a_silent_server_is_given_up_after_the_timeout(tmp_path: Path) -> None:
    server = RawServer(tmp_path / "raw", "silent")
    async with opened(server.mount(), connect_timeout_s=0.5, **NO_MORE) as world:
        assert world.status().reason == "the server was not ready within 0.5 s"


async def test_closing_does_not_wait_for_a_server_that_is_not_ready(tmp_path: Path) -> None:
    server = RawServer(tmp_path / "raw", "silent")
    runtime = ToolRuntime()
    gateway = Gateway(runtime, [server.mount()], GatewayOptions(stop_grace_s=0.1))
    with anyio.fail_after(WAIT_S):
        async with gateway.opened():
            await gateway.settled(0.05)
            assert gateway.status()[0].state == "connecting"
            await until(lambda: server.notes("started") != [])
    await until(lambda: not is_running(int(server.notes("started")[0])))


async def test_a_connection_that_lasted_ends_the_backing_off(tmp_path: Path) -> None:
    server = RawServer(tmp_path / "raw", "die-after-list")
    options: dict[str, Any] = {"backoff_initial_s": 0.001, "backoff_max_s": 600.0, "stable_after_s": 1e-9}
    async with opened(server.mount(), **options) as world:
        # Without an end to it, the twentieth wait would be of minutes.
        await until(lambda: world.status().attempts >= 25, timeout_s=100)


@pytest.mark.parametrize(
    ("flag", "reason"),
    [
        ("junk", "the server sent 101 lines that are no JSON-RPC messages"),
        ("endless-line", "the server sent a message of more than 100,000 bytes"),
    ],
)
async def test_a_server_that_does_not_speak_the_protocol_is_left(tmp_path: Path, flag: str, reason: str) -> None:
    server = RawServer(tmp_path / "raw", flag)
    async with opened(server.mount(), message_bytes_max=100_000, **NO_MORE) as world:
        assert world.status().reason == reason


async def test_an_overlong_message_ends_the_connection_and_the_call(server: RawServer) -> None:
    server.lists([definition("huge", annotations={"readOnlyHint": True}), definition("echo")])
    async with opened(server.mount(), message_bytes_max=100_000) as world:
        failure = await world.failure("mcp__raw__huge", size=200_000)
        # Unlike after other ends of a connection, even a call that changes nothing is not worth repeating.
        assert (failure.code, failure.retryable) == ("TOOL_UNAVAILABLE", False)
        assert failure.message == (
            "raw: the connection ended during the call, which may have taken effect: the server sent a message of "
            "more than 100,000 bytes; ask for less, the same answer would end the connection again"
        )
        await world.connected(attempts=2)
        await world.value("mcp__raw__echo")


async def test_a_result_over_the_bound_leaves_the_connection_alone(server: RawServer) -> None:
    server.lists(tools("big"))
    async with opened(server.mount(), result_bytes_max=1_000) as world:
        failure = await world.failure("mcp__raw__big", size=5_000)
        assert failure.code == "RESULT_TOO_LARGE"
        assert "5,000" in failure.message
        assert world.status().attempts == 1


@pytest.mark.parametrize(("claims", "retryable"), [({}, False), ({"readOnlyHint": True}, True)])
async def test_a_crash_during_a_call_may_have_taken_effect(
    server: RawServer, claims: dict[str, bool], retryable: bool
) -> None:
    server.lists([definition("crash", annotations=claims)])
    async with opened(server.mount()) as world:
        failure = await world.failure("mcp__raw__crash")
        assert (failure.code, failure.retryable) == ("TOOL_UNAVAILABLE", retryable)
        assert failure.message == (
            "raw: the connection ended during the call, which may have taken effect: the server ended with exit code 7"
        )


async def test_while_a_server_is_gone_its_tools_stay_and_fail_at_once(server: RawServer) -> None:
    server.lists(tools("crash"))
    async with opened(server.mount(), **NO_MORE) as world:
        await world.call("mcp__raw__crash")
        await until(lambda: world.status().state == "waiting")
        with anyio.fail_after(15):
            failure = await world.failure("mcp__raw__crash")
        assert world.names == ["mcp__raw__crash"]
        assert (failure.code, failure.retryable) == ("TOOL_UNAVAILABLE", True)
        assert failure.message.startswith("raw: the server ended with exit code 7; it is tried again")


async def test_a_server_that_comes_back_keeps_its_tools(server: RawServer) -> None:
    server.lists(tools("crash", "pid"))
    async with opened(server.mount()) as world:
        first = await world.value("mcp__raw__pid")
        kept = world.runtime.tools()
        await world.call("mcp__raw__crash")
        await world.connected(attempts=2)
        assert await world.value("mcp__raw__pid") != first
        assert [after is before for after, before in zip(world.runtime.tools(), kept, strict=True)] == [True, True]


async def test_a_timeout_reaches_the_server_and_a_late_answer_is_dropped(server: RawServer) -> None:
    server.lists(tools("hang", "echo"))
    async with opened(server.mount(), call_timeout_s=1.5) as world:
        failure = await world.failure("mcp__raw__hang")
        assert failure.code == "TOOL_TIMEOUT"
        await until(lambda: len(server.notes("cancelled")) == 1)
        await world.value_in_time("mcp__raw__echo")
        assert world.status().attempts == 1


async def test_a_cancelled_call_returns_at_once_and_reaches_the_server(server: RawServer) -> None:
    server.lists(tools("hang"))
    async with opened(server.mount()) as world:
        abort = AbortSignal()
        results: list[object] = []

        async def run() -> None:
            call = ToolCall("mcp__raw__hang", {}, id="1")
            results.append(await world.runtime.execute(call, abort=abort))

        with anyio.fail_after(15):
            async with anyio.create_task_group() as tasks:
                tasks.start_soon(run)
                await until(lambda: server.notes("calls") == ["hang"])
                abort.abort()
        assert isinstance(results[0], ToolFailure)
        assert results[0].code == "ABORTED"
        await until(lambda: len(server.notes("cancelled")) == 1)


SCHEMA: JsonObject = {"type": "object", "properties": {}}


@pytest.mark.parametrize(
    ("method", "params"),
    [
        ("sampling/createMessage", {"messages": [], "maxTokens": 1}),
        ("elicitation/create", {"message": "m", "requestedSchema": SCHEMA}),
        ("roots/list", {}),
    ],
)
async def test_what_a_server_asks_of_its_client_is_declined(server: RawServer, method: str, params: JsonObject) -> None:
    server.lists(tools("ask"))
    async with opened(server.mount(), call_timeout_s=1.5) as world:
        await world.call("mcp__raw__ask", method=method, params=params)
        await until(lambda: len(server.notes("answers")) == 1)
        assert "not supported" in json.loads(server.notes("answers")[0])["error"]["message"]


async def test_an_error_of_the_protocol_fails_the_call(server: RawServer) -> None:
    server.lists(tools("refuse"))
    async with opened(server.mount()) as world:
        failure = await world.failure("mcp__raw__refuse", message="no such thing")
        assert (failure.code, failure.message) == ("TOOL_FAILED", "raw: no such thing")


@pytest.mark.parametrize("message", ["Repository not found", "Connection closed"])
async def test_an_error_with_the_code_of_the_sdk_for_a_closed_connection_is_the_servers_own(
    server: RawServer, message: str
) -> None:
    server.lists(tools("refuse"))
    async with opened(server.mount()) as world:
        failure = await world.failure("mcp__raw__refuse", code=-32000, message=message)
        assert (failure.code, failure.message) == ("TOOL_FAILED", f"raw: {message}")
        assert (world.status().state, world.status().attempts) == ("connected", 1)


async def test_a_malformed_result_fails_the_call(server: RawServer) -> None:
    server.lists(tools("reply"))
    async with opened(server.mount()) as world:
        failure = await world.failure("mcp__raw__reply", result={"content": [{"type": "hologram"}]})
        assert failure.code == "INVALID_TOOL_OUTPUT"
        assert "may have taken effect" in failure.message


async def test_an_answer_that_is_no_unicode_fails_the_call_at_once(server: RawServer) -> None:
    server.lists(tools("reply"))
    async with opened(server.mount(), call_timeout_s=600.0) as world:
        # A lone surrogate cannot be sent to the server; it makes one of an escape that it is sent as text.
        failure = await world.failure("mcp__raw__reply", result={"content": [], "escape": "\\ud800"})
        assert failure.code == "INVALID_TOOL_OUTPUT"
        assert failure.message.startswith("raw: the server sent an answer that cannot be read: ")


async def test_an_answer_that_nests_too_deep_fails_the_call_at_once(server: RawServer) -> None:
    server.lists(tools("deep", "echo"))
    async with opened(server.mount(), call_timeout_s=600.0) as world:
        failure = await world.failure("mcp__raw__deep", levels=100_000)
        assert failure.code == "INVALID_TOOL_OUTPUT"
        assert failure.message == (
            "raw: the server sent an answer that cannot be read: it nests too deep; the call may have taken effect"
        )
        await world.value("mcp__raw__echo")
        assert world.status().attempts == 1


async def test_a_message_that_nests_too_deep_and_answers_nothing_ends_the_connection(server: RawServer) -> None:
    server.lists(tools("shaft"))
    async with opened(server.mount(), call_timeout_s=600.0) as world:
        failure = await world.failure("mcp__raw__shaft", levels=100_000)
        assert failure.code == "TOOL_UNAVAILABLE"
        assert "nests too deep to be read" in failure.message


async def test_a_list_that_nests_too_deep_is_not_told_as_a_refusal(tmp_path: Path) -> None:
    server = RawServer(tmp_path / "raw", "abyss")
    async with opened(server.mount(), **NO_MORE) as world:
        assert world.status().reason == "the server sent an answer that cannot be read: it nests too deep"


async def test_a_number_that_is_none_fails_the_call(server: RawServer) -> None:
    server.lists(tools("reply"))
    async with opened(server.mount()) as world:
        failure = await world.failure("mcp__raw__reply", result={"content": [], "number": "NaN"})
        assert failure.code == "INVALID_TOOL_OUTPUT"
        assert "NaN" in failure.message or "nan" in failure.message


@pytest.mark.parametrize(("flag", "grace_s"), [("stubborn", 0.2), ("child", 20.0)])
async def test_at_the_end_no_process_is_left(tmp_path: Path, flag: str, grace_s: float) -> None:
    server = RawServer(tmp_path / "raw", flag)
    async with opened(server.mount(), stop_grace_s=grace_s):
        pids = [int(pid) for kind in ("started", "children") for pid in server.notes(kind)]
        assert pids
        assert all(map(is_running, pids))
    await until(lambda: not any(map(is_running, pids)))
    # One that is not killed before it has come to that has seen the end of its input first.
    assert server.notes("ended") == [""] or flag == "stubborn"


async def test_what_goes_wrong_in_the_block_is_raised_as_it_is(server: RawServer) -> None:
    with pytest.raises(LookupError, match="mine"):
        async with opened(server.mount()):
            raise LookupError("mine")


async def test_a_gateway_is_opened_once(server: RawServer) -> None:
    async with opened(server.mount()) as world:
        with pytest.raises(RuntimeError, match="opened once"):
            async with world.gateway.opened():
                pass


async def test_a_tool_can_be_called_as_soon_as_it_is_there(tmp_path: Path) -> None:
    server = RawServer(tmp_path / "raw")
    server.lists([definition(f"t{number}") for number in range(1_000)])
    runtime = ToolRuntime()
    gateway = Gateway(runtime, [server.mount()])
    async with gateway.opened():
        await until(lambda: runtime.get("mcp__raw__t0") is not None)
        assert gateway.status()[0].state == "connecting"
        result = await runtime.execute(ToolCall("mcp__raw__t0", {}, id="1"))
        assert isinstance(result, ToolSuccess)
