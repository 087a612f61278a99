"""Whole conversations of the real client with a server that has the API's rules, over a real runtime."""

import json
from collections.abc import Awaitable, Callable, Sequence
from contextlib import AsyncExitStack
from functools import partial
from typing import Any, cast

import anyio
import anyio.to_thread
import pytest
from anthropic import Anthropic, AsyncAnthropic, BadRequestError, InternalServerError
from anthropic.types import Message, MessageParam, ToolUnionParam, ToolUseBlock
from anthropic.types.message_create_params import MessageCreateParamsNonStreaming

from progressive import Disclosure, DisclosureOptions, Mode, Surface
from progressive.formats import anthropic_tools
from progressive.native.anthropic import inject
from progressive.native.capability import Capability
from tests.progressive.native.fake_anthropic import FakeAnthropic, loaded_names, running
from tests.progressive.native.messages_toolkit import (
    CITY,
    as_the_sdk_reads,
    assistant,
    call,
    describing,
    entry,
    request,
    results,
    text,
    tool,
)
from tests.progressive.toolkit import plain_tool
from tool_runtime import ToolCall, ToolFailure, ToolRuntime

pytestmark = pytest.mark.anyio

Send = Callable[[MessageCreateParamsNonStreaming], Awaitable[Message]]

SYSTEM = "You are careful."


def say(words: str) -> dict[str, Any]:
    return {"type": "text", "text": words}


def use(name: str, **arguments: Any) -> dict[str, Any]:
    return {"type": "tool_use", "name": name, "input": arguments}


async def sender(kind: str, base_url: str, stack: AsyncExitStack) -> Send:
    """Return what sends a request with one of the ways in which the client can do that."""
    options: dict[str, Any] = {"api_key": "k", "base_url": base_url, "max_retries": 0}
    blocking = stack.enter_context(Anthropic(**options))
    client = await stack.enter_async_context(AsyncAnthropic(**options))

    def stream(request: MessageCreateParamsNonStreaming) -> Message:
        with blocking.messages.stream(**cast("Any", request)) as events:
            return events.get_final_message()

    async def stream_async(request: MessageCreateParamsNonStreaming) -> Message:
        async with client.messages.stream(**cast("Any", request)) as events:
            return await events.get_final_message()

    async def create_async(request: MessageCreateParamsNonStreaming) -> Message:
        return await client.messages.create(**request)

    async def in_thread(run: Callable[..., Message], *args: Any, **kwargs: Any) -> Message:
        return await anyio.to_thread.run_sync(partial(run, *args, **kwargs))

    async def create(request: MessageCreateParamsNonStreaming) -> Message:
        return await in_thread(cast("Callable[..., Message]", blocking.messages.create), **request)

    ways: dict[str, Send] = {
        "sync": create,
        "async": create_async,
        "sync-stream": partial(in_thread, stream),
        "async-stream": stream_async,
    }
    return ways[kind]


class Agent:
    """An agent as people write them: it appends what it is sent, answers calls, and injects before every request."""

    def __init__(self, surface: Surface, send: Send) -> None:
        self.messages: list[MessageParam] = []
        self._surface = surface
        self._send = send

    async def ask(self, words: str) -> str:
        """Send the user's words, run all calls, and return what the model says at last."""
        self.messages.append({"role": "user", "content": words})
        while True:
            message = await self._send(inject(self.request(), Capability.TOOL_REFERENCES))
            self.messages.append({"role": "assistant", "content": message.content})
            calls = [block for block in message.content if isinstance(block, ToolUseBlock)]
            if not calls:
                return "".join(block.text for block in message.content if block.type == "text")
            await self._answer(calls)

    def request(self) -> MessageCreateParamsNonStreaming:
        tools = cast("list[ToolUnionParam]", anthropic_tools(self._surface.tools))
        return {
            "model": "claude-opus-5",
            "max_tokens": 1_000,
            "system": SYSTEM,
            "messages": self.messages,
            "tools": tools,
        }

    def compact(self, summary: str) -> None:
        self.messages = [{"role": "user", "content": summary}, {"role": "assistant", "content": "Understood."}]

    async def _answer(self, calls: Sequence[ToolUseBlock]) -> None:
        found = await self._surface.run_turn(
            [ToolCall(block.name, cast("Any", block.input), id=block.id) for block in calls]
        )
        blocks: list[Any] = [
            {
                "type": "tool_result",
                "tool_use_id": block.id,
                "content": result.text,
                "is_error": isinstance(result, ToolFailure),
            }
            for block, result in zip(calls, found, strict=True)
        ]
        self.messages.append({"role": "user", "content": blocks})


def runtime_with_tools(ran: list[str]) -> ToolRuntime:
    runtime = ToolRuntime()
    runtime.register(plain_tool("eager", "Always there.", ran=ran))
    runtime.register(plain_tool("fetch_weather", "Returns the forecast for a city.", CITY, ran=ran))
    runtime.register(plain_tool("send_mail", "Sends mail.", ran=ran))
    return runtime


def prefix_of(body: dict[str, Any]) -> bytes:
    direct = [each for each in body["tools"] if not each.get("defer_loading")]
    assert body["tools"][: len(direct)] == direct
    return json.dumps([body["system"], direct]).encode()


@pytest.mark.parametrize("kind", ["sync", "async", "sync-stream", "async-stream"])
async def test_conversation_with_compaction_loads_tools_and_keeps_its_prefix(kind: str) -> None:
    ran: list[str] = []
    runtime = runtime_with_tools(ran)
    disclosure = Disclosure(runtime, DisclosureOptions(eager_tools=("eager",)))
    turns = [
        [say("Let me look."), use("search_tools")],
        [use("describe_tools", names=["fetch_weather"]), use("describe_tools", names=["nothing"]), use("eager")],
        [use("fetch_weather", city="Bern"), use("describe_tools", names=["send_mail"])],
        [use("send_mail"), use("fetch_weather", city="Basel")],
        [say("Sunny.")],
        [use("describe_tools", names=["send_mail", "fetch_weather"])],
        [use("send_mail")],
        [say("Sent.")],
    ]
    async with AsyncExitStack() as stack:
        fake = stack.enter_context(running(turns))
        agent = Agent(disclosure.surface(), await sender(kind, fake.base_url, stack))
        assert await agent.ask("How is the weather in Bern?") == "Sunny."
        agent.compact("We talked about the weather in Bern.")
        runtime.register(plain_tool("another", "Came later."))
        assert await agent.ask("Mail it.") == "Sent."

    assert ran == ["eager", "fetch_weather", "send_mail", "fetch_weather", "send_mail"]
    assert len({prefix_of(body) for body in fake.requests}) == 1
    first = {"describe_tools", "eager", "search_tools"}
    assert [loaded_names(body) - first for body in fake.requests] == [
        set(),
        set(),
        {"fetch_weather"},
        {"fetch_weather", "send_mail"},
        {"fetch_weather", "send_mail"},
        set(),
        {"fetch_weather", "send_mail"},
        {"fetch_weather", "send_mail"},
    ]
    for body in fake.requests:
        assert as_the_sdk_reads(body) == body


async def test_model_reads_the_declarations_for_programs_in_both_mode() -> None:
    runtime = runtime_with_tools([])
    runtime.register(plain_tool("run_code", "Runs a program.", {"type": "object"}))
    disclosure = Disclosure(runtime)
    turns = [
        [use("describe_tools", names=["fetch_weather", "eager"])],
        [use("fetch_weather", city="Bern")],
        [say("Ok.")],
    ]
    async with AsyncExitStack() as stack:
        fake = stack.enter_context(running(turns))
        agent = Agent(disclosure.surface(mode=Mode.BOTH), await sender("async", fake.base_url, stack))
        await agent.ask("Go.")

    result, words = fake.requests[1]["messages"][2]["content"]
    assert [part["tool_name"] for part in result["content"]] == ["fetch_weather", "eager"]
    assert "async def fetch_weather(self, args: FetchWeatherArgs, /)" in words["text"]


async def test_tool_that_vanished_stays_declared_and_its_call_fails_with_the_reason() -> None:
    runtime = runtime_with_tools([])
    remove = runtime.register(plain_tool("short_lived", "Soon gone."))
    disclosure = Disclosure(runtime)
    turns = [[use("describe_tools", names=["short_lived"])], [say("Ready.")], [use("short_lived")], [say("Gone.")]]
    async with AsyncExitStack() as stack:
        fake = stack.enter_context(running(turns))
        agent = Agent(disclosure.surface(), await sender("async", fake.base_url, stack))
        await agent.ask("Prepare.")
        remove()
        await agent.ask("Now call it.")

    (failed,) = fake.requests[-1]["messages"][-1]["content"]
    assert failed["is_error"]
    assert failed["content"].startswith("UNKNOWN_TOOL: ")
    assert [each["name"] for each in fake.requests[-1]["tools"] if each.get("defer_loading")] == ["short_lived"]


async def test_without_injection_the_described_tool_cannot_be_called() -> None:
    with running([[use("fetch_weather", city="Bern")]]) as fake:
        async with AsyncExitStack() as stack:
            send = await sender("async", fake.base_url, stack)
            with pytest.raises(InternalServerError, match="the model cannot know fetch_weather here"):
                await send(
                    request({"role": "assistant", "content": [call()]}, results(describing(entry("fetch_weather"))))
                )


REFERENCE = {"type": "tool_reference", "tool_name": "weather"}
LOADED = tool("weather", defer_loading=True)
DESCRIBE = tool("describe_tools")

_REFUSED: dict[str, tuple[MessageCreateParamsNonStreaming, str]] = {
    "dangling": (
        request(assistant(call()), results([REFERENCE])),
        "Tool reference 'weather' not found in available tools",
    ),
    "reference-to-a-tool-that-is-not-deferred": (
        request(assistant(call()), results([REFERENCE]), tools=[DESCRIBE, tool("weather")]),
        "Tool reference 'weather' not found",
    ),
    "mixed": (
        request(assistant(call()), results([REFERENCE, text("x")]), tools=[DESCRIBE, LOADED]),
        "cannot be mixed",
    ),
    "empty-content": (request(assistant(call()), results([])), "at least 1 item"),
    "failed-with-references": (
        request(assistant(call()), results([REFERENCE], is_error=True), tools=[DESCRIBE, LOADED]),
        "all content must be type 'text'",
    ),
    "text-before-results": (
        request(assistant(call()), {"role": "user", "content": [text("x"), *cast("Any", results("y"))["content"]]}),
        "without `tool_result` blocks immediately after: 1",
    ),
    "call-without-result": (
        request(assistant(call()), {"role": "user", "content": "x"}),
        "without `tool_result` blocks immediately after: 1",
    ),
    "call-at-the-end": (request(assistant(call())), "without `tool_result` blocks"),
    "result-without-call": (request(results("x")), "unexpected `tool_use_id`"),
    "two-results-of-a-call": (
        request(assistant(call()), results("x"), results("y")),
        "must have a single result",
    ),
    "two-calls-of-an-id": (request(assistant(call(), call()), results("x")), "ids must be unique"),
    "no-tools": (request(assistant(call()), results("x"), tools=[]), "must define tools"),
    "blank-text": (request({"role": "user", "content": [text(" ")]}), "non-whitespace"),
    "empty-text": (request({"role": "user", "content": [text("")]}), "non-empty"),
    "duplicate-names": (request(tools=[DESCRIBE, DESCRIBE]), "Tool names must be unique"),
    "bad-name": (request(tools=[tool("has space")]), "String should match pattern"),
    "long-name": (request(tools=[tool("a" * 129)]), "String should match pattern"),
    "cache-mark-on-a-deferred-tool": (
        request(tools=[DESCRIBE, tool("a", defer_loading=True, cache_control={"type": "ephemeral"})]),
        "cannot have both",
    ),
    "all-deferred": (request(tools=[LOADED]), "All tools cannot be deferred"),
    "union-at-the-top": (request(tools=[tool("a", input_schema={"type": "object", "oneOf": []})]), "does not support"),
    "no-object": (request(tools=[tool("a", input_schema={"type": "array"})]), "should be 'object'"),
    "odd-key": (
        request(tools=[tool("a", input_schema={"type": "object", "properties": {"a b": {}}})]),
        "Property keys",
    ),
    "invalid-schema": (
        request(tools=[tool("a", input_schema={"type": "object", "required": "a"})]),
        "JSON schema is invalid",
    ),
    "choice-of-an-unknown-tool": (request(tool_choice={"type": "tool", "name": "x"}), "not found in provided tools"),
    "five-cache-marks": (
        request({"role": "user", "content": [text("x", cache_control={"type": "ephemeral"})] * 5}),
        "A maximum of 4 blocks",
    ),
    "assistant-first": (
        {"model": "m", "max_tokens": 1, "messages": [cast("Any", assistant(text("x")))]},
        "first message",
    ),
    "no-messages": ({"model": "m", "max_tokens": 1, "messages": []}, "first message"),
}


@pytest.fixture(scope="module")
def refusing() -> Any:
    with running([]) as fake:
        yield fake


@pytest.mark.parametrize(("body", "message"), [pytest.param(*value, id=key) for key, value in _REFUSED.items()])
def test_server_refuses_what_the_api_refuses(
    refusing: FakeAnthropic, body: MessageCreateParamsNonStreaming, message: str
) -> None:
    with (
        Anthropic(api_key="k", base_url=refusing.base_url, max_retries=0) as client,
        pytest.raises(BadRequestError, match=message) as caught,
    ):
        client.messages.create(**body)

    assert cast("Any", caught.value.body)["error"]["type"] == "invalid_request_error"
