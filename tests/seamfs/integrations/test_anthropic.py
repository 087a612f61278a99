"""The anthropic SDK over a workspace: its tool runner and a loop of one's own, with a server that refuses what the
real one refuses.
"""

from pathlib import Path
from typing import Any

import pytest
from anthropic import Anthropic, AsyncAnthropic
from anthropic.types import Message, MessageParam

from seamfs.integrations import AgentTools, open_agent_tools
from seamfs.integrations.anthropic import (
    calls_of,
    run_turn,
    run_turn_sync,
    runnable_tools,
    runnable_tools_sync,
    tool_params,
)
from seamfs.workspace import Workspace, open_workspace
from tests.progressive.native.fake_anthropic import Block, FakeAnthropic, running
from tests.seamfs.integrations.story import AFTER, CODES, Call, Place, ending, local_place, turns

pytestmark = [pytest.mark.anyio, pytest.mark.xdist_group("integrations")]

QUESTION: Any = {"role": "user", "content": "Raise the timeout."}


def turn_of(call: Call | None) -> Block:
    if call is None:
        return {"type": "text", "text": "done"}
    return {"type": "tool_use", "name": call[0], "input": call[1]}


async def runner(base_url: str, workspace: Workspace) -> str:
    async with AsyncAnthropic(api_key="k", base_url=base_url, max_retries=0) as client:
        tools = runnable_tools(AgentTools(workspace))
        asked = client.beta.messages.tool_runner(model="claude", max_tokens=99, tools=tools, messages=[QUESTION])
        message = await asked.until_done()
    return "".join(block.text for block in message.content if block.type == "text")


async def loop(base_url: str, workspace: Workspace) -> str:
    tools, messages = AgentTools(workspace), list[MessageParam]([QUESTION])
    async with AsyncAnthropic(api_key="k", base_url=base_url, max_retries=0) as client:
        while True:
            message = await client.messages.create(
                model="claude", max_tokens=99, tools=tool_params(tools), messages=messages
            )
            turn = await run_turn(tools, message)
            if not turn:
                return "".join(block.text for block in message.content if block.type == "text")
            messages += turn


def runner_sync(base_url: str, tools: AgentTools) -> str:
    with Anthropic(api_key="k", base_url=base_url, max_retries=0) as client:
        asked = client.beta.messages.tool_runner(
            model="claude", max_tokens=99, tools=runnable_tools_sync(tools), messages=[QUESTION]
        )
        return "".join(block.text for block in asked.until_done().content if block.type == "text")


def loop_sync(base_url: str, tools: AgentTools) -> str:
    messages: list[MessageParam] = [QUESTION]
    with Anthropic(api_key="k", base_url=base_url, max_retries=0) as client:
        while True:
            message = client.messages.create(model="claude", max_tokens=99, tools=tool_params(tools), messages=messages)
            turn = run_turn_sync(tools, message)
            if not turn:
                return "".join(block.text for block in message.content if block.type == "text")
            messages += turn


def assert_told(fake: FakeAnthropic, place: Place, expected: list[str]) -> None:
    results = [block for message in fake.requests[-1]["messages"][2::2] for block in message["content"]]
    assert [block["content"] for block in results] == expected
    assert [block.get("is_error", False) for block in results] == [code is not None for code in CODES]
    assert ending(place) == AFTER


@pytest.mark.parametrize("ask", [runner, loop])
async def test_a_session_is_told_what_the_tools_say(ask: Any, root: Path, expected: list[str]) -> None:
    place = local_place(root)
    with running(turns(place, turn_of)) as fake:
        async with open_workspace(place.url) as workspace:
            assert await ask(fake.base_url, workspace) == "done"
            names = [tool.name for tool in workspace.tools.tools()]
    assert_told(fake, place, expected)
    assert [tool["name"] for tool in fake.requests[0]["tools"]] == names


@pytest.mark.parametrize("ask", [runner_sync, loop_sync])
def test_a_session_without_an_event_loop_is_told_the_same(ask: Any, root: Path, expected: list[str]) -> None:
    place = local_place(root)
    with running(turns(place, turn_of)) as fake, open_agent_tools(place.url) as tools:
        assert ask(fake.base_url, tools) == "done"
    assert_told(fake, place, expected)


async def test_the_calls_of_a_turn_are_answered_in_one_message(root: Path) -> None:
    calls = [("write", {"file_path": "a.txt", "content": "one\n"}), ("read", {"file_path": "b.txt"})]
    blocks = [
        {"type": "tool_use", "id": f"c{number}", "name": call[0], "input": call[1]} for number, call in enumerate(calls)
    ]
    message = Message.model_validate(
        {
            "id": "m",
            "type": "message",
            "role": "assistant",
            "model": "claude",
            "content": [{"type": "text", "text": "Now:"}, *blocks],
            "stop_reason": "tool_use",
            "stop_sequence": None,
            "usage": {"input_tokens": 1, "output_tokens": 1},
        }
    )
    async with open_workspace(str(root)) as workspace:
        said, answer = await run_turn(AgentTools(workspace), message)
    assert [call.id for call in calls_of(message)] == ["c0", "c1"]
    assert (said["role"], said["content"]) == ("assistant", message.content)
    results: Any = answer["content"]
    assert [(block["tool_use_id"], block["is_error"]) for block in results] == [("c0", False), ("c1", True)]
