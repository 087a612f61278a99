"""LangChain over a workspace: agents with a scripted model, and single tools.

The package is imported by the tests themselves: it takes a while, and not every worker runs them.
"""

from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from seamfs.integrations import AgentTools, open_agent_tools
from seamfs.workspace import open_workspace
from tests.seamfs.integrations.story import AFTER, CODES, Script, ending, local_place

if TYPE_CHECKING:
    from langchain_core.tools import BaseTool

pytestmark = [pytest.mark.anyio, pytest.mark.xdist_group("integrations")]


def tools_of(tools: AgentTools) -> "dict[str, BaseTool]":
    from seamfs.integrations.langchain import WorkspaceToolkit

    return {tool.name: tool for tool in WorkspaceToolkit(tools=tools).get_tools()}


def tool_call(arguments: dict[str, Any]) -> dict[str, Any]:
    return {"type": "tool_call", "id": "call_1", "name": "", "args": arguments}


async def test_a_session_is_told_what_the_tools_say(root: Path, expected: list[str]) -> None:
    from tests.seamfs.integrations.chat_model import ScriptedChatModel, agent_of, tool_messages

    place = local_place(root)
    async with open_workspace(place.url) as workspace:
        model = ScriptedChatModel(next_call=Script(place).next_call)
        agent = agent_of(model, tools_of(AgentTools(workspace)))
        state = await agent.ainvoke({"messages": [("user", "Raise the timeout.")]})
        schemas = workspace.tools.schemas()
    messages = tool_messages(state)
    assert ending(place) == AFTER
    assert [message.content for message in messages] == expected
    assert [message.status for message in messages] == ["success" if code is None else "error" for code in CODES]
    assert [message.artifact and message.artifact["path"] for message in messages] == [
        *(None, "src/notes.txt", None),
        *["src/notes.txt"] * 2,
    ]
    assert [(tool["name"], tool["description"]) for tool in model.declared] == [
        (schema.name, schema.description) for schema in schemas
    ]
    assert [tool["parameters"]["properties"] for tool in model.declared] == [
        schema.parameters["properties"] for schema in schemas
    ]


def test_a_session_without_an_event_loop_is_told_the_same(root: Path, expected: list[str]) -> None:
    from tests.seamfs.integrations.chat_model import ScriptedChatModel, agent_of, tool_messages

    place = local_place(root)
    with open_agent_tools(place.url) as tools:
        model = ScriptedChatModel(next_call=Script(place).next_call)
        agent = agent_of(model, tools_of(tools))
        state = agent.invoke({"messages": [("user", "Raise the timeout.")]})
    assert [message.content for message in tool_messages(state)] == expected
    assert ending(place) == AFTER


async def test_an_application_that_wants_exceptions_gets_the_failure(root: Path) -> None:
    from seamfs.integrations.langchain import WorkspaceToolError

    async with open_workspace(str(root)) as workspace:
        read = tools_of(AgentTools(workspace))["read"]
        read.handle_tool_error = False
        with pytest.raises(WorkspaceToolError, match=r"FS_NOT_FOUND: a\.txt: no such file") as caught:
            await read.ainvoke({"file_path": "a.txt"})
    assert (caught.value.failure.code, caught.value.failure.retryable) == ("FS_NOT_FOUND", False)


@pytest.mark.parametrize(
    "arguments", [{}, {"file_path": 7}, {"file_path": "a.txt", "self": 1}, {"file_path": "a.txt", "config": {}}]
)
async def test_wrong_arguments_are_refused_by_the_tool(root: Path, arguments: dict[str, Any]) -> None:
    async with open_workspace(str(root)) as workspace:
        tools = AgentTools(workspace)
        expected = await workspace.call(tools.session, "read", arguments)
        message = await tools_of(tools)["read"].ainvoke(tool_call(arguments))
    assert message.content == expected.text
    assert message.content.startswith("INVALID_ARGS: read: ")


async def test_a_tool_outside_an_agent_returns_its_text(root: Path) -> None:
    async with open_workspace(str(root)) as workspace:
        write = tools_of(AgentTools(workspace))["write"]
        text = await write.ainvoke({"file_path": "a.txt", "content": "one\n"})
    assert text == "Created a.txt (4 bytes)."
