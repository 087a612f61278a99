"""Servers that are reached over HTTP."""

import gzip
import json
import logging
import socket
import subprocess
import sys
from collections.abc import Generator
from dataclasses import dataclass

import anyio
import pytest
from pydantic import SecretStr

from progressive.gateway import HttpMount
from tests.progressive.gateway.raw_http import Answer, Asked, Handler, RawHttp, json_answer, legacy
from tests.progressive.gateway.support import NO_MORE, SERVERS, definition, opened
from tests.support.ports import free_port
from tests.support.waiting import until

pytestmark = pytest.mark.anyio


@pytest.fixture
def anyio_backend() -> str:
    """Run on asyncio: the SDK leaves event streams half read, which trio warns of and asyncio tidies up."""
    return "asyncio"


SSE = {"Content-Type": "text/event-stream"}


async def echo(asked: Asked) -> Answer:
    return json_answer(asked, {"content": [{"type": "text", "text": json.dumps(asked.body["params"]["arguments"])}]})


@dataclass
class SdkServer:
    """A server made with the SDK, on uvicorn."""

    port: int
    process: subprocess.Popen[bytes]

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}/mcp"

    @classmethod
    def started(cls, port: int) -> "SdkServer":
        command = [sys.executable, str(SERVERS / "sdk_server.py"), "http", str(port)]
        return cls(port, subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL))

    async def ready(self) -> None:
        def listens() -> bool:
            with socket.socket() as probe:
                return probe.connect_ex(("127.0.0.1", self.port)) == 0

        await until(listens, timeout_s=60)

    def kill(self) -> None:
        self.process.kill()
        self.process.wait()


@pytest.fixture
def sdk() -> Generator[SdkServer]:
    server = SdkServer.started(free_port())
    yield server
    server.kill()


async def test_tools_of_a_server_made_with_the_sdk_can_be_called(sdk: SdkServer) -> None:
    await sdk.ready()
    async with opened(HttpMount(name="web", url=sdk.url)) as world:
        assert world.names == [f"mcp__web__{name}" for name in ("add", "fail", "grow", "pid", "shout", "where")]
        assert await world.value("mcp__web__add", left=1, right=2) == {"total": 3}
        assert await world.value("mcp__web__where", region="eu") == {"result": "eu eu"}
        assert (await world.failure("mcp__web__fail")).code == "TOOL_FAILED"
        assert await world.value("mcp__web__grow", name="grown") == {"result": "grown"}
        await until(lambda: "mcp__web__grown" in world.names)
        assert await world.value("mcp__web__grown") == "grown"
    assert world.names == []


async def test_a_server_that_is_started_again_keeps_its_tools(sdk: SdkServer) -> None:
    await sdk.ready()
    async with opened(HttpMount(name="web", url=sdk.url), backoff_max_s=0.3) as world:
        kept = world.runtime.get("mcp__web__add")
        sdk.kill()
        await until(lambda: world.status().state != "connected")
        failure = await world.failure("mcp__web__add", left=1, right=2)
        assert (failure.code, failure.retryable) == ("TOOL_UNAVAILABLE", True)
        assert failure.message.startswith("web: ")
        again = SdkServer.started(sdk.port)
        try:
            await until(lambda: world.status().state == "connected", timeout_s=60)
            assert world.runtime.get("mcp__web__add") is kept
            assert await world.value("mcp__web__add", left=1, right=2) == {"total": 3}
        finally:
            again.kill()


async def test_a_server_that_knows_the_handshake_only_is_served() -> None:
    async with RawHttp.running(legacy(echo)) as server, opened(HttpMount(name="old", url=server.url)) as world:
        assert await world.value("mcp__old__tool", a=1) == '{"a": 1}'
        assert server.asked[-1].headers["mcp-session-id"] == "session-1"
    assert [asked.headers["mcp-session-id"] for asked in server.asked if asked.method == "DELETE"] == ["session-1"]


async def test_secrets_are_sent_and_never_shown(caplog: pytest.LogCaptureFixture) -> None:
    async def refuse(asked: Asked) -> Answer:
        return json_answer(asked, {"content": [{"type": "text", "text": str(asked.headers)}], "isError": True})

    with caplog.at_level(logging.DEBUG):
        async with RawHttp.running(legacy(refuse)) as server:
            url = server.url.replace("//", "//user:passw0rd-1@") + "?key=s3cret-key-2&x=1"
            headers: dict[str, SecretStr | str] = {"X-Token": SecretStr("s3cret-token-3"), "X-Plain": "s3cret-plain-4"}
            async with opened(HttpMount(name="web", url=url, headers=headers)) as world:
                failure = await world.failure("mcp__web__tool")
                server.handler = legacy(refuse, tools=[])
    sent = server.asked[0]
    assert sent.target == "/mcp?key=s3cret-key-2&x=1"
    assert sent.headers["x-token"] == "s3cret-token-3"
    assert sent.headers["x-plain"] == "s3cret-plain-4"
    assert sent.headers["authorization"] == "Basic dXNlcjpwYXNzdzByZC0x"
    assert sent.headers["accept-encoding"] == "identity"
    secrets = ("passw0rd-1", "s3cret-key-2", "s3cret-token-3", "s3cret-plain-4")
    # What the server itself repeats, the SDK logs for whoever debugs the protocol.
    logged = [record.getMessage() for record in caplog.records if record.name != "mcp.client.streamable_http"]
    assert logged
    assert not [text for text in (*logged, failure.message) for secret in secrets if secret in text]


@pytest.mark.parametrize(
    ("status", "reason"),
    [
        (401, "it answered with HTTP status 401"),
        (404, "it answered with HTTP status 404"),
        (500, "it answered with HTTP status 500"),
    ],
)
async def test_the_status_of_a_refusal_is_the_reason(status: int, reason: str) -> None:
    async def refuse(_asked: Asked) -> Answer:
        return Answer(status)

    async with RawHttp.running(refuse) as server, opened(HttpMount(name="web", url=server.url + "?k=s3cret")) as world:
        assert world.status().reason.endswith(reason)
        assert "s3cret" not in world.status().reason


async def test_a_server_that_nobody_runs_gives_a_clear_reason() -> None:
    with socket.socket() as held:
        held.bind(("127.0.0.1", 0))
        port = held.getsockname()[1]
        async with opened(HttpMount(name="web", url=f"http://127.0.0.1:{port}/mcp?k=s3cret")) as world:
            assert world.status().reason.startswith("the server cannot be reached: ")
            assert "s3cret" not in world.status().reason


async def test_a_redirect_to_another_origin_is_not_followed() -> None:
    async def redirect(_asked: Asked) -> Answer:
        return Answer(307, {"Location": f"http://127.0.0.1:{other.port}/mcp"})

    mount_headers = {"X-Token": "s3cret-token"}
    async with RawHttp.running(legacy(echo)) as other, RawHttp.running(redirect) as server:
        async with opened(HttpMount(name="web", url=server.url, headers=mount_headers)) as world:
            assert "not followed" in world.status().reason
        assert other.asked == []


async def test_a_redirect_within_the_origin_is_followed() -> None:
    async def redirect(asked: Asked) -> Answer:
        if asked.target.startswith("/mcp/"):
            return await legacy(echo)(asked)
        return Answer(307, {"Location": "/mcp/"})

    async with RawHttp.running(redirect) as server, opened(HttpMount(name="web", url=server.url + "?k=1")) as world:
        assert await world.value("mcp__web__tool", a=1) == '{"a": 1}'
        assert server.asked[1].target == "/mcp/?k=1"


def answering(answer: Answer) -> Handler:
    async def on_call(_asked: Asked) -> Answer:
        return answer

    return legacy(on_call)


BIG = b'{"jsonrpc":"2.0","id":1,"result":{"content":[{"type":"text","text":"' + b"x" * 200_000 + b'"}]}}'


@pytest.mark.parametrize(
    ("answer", "reason"),
    [
        (Answer(200, {"Content-Type": "application/json"}, BIG), "a message of more than 100,000 bytes"),
        (Answer(200, SSE, b"data: " + BIG + b"\n\n"), "a message of more than 100,000 bytes"),
        (Answer(200, SSE, b": comment\n" * 50_000, stays=True), "a message of more than 100,000 bytes"),
        (Answer(200, {"Content-Type": "application/json"}, b"[" * 50_000), "a message that nests too deep"),
        (Answer(200, SSE, b"data: {}\n\n"), "something that is no JSON-RPC message"),
        (Answer(200, SSE, b"data: {\rdata: }\r\r\n\n"), "an event that is no JSON-RPC message"),
        (
            Answer(200, {"Content-Type": "application/json", "Content-Encoding": "gzip"}, gzip.compress(BIG)),
            "compressed an answer",
        ),
    ],
)
async def test_an_answer_that_is_too_large_or_malformed_ends_the_connection(answer: Answer, reason: str) -> None:
    async with (
        RawHttp.running(answering(answer)) as server,
        opened(HttpMount(name="web", url=server.url), message_bytes_max=100_000, **NO_MORE) as world,
    ):
        failure = await world.failure("mcp__web__tool")
        assert failure.code == "TOOL_UNAVAILABLE"
        assert reason in failure.message
        assert ("ask for less" in failure.message) == ("more than" in reason)
        await until(lambda: world.status().state == "waiting")
        assert reason in world.status().reason


async def test_a_notice_in_the_stream_of_a_session_is_followed() -> None:
    notice = b'data: {"jsonrpc":"2.0","method":"notifications/tools/list_changed"}\n\n'
    before, after = legacy(echo), legacy(echo, tools=[definition("renamed")])

    async def handler(asked: Asked) -> Answer:
        if asked.method == "GET":
            server.handler = after
            return Answer(200, SSE, notice, stays=True)
        return await before(asked)

    async with RawHttp.running(handler) as server, opened(HttpMount(name="web", url=server.url)) as world:
        await until(lambda: world.names == ["mcp__web__renamed"])
        assert world.status().attempts == 1


async def test_an_answer_in_an_event_stream_is_taken() -> None:
    async def on_call(asked: Asked) -> Answer:
        plain = await echo(asked)
        return Answer(200, SSE, b": hello\r\n\r\nevent: message\r\ndata: " + plain.body + b"\r\n\r\n", stays=True)

    async with RawHttp.running(legacy(on_call)) as server, opened(HttpMount(name="web", url=server.url)) as world:
        assert await world.value("mcp__web__tool", a="ü") == '{"a": "\\u00fc"}'


async def test_a_session_that_the_server_forgot_is_made_anew_and_nothing_was_done() -> None:
    async def forget(_asked: Asked) -> Answer:
        return Answer(404)

    async with RawHttp.running(legacy(forget)) as server, opened(HttpMount(name="web", url=server.url)) as world:
        failure = await world.failure("mcp__web__tool")
        assert (failure.code, failure.retryable) == ("TOOL_UNAVAILABLE", True)
        assert "nothing was done" in failure.message
        server.handler = legacy(echo)
        await world.connected(attempts=2)
        assert await world.value("mcp__web__tool", a=1) == '{"a": 1}'


async def test_a_ping_notices_a_server_that_has_forgotten_the_session() -> None:
    async def forget(_asked: Asked) -> Answer:
        return Answer(404)

    async with (
        RawHttp.running(legacy(forget)) as server,
        opened(HttpMount(name="web", url=server.url), ping_interval_s=0.05) as world,
    ):
        # On a busy machine some are over their time before they are sent.
        await until(lambda: any(asked.rpc == "ping" for asked in server.asked))
        attempts = world.status().attempts
        await until(lambda: world.status().attempts > attempts)


async def refuse(asked: Asked) -> Answer:
    error = {"code": -32000, "message": "Repository not found"}
    body = json.dumps({"jsonrpc": "2.0", "id": asked.body["id"], "error": error}).encode()
    return Answer(200, {"Content-Type": "application/json"}, body)


async def test_an_error_of_the_servers_own_does_not_end_the_connection() -> None:
    async with RawHttp.running(legacy(refuse)) as server, opened(HttpMount(name="web", url=server.url)) as world:
        failure = await world.failure("mcp__web__tool")
        assert (failure.code, failure.message) == ("TOOL_FAILED", "web: Repository not found")
        assert world.status().attempts == 1


async def test_a_ping_that_is_refused_does_not_end_the_connection() -> None:
    def in_a_row() -> int:
        """Return how many pings came since the last connection was made."""
        asked = [each.rpc for each in reversed(server.asked)]
        return asked[: asked.index("initialize")].count("ping")

    async with (
        RawHttp.running(legacy(refuse)) as server,
        opened(HttpMount(name="web", url=server.url), ping_interval_s=0.05),
    ):
        # One that a busy machine answers too late ends it all the same, and a new one is made.
        await until(lambda: in_a_row() >= 4)


async def test_an_event_stream_that_ends_without_an_answer_may_have_taken_effect() -> None:
    async with (
        RawHttp.running(answering(Answer(200, SSE, b": nothing\n\n"))) as server,
        opened(HttpMount(name="web", url=server.url)) as world,
    ):
        failure = await world.failure("mcp__web__tool")
        assert failure.code == "TOOL_UNAVAILABLE"
        assert "may have taken effect" in failure.message


async def test_a_timeout_reaches_the_server_and_a_hanging_one_holds_up_nobody() -> None:
    async def hang(_asked: Asked) -> Answer:
        await anyio.sleep_forever()
        raise AssertionError

    async with (
        RawHttp.running(legacy(hang)) as server,
        opened(HttpMount(name="web", url=server.url), call_timeout_s=1.5) as world,
    ):
        with anyio.fail_after(15):
            failure = await world.failure("mcp__web__tool")
        assert failure.code == "TOOL_TIMEOUT"
        await until(lambda: any(asked.rpc == "notifications/cancelled" for asked in server.asked))
        server.handler = legacy(echo)
        assert await world.value_in_time("mcp__web__tool", a=1) == '{"a": 1}'
