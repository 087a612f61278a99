"""The openai SDK over a workspace: its tool runner and loops of one's own, with a server that refuses what the real one
refuses.
"""

import json
from pathlib import Path
from typing import Any, cast

import pytest
from openai import AsyncOpenAI, OpenAI
from openai.lib.responses_tool_runner import AsyncResponsesToolRunner, ResponsesToolRunner
from openai.types.chat import ChatCompletionMessage
from openai.types.responses import ResponseInputItemParam
from openai.types.responses.response_create_params import ResponseCreateParamsNonStreaming

from seamfs.integrations import AgentTools, open_agent_tools
from seamfs.integrations.openai import (
    chat_tool_params,
    registered_functions,
    registered_functions_sync,
    response_tool_params,
    run_chat_turn,
    run_chat_turn_sync,
    run_response_turn,
    run_response_turn_sync,
)
from seamfs.workspace import Workspace, open_workspace
from tests.progressive.native.fake_openai import Act, FakeOpenAI, Say
from tests.progressive.native.fake_openai import Call as Calls
from tests.seamfs.integrations.story import AFTER, Call, Place, Script, ending, local_place, turns

pytestmark = [pytest.mark.anyio, pytest.mark.xdist_group("integrations")]

QUESTION: ResponseInputItemParam = {"role": "user", "content": "Raise the timeout."}
REQUEST: ResponseCreateParamsNonStreaming = {"model": "gpt", "input": [QUESTION], "store": False}


def act_of(call: Call | None) -> Act:
    return Say("done") if call is None else Calls(*call)


async def runner(base_url: str, workspace: Workspace) -> str:
    async with AsyncOpenAI(api_key="k", base_url=base_url, max_retries=0) as client:
        asked = AsyncResponsesToolRunner(functions=registered_functions(AgentTools(workspace)))
        return (await asked.run(client, REQUEST)).output_text


async def early_runner(base_url: str, workspace: Workspace) -> str:
    """Run tools while the response still streams."""
    async with AsyncOpenAI(api_key="k", base_url=base_url, max_retries=0) as client:
        asked = AsyncResponsesToolRunner(functions=registered_functions(AgentTools(workspace)))
        return (await asked.run(client, REQUEST, stream=True, eager=True)).output_text


async def loop(base_url: str, workspace: Workspace) -> str:
    tools, items = AgentTools(workspace), [QUESTION]
    async with AsyncOpenAI(api_key="k", base_url=base_url, max_retries=0) as client:
        while True:
            response = await client.responses.create(
                model="gpt", input=items, tools=response_tool_params(tools), store=False
            )
            turn = await run_response_turn(tools, response)
            if not turn:
                return response.output_text
            items += turn


def runner_sync(base_url: str, tools: AgentTools) -> str:
    with OpenAI(api_key="k", base_url=base_url, max_retries=0) as client:
        asked = ResponsesToolRunner(functions=registered_functions_sync(tools))
        return asked.run(client, REQUEST).output_text


def loop_sync(base_url: str, tools: AgentTools) -> str:
    items = [QUESTION]
    with OpenAI(api_key="k", base_url=base_url, max_retries=0) as client:
        while True:
            response = client.responses.create(model="gpt", input=items, tools=response_tool_params(tools), store=False)
            turn = run_response_turn_sync(tools, response)
            if not turn:
                return response.output_text
            items += turn


def assert_told(fake: FakeOpenAI, place: Place, expected: list[str]) -> None:
    outputs = [item["output"] for item in fake.requests[-1]["input"] if item.get("type") == "function_call_output"]
    assert (fake.refusals, outputs, ending(place)) == ([], expected, AFTER)


@pytest.mark.parametrize("ask", [runner, early_runner, loop])
async def test_a_session_is_told_what_the_tools_say(ask: Any, root: Path, expected: list[str]) -> None:
    place = local_place(root)
    fake = FakeOpenAI(turns(place, act_of))
    with fake.running() as base_url:
        async with open_workspace(place.url) as workspace:
            assert await ask(base_url, workspace) == "done"
            names = [tool.name for tool in workspace.tools.tools()]
    assert_told(fake, place, expected)
    assert [tool["name"] for tool in fake.requests[0]["tools"]] == names


@pytest.mark.parametrize("ask", [runner_sync, loop_sync])
def test_a_session_without_an_event_loop_is_told_the_same(ask: Any, root: Path, expected: list[str]) -> None:
    place = local_place(root)
    fake = FakeOpenAI(turns(place, act_of))
    with fake.running() as base_url, open_agent_tools(place.url) as tools:
        assert ask(base_url, tools) == "done"
    assert_told(fake, place, expected)


def chat_message(*calls: tuple[str, str]) -> ChatCompletionMessage:
    """A message of the Chat Completions API that calls functions with these argument texts."""
    made = [
        {"id": f"c{number}", "type": "function", "function": {"name": name, "arguments": text}}
        for number, (name, text) in enumerate(calls)
    ]
    return ChatCompletionMessage.model_validate({"role": "assistant", "content": None, "tool_calls": made})


async def test_a_session_of_chat_completions_is_told_the_same(root: Path, expected: list[str]) -> None:
    place = local_place(root)
    script, texts = Script(place), list[Any]()
    async with open_workspace(place.url) as workspace:
        tools = AgentTools(workspace)
        while (call := script.next_call()) is not None:
            made = chat_message((call[0], json.dumps(call[1])))
            said, answer = await run_chat_turn(tools, made)
            assert said is cast("Any", made)
            texts.append(cast("Any", answer)["content"])
        assert await run_chat_turn(tools, ChatCompletionMessage(role="assistant", content="done")) == []
        names = [tool["function"]["name"] for tool in chat_tool_params(tools)]
        assert names == [tool.name for tool in workspace.tools.tools()]
    assert (texts, ending(place)) == (expected, AFTER)


@pytest.mark.parametrize("arguments", ['{"file_path": ', "[]", '"a.txt"'])
def test_arguments_that_are_no_object_come_back_to_the_model(root: Path, arguments: str) -> None:
    with open_agent_tools(str(root)) as tools:
        message = chat_message(("read", arguments), ("write", '{"file_path": "a.txt", "content": ""}'))
        _, first, second = cast("list[Any]", run_chat_turn_sync(tools, message))
    assert (first["tool_call_id"], second["tool_call_id"]) == ("c0", "c1")
    assert first["content"].startswith("INVALID_ARGS: read: arguments must be a JSON object")
    assert second["content"] == "Created a.txt (0 bytes)."
