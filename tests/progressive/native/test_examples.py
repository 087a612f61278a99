"""The agents of docs/examples, through whole conversations with servers that refuse what the real ones refuse."""

from collections.abc import Callable, Generator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any, Final

import anyio
import pytest
from anthropic import Anthropic, AsyncAnthropic
from openai import AsyncOpenAI, BadRequestError, OpenAI
from openai.types.responses import Response, ResponseFunctionToolCall
from pydantic import JsonValue

from docs.examples import anthropic_agent, openai_agent
from progressive import Disclosure, Surface
from progressive.native.capability import Capability
from seamfs.integrations.openai import response_calls_of, response_turn_of
from tests.progressive.native.fake_anthropic import FakeAnthropic
from tests.progressive.native.fake_anthropic import running as running_anthropic
from tests.progressive.native.fake_openai import Call, FakeOpenAI, Say
from tests.progressive.toolkit import plain_tool
from tool_runtime import JsonObject, TextBlock, ToolCall, ToolFailure, ToolRuntime

CITY: Final[JsonObject] = {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]}
SEARCH: Final = ("search_tools", {"query": "weather"})
DESCRIBE: Final = ("describe_tools", {"names": ["fetch_weather"]})
CALL: Final = ("fetch_weather", {"city": "Oslo"})
INVOKE: Final = ("invoke_tool", {"name": "fetch_weather", "arguments": {"city": "Oslo"}})
QUESTION: Final = "How is the weather in Oslo?"
ANSWER: Final = "It rains in Oslo."

Ask = Callable[[str, Surface, Capability | None], str]
"""Asks the question, given where the server is, what the model sees, and the flag."""


@pytest.fixture
def ran() -> list[str]:
    return []


@pytest.fixture
def surface(ran: list[str]) -> Surface:
    runtime = ToolRuntime()
    for name in ("convert_currency", "fetch_weather", "send_mail"):
        runtime.register(plain_tool(name, name.replace("_", " "), CITY, ran=ran))
    return Disclosure(runtime).surface()


def claude_async(base_url: str, surface: Surface, flag: Capability | None) -> str:
    async def ask() -> str:
        async with AsyncAnthropic(api_key="k", base_url=base_url, max_retries=0) as client:
            return await anthropic_agent.answer(client, surface, QUESTION, model="claude-opus-5", flag=flag)

    return anyio.run(ask)


def claude_sync(base_url: str, surface: Surface, flag: Capability | None) -> str:
    with Anthropic(api_key="k", base_url=base_url, max_retries=0) as client:
        return anthropic_agent.answer_sync(client, surface, QUESTION, model="claude-opus-5", flag=flag)


def claude_streamed(base_url: str, surface: Surface, flag: Capability | None) -> str:
    async def ask() -> str:
        async with AsyncAnthropic(api_key="k", base_url=base_url, max_retries=0) as client:
            said = anthropic_agent.answer_streamed(client, surface, QUESTION, model="claude-opus-5", flag=flag)
            return "".join([text async for text in said])

    return anyio.run(ask)


def gpt_async(base_url: str, surface: Surface, flag: Capability | None) -> str:
    async def ask() -> str:
        async with AsyncOpenAI(api_key="k", base_url=base_url, max_retries=0) as client:
            return await openai_agent.answer(client, surface, QUESTION, model="gpt-6-sol", flag=flag)

    return anyio.run(ask)


def gpt_sync(base_url: str, surface: Surface, flag: Capability | None) -> str:
    with OpenAI(api_key="k", base_url=base_url, max_retries=0) as client:
        return openai_agent.answer_sync(client, surface, QUESTION, model="gpt-6-sol", flag=flag)


def gpt_streamed(base_url: str, surface: Surface, flag: Capability | None) -> str:
    async def ask() -> str:
        async with AsyncOpenAI(api_key="k", base_url=base_url, max_retries=0) as client:
            said = openai_agent.answer_streamed(client, surface, QUESTION, model="gpt-6-sol", flag=flag)
            return "".join([text async for text in said])

    return anyio.run(ask)


@contextmanager
def claude_that(*calls: tuple[str, dict[str, Any]]) -> Generator[FakeAnthropic]:
    turns = [[{"type": "tool_use", "name": name, "input": arguments}] for name, arguments in calls]
    with running_anthropic([*turns, [{"type": "text", "text": ANSWER}]]) as fake:
        yield fake


def gpt_that(*calls: tuple[str, dict[str, Any]]) -> FakeOpenAI:
    return FakeOpenAI([*([Call(name, arguments)] for name, arguments in calls), [Say(ANSWER)]])


@pytest.mark.parametrize("ask", [claude_async, claude_sync, claude_streamed])
def test_claude_calls_a_tool_that_was_found_as_one_that_was_declared(
    ask: Ask, surface: Surface, ran: list[str]
) -> None:
    with claude_that(SEARCH, DESCRIBE, CALL) as fake:
        assert ask(fake.base_url, surface, Capability.TOOL_REFERENCES) == ANSWER
    assert ran == ["fetch_weather"]
    declared = [[tool["name"] for tool in request["tools"]] for request in fake.requests]
    assert (
        declared == [["describe_tools", "search_tools"]] * 2 + [["describe_tools", "search_tools", "fetch_weather"]] * 2
    )
    assert len({request["system"] for request in fake.requests}) == 1


@pytest.mark.parametrize("ask", [claude_async, claude_sync, claude_streamed])
def test_claude_goes_on_after_a_tool_that_returns_nothing(ask: Ask) -> None:
    def nothing(_arguments: JsonObject, _value: JsonValue) -> list[TextBlock]:
        return [TextBlock("")]

    runtime = ToolRuntime()
    runtime.register(replace(plain_tool("fetch_weather", "fetch weather", CITY), render=nothing))
    with claude_that(DESCRIBE, CALL) as fake:
        assert ask(fake.base_url, Disclosure(runtime).surface(), Capability.TOOL_REFERENCES) == ANSWER
    assert fake.requests[-1]["messages"][-1]["content"][0]["content"] == ""


@pytest.mark.parametrize("ask", [claude_async, claude_sync, claude_streamed])
def test_claude_behind_a_gateway_calls_a_tool_by_invoke_tool(ask: Ask, surface: Surface, ran: list[str]) -> None:
    with claude_that(SEARCH, DESCRIBE, INVOKE) as fake:
        assert ask(fake.base_url, surface, None) == ANSWER
    assert ran == ["fetch_weather"]
    assert all(request["tools"] == fake.requests[0]["tools"] for request in fake.requests)
    assert [tool["name"] for tool in fake.requests[0]["tools"]] == ["describe_tools", "invoke_tool", "search_tools"]


@pytest.mark.parametrize("form", [Capability.ADDITIONAL_TOOLS, Capability.TOOL_SEARCH])
@pytest.mark.parametrize("ask", [gpt_async, gpt_sync, gpt_streamed])
def test_gpt_calls_a_tool_that_was_found_as_one_that_was_declared(
    ask: Ask, form: Capability, surface: Surface, ran: list[str]
) -> None:
    fake = gpt_that(SEARCH, DESCRIBE, CALL)
    with fake.running() as base_url:
        assert ask(base_url, surface, form) == ANSWER
    assert (fake.refusals, ran) == ([], ["fetch_weather"])
    assert all(request["tools"] == fake.requests[0]["tools"] for request in fake.requests)
    earlier = fake.requests[0]["input"]
    for request in fake.requests[1:]:
        assert request["input"][: len(earlier)] == earlier
        earlier = request["input"]


@pytest.mark.parametrize("ask", [gpt_async, gpt_sync, gpt_streamed])
def test_gpt_behind_a_gateway_calls_a_tool_by_invoke_tool(ask: Ask, surface: Surface, ran: list[str]) -> None:
    fake = gpt_that(SEARCH, DESCRIBE, INVOKE)
    with fake.running() as base_url:
        assert ask(base_url, surface, None) == ANSWER
    assert (fake.refusals, ran) == ([], ["fetch_weather"])
    assert [tool["name"] for tool in fake.requests[0]["tools"]] == ["describe_tools", "invoke_tool", "search_tools"]


@pytest.mark.parametrize(
    ("flag", "answered"), [(Capability.ADDITIONAL_TOOLS, [SEARCH, DESCRIBE]), (Capability.TOOL_SEARCH, [])]
)
def test_flag_that_claims_too_much_is_refused_when_it_first_matters(
    flag: Capability, answered: list[tuple[str, dict[str, Any]]], surface: Surface
) -> None:
    fake = gpt_that(*answered)
    fake.forms = frozenset()
    with fake.running() as base_url, pytest.raises(BadRequestError):
        gpt_sync(base_url, surface, flag)
    assert len(fake.requests) == len(answered) + 1


@pytest.mark.anyio
@pytest.mark.parametrize("arguments", ['{"query": ', "[]"])
async def test_arguments_that_are_no_object_come_back_to_the_model(arguments: str, surface: Surface) -> None:
    item = ResponseFunctionToolCall(type="function_call", call_id="c1", name="search_tools", arguments=arguments)
    calls = response_calls_of(Response.model_construct(output=[item]))
    [result] = await surface.run_turn(calls)
    assert isinstance(result, ToolFailure)
    assert result.code == "INVALID_ARGS"
    [_, came_back] = response_turn_of(Response.model_construct(output=[item]), calls, [result])
    assert came_back == {"type": "function_call_output", "call_id": "c1", "output": result.text}


@pytest.mark.anyio
async def test_the_first_program_of_the_page_makes_a_surface() -> None:
    page = Path(openai_agent.__file__).parents[1].joinpath("disclosure.md").read_text(encoding="utf-8")
    names: dict[str, Any] = {}
    exec(page.split("```python\n")[1].split("```")[0], names)
    made: Surface = names["surface"]
    [result] = await made.run_turn([ToolCall("fetch_weather", {"city": "Oslo"}, id="c1")])
    assert result.text == "Oslo: rain"
    assert [schema.name for schema in made.tools] == ["describe_tools", "invoke_tool", "search_tools"]
