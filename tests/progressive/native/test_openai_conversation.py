"""Whole conversations: the real client, a real runtime with its disclosure, and a server with the API's rules."""

import json
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from typing import Any, cast

import pytest
from openai import (
    AsyncOpenAI,
    BadRequestError,
    DefaultAsyncHttpxClient,
    DefaultHttpxClient,
    OpenAI,
)
from openai.types.responses import Response, ResponseFunctionToolCall

from progressive import Disclosure, DisclosureOptions
from progressive.formats import openai_responses_tools
from progressive.native.capability import Capability
from progressive.native.openai import inject
from progressive.surface import Surface
from tests.progressive.native.fake_openai import BOTH_FORMS, Call, FakeOpenAI, Say, Search
from tests.progressive.toolkit import plain_tool
from tool_runtime import JsonObject, ToolCall, ToolRuntime

pytestmark = pytest.mark.anyio

Send = Callable[[str, Any], Awaitable[Response]]

FORMS = [Capability.ADDITIONAL_TOOLS, Capability.TOOL_SEARCH]
CITY: JsonObject = {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]}


def client_of(url: str) -> OpenAI:
    # Reading the machine's certificates takes longer than a conversation.
    return OpenAI(base_url=url, api_key="none", max_retries=0, http_client=DefaultHttpxClient(verify=False))


def async_client_of(url: str) -> AsyncOpenAI:
    return AsyncOpenAI(base_url=url, api_key="none", max_retries=0, http_client=DefaultAsyncHttpxClient(verify=False))


async def plainly(url: str, request: Any) -> Response:
    with client_of(url) as client:
        return cast("Response", client.responses.create(**request))


async def streamed(url: str, request: Any) -> Response:
    with client_of(url) as client, client.responses.stream(**request) as stream:
        return stream.get_final_response()


async def awaited(url: str, request: Any) -> Response:
    async with async_client_of(url) as client:
        return cast("Response", await client.responses.create(**request))


async def awaited_as_stream(url: str, request: Any) -> Response:
    async with async_client_of(url) as client:
        stream = await client.responses.create(**request, stream=True)
        events = [event async for event in stream]
    last = events[-1]
    assert last.type == "response.completed"
    return last.response


SENDERS = [plainly, streamed, awaited, awaited_as_stream]


@dataclass
class Agent:
    """The loop of an application: what it keeps is its own transcript, and never what was injected."""

    url: str
    capability: Capability
    send: Send = plainly
    ran: list[str] = field(default_factory=list[str])
    transcript: list[Any] = field(default_factory=list[Any])
    runtime: ToolRuntime = field(default_factory=ToolRuntime)

    def __post_init__(self) -> None:
        self.runtime.register(plain_tool("fetch_weather", "Forecast of a city.", CITY, ran=self.ran))
        self.runtime.register(plain_tool("send_mail", "Send a letter.", ran=self.ran))
        self.runtime.register(plain_tool("clock", "The time.", ran=self.ran))
        self.disclosure = Disclosure(self.runtime, DisclosureOptions(eager_tools=("clock",)))

    def surface(self) -> Surface:
        return self.disclosure.surface(loads_tools=False)

    def request(self) -> Any:
        surface = self.surface()
        return {
            "model": "gpt-6",
            "instructions": surface.prompt,
            "tools": openai_responses_tools(surface.tools),
            "input": self.transcript,
            "store": False,
        }

    async def step(self) -> list[ResponseFunctionToolCall]:
        """Send what there is, run what the model calls, and note both."""
        response = await self.send(self.url, inject(self.request(), self.capability))
        self.transcript += response.output
        calls = [item for item in response.output if isinstance(item, ResponseFunctionToolCall)]
        turn = [ToolCall(call.name, json.loads(call.arguments), id=call.call_id) for call in calls]
        for call, result in zip(calls, await self.surface().run_turn(turn), strict=True):
            output = {"type": "function_call_output", "call_id": call.call_id, "output": result.text}
            self.transcript.append(output)
        return calls

    async def ask(self, text: str) -> str:
        self.transcript.append({"role": "user", "content": text})
        while await self.step():
            pass
        return self.transcript[-1].content[0].text


def prefix(request: dict[str, Any]) -> str:
    return json.dumps([request["instructions"], request["tools"]])


SEARCH = Call("search_tools", {"query": "weather"})
DESCRIBE = Call("describe_tools", {"names": ["fetch_weather"]})
WEATHER = Call("fetch_weather", {"city": "Oslo"})


@pytest.mark.parametrize("send", SENDERS)
@pytest.mark.parametrize("capability", FORMS)
async def test_a_described_tool_is_called_and_described_again_after_compaction(
    send: Send, capability: Capability
) -> None:
    fake = FakeOpenAI(
        [
            [SEARCH],
            [DESCRIBE, Call("clock", {})],
            [WEATHER],
            [Say("Sunny.")],
            [DESCRIBE],
            [WEATHER, WEATHER],
            [Say("Still sunny.")],
        ]
    )
    with fake.running() as url:
        agent = Agent(url, capability, send)
        assert await agent.ask("Oslo?") == "Sunny."
        agent.transcript = [
            {"role": "user", "content": "They asked about Oslo, where it is sunny."},
            {"type": "compaction", "id": "cmp_1", "encrypted_content": "gAAA"},
        ]
        assert await agent.ask("And now?") == "Still sunny."
    assert fake.refusals == []
    assert agent.ran == ["clock", "fetch_weather", "fetch_weather", "fetch_weather"]
    assert len({prefix(request) for request in fake.requests}) == 1
    assert "invoke_tool" not in json.dumps(fake.requests[0]["tools"])


@pytest.mark.parametrize("capability", FORMS)
async def test_each_request_begins_with_what_the_one_before_held(capability: Capability) -> None:
    fake = FakeOpenAI([[SEARCH], [DESCRIBE], [WEATHER, DESCRIBE], [Say("Sunny.")]])
    with fake.running() as url:
        assert await Agent(url, capability).ask("Oslo?") == "Sunny."
    for earlier, later in zip(fake.requests, fake.requests[1:], strict=False):
        assert later["input"][: len(earlier["input"])] == earlier["input"]


@pytest.mark.parametrize("capability", FORMS)
async def test_a_call_whose_describe_pair_was_compacted_away_is_replayed(capability: Capability) -> None:
    fake = FakeOpenAI([[DESCRIBE], [WEATHER], [Say("Sunny.")], [DESCRIBE], [WEATHER], [Say("Sunny.")]])
    with fake.running() as url:
        agent = Agent(url, capability)
        await agent.ask("Oslo?")
        del agent.transcript[1:3]
        await agent.ask("And now?")
    assert fake.refusals == []
    assert agent.ran == ["fetch_weather", "fetch_weather"]


@pytest.mark.parametrize("capability", FORMS)
async def test_what_a_cleared_result_described_cannot_be_called_and_nothing_is_refused(capability: Capability) -> None:
    fake = FakeOpenAI([[DESCRIBE], [WEATHER], [Say("Sunny.")], [DESCRIBE], [WEATHER], [Say("Sunny.")]])
    with fake.running() as url:
        agent = Agent(url, capability)
        await agent.ask("Oslo?")
        agent.transcript[2] = {**agent.transcript[2], "output": "[cleared to save space]"}
        cleared = inject(agent.request(), capability)
        assert "additional_tools" not in json.dumps(cleared["input"], default=str)
        await agent.ask("And now?")
    assert fake.refusals == []
    assert agent.ran == ["fetch_weather", "fetch_weather"]


@pytest.mark.parametrize("capability", FORMS)
async def test_a_tool_that_went_away_stays_declared_and_its_call_says_why(capability: Capability) -> None:
    fake = FakeOpenAI([[DESCRIBE], [WEATHER], [Say("It is gone.")]])
    with fake.running() as url:
        agent = Agent(url, capability)
        unregister = agent.runtime.register(plain_tool("lighthouse"))
        agent.transcript.append({"role": "user", "content": "Oslo?"})
        await agent.step()
        unregister()
        agent.runtime.restrict(scope := agent.runtime.scope(), deny=["fetch_weather"])
        agent.surface = lambda: agent.disclosure.surface(scope)
        await agent.step()
        assert agent.transcript[-1]["output"].startswith("UNKNOWN_TOOL: ")
        await agent.step()
    assert fake.refusals == []
    assert agent.ran == []
    assert len({prefix(request) for request in fake.requests}) == 1


async def test_a_search_that_the_model_makes_itself_finds_nothing_and_the_conversation_goes_on() -> None:
    fake = FakeOpenAI([[Search({"names": ["fetch_weather"]})], [DESCRIBE], [WEATHER], [Say("Sunny.")]])
    with fake.running() as url:
        agent = Agent(url, Capability.TOOL_SEARCH)
        agent.transcript.append({"role": "user", "content": "Oslo?"})
        assert await agent.step() == []
        assert await agent.ask("Go on.") == "Sunny."
    assert fake.refusals == []
    assert agent.ran == ["fetch_weather"]


@pytest.mark.parametrize("send", SENDERS)
async def test_without_the_capability_a_described_tool_is_called_by_invoke_tool(send: Send) -> None:
    invoke = Call("invoke_tool", {"name": "fetch_weather", "arguments": {"city": "Oslo"}})
    fake = FakeOpenAI([[DESCRIBE], [invoke], [Say("Sunny.")]], forms=frozenset())
    with fake.running() as url:
        agent = Agent(url, Capability.NONE, send)
        assert await agent.ask("Oslo?") == "Sunny."
    assert fake.refusals == []
    assert agent.ran == ["fetch_weather"]


async def test_a_conversation_that_the_server_keeps_goes_on_with_invoke_tool() -> None:
    invoke = Call("invoke_tool", {"name": "fetch_weather", "arguments": {"city": "Oslo"}})
    fake = FakeOpenAI([[DESCRIBE], [invoke], [Say("Sunny.")]])
    with fake.running() as url:
        agent = Agent(url, Capability.ADDITIONAL_TOOLS)
        last: str | None = None
        agent.transcript.append({"role": "user", "content": "Oslo?"})
        while agent.transcript:
            request: Any = {**agent.request(), "store": True, "previous_response_id": last}
            response = await plainly(url, inject(request, agent.capability))
            calls = [item for item in response.output if isinstance(item, ResponseFunctionToolCall)]
            turn = [ToolCall(call.name, json.loads(call.arguments), id=call.call_id) for call in calls]
            agent.transcript = [
                {"type": "function_call_output", "call_id": call.call_id, "output": result.text}
                for call, result in zip(calls, await agent.surface().run_turn(turn), strict=True)
            ]
            last = response.id
    assert fake.refusals == []
    assert agent.ran == ["fetch_weather"]


@pytest.mark.parametrize(
    ("capability", "refusal"),
    [
        (Capability.ADDITIONAL_TOOLS, "'additional_tools' is not supported with this model."),
        (Capability.TOOL_SEARCH, "'tool_search' is not supported with this model."),
    ],
)
async def test_a_capability_that_the_model_does_not_have_makes_the_api_refuse(
    capability: Capability, refusal: str
) -> None:
    fake = FakeOpenAI([[DESCRIBE]] * 2, forms=BOTH_FORMS - {capability.value})
    with fake.running() as url, pytest.raises(BadRequestError, match=refusal):
        await Agent(url, capability).ask("Oslo?")


@pytest.mark.parametrize("capability", FORMS)
async def test_a_tool_that_was_not_described_cannot_be_called(capability: Capability) -> None:
    fake = FakeOpenAI([[WEATHER]])
    with fake.running() as url, pytest.raises(Exception, match="the model cannot call fetch_weather"):
        await Agent(url, capability).ask("Oslo?")
