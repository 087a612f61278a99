"""pydantic-ai over a workspace: whole runs with a scripted model.

The package is imported by the tests themselves: it takes a while, and not every worker runs them.
"""

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import anyio
import pytest

from seamfs.integrations import AgentTools, open_agent_tools
from seamfs.workspace import Workspace, open_workspace
from tests.seamfs.integrations.story import AFTER, CODES, Place, Script, ending, local_place, sftp_place
from tests.support.sftp_servers import SftpServer

if TYPE_CHECKING:
    from pydantic_ai.messages import ModelMessage, ToolReturnPart
    from pydantic_ai.models.function import FunctionModel

    from seamfs.integrations.pydantic_ai import WorkspaceToolset

pytestmark = [pytest.mark.anyio, pytest.mark.xdist_group("integrations")]


def scripted(next_call: Callable[[], tuple[str, dict[str, Any]] | None]) -> "FunctionModel":
    """A model that makes one call a request, until there is no more."""
    from pydantic_ai.messages import ModelMessage, ModelResponse, TextPart, ToolCallPart
    from pydantic_ai.models.function import AgentInfo, FunctionModel

    def respond(_messages: list[ModelMessage], _info: AgentInfo) -> ModelResponse:
        call = next_call()
        return ModelResponse([TextPart("done") if call is None else ToolCallPart(*call)])

    return FunctionModel(respond)


def returned(messages: "list[ModelMessage]") -> "list[ToolReturnPart]":
    from pydantic_ai.messages import ToolReturnPart

    return [part for message in messages for part in message.parts if isinstance(part, ToolReturnPart)]


def toolset(tools: AgentTools, *, owner_per_run: bool = True) -> "WorkspaceToolset":
    from seamfs.integrations.pydantic_ai import WorkspaceToolset

    return WorkspaceToolset(tools, owner_per_run=owner_per_run)


@pytest.fixture(params=["local", "embedded_sftp_server"])
def place(request: pytest.FixtureRequest, root: Path) -> Place:
    if request.param == "local":
        return local_place(root)
    server: SftpServer = request.getfixturevalue(request.param)
    return sftp_place(server)


async def test_a_session_is_told_what_the_tools_say(place: Place, expected: list[str]) -> None:
    from pydantic_ai import Agent

    async with open_workspace(place.url, settings=place.settings) as workspace:
        agent = Agent(scripted(Script(place).next_call), toolsets=[toolset(AgentTools(workspace))])
        result = await agent.run("Raise the timeout.")
    parts = returned(result.all_messages())
    assert (result.output, ending(place)) == ("done", AFTER)
    assert [part.content for part in parts] == expected
    assert [part.outcome for part in parts] == ["success" if code is None else "failed" for code in CODES]
    assert [part.metadata and part.metadata["path"] for part in parts[1:]] == [
        "src/notes.txt",
        None,
        *["src/notes.txt"] * 2,
    ]


def test_a_workspace_of_its_own_serves_one_event_loop_after_the_other(root: Path, expected: list[str]) -> None:
    from pydantic_ai import Agent

    place = local_place(root)
    with open_agent_tools(place.url, settings=place.settings) as tools:
        for _ in range(2):
            agent = Agent(scripted(Script(place).next_call), toolsets=[toolset(tools)])
            result = anyio.run(agent.run, "Raise the timeout.")
            assert [part.content for part in returned(result.all_messages())] == expected


async def calls_in_runs(
    workspace: Workspace, first: tuple[str, dict[str, Any]], second: tuple[str, dict[str, Any]], *, owner_per_run: bool
) -> str:
    """Make one call in a run and one in the next; return what the second came to."""
    from pydantic_ai import Agent

    shared, text = toolset(AgentTools(workspace), owner_per_run=owner_per_run), ""
    for call in (first, second):
        left = [call]
        model = scripted(lambda left=left: left.pop() if left else None)
        result = await Agent(model, toolsets=[shared]).run("Go.")
        text = str(returned(result.all_messages())[0].content)
    return text


@pytest.mark.parametrize(("owner_per_run", "begins"), [(True, "FS_NOT_OBSERVED: a.txt: "), (False, "Replaced a.txt")])
async def test_runs_share_what_was_read_if_they_are_told_to(root: Path, owner_per_run: bool, begins: str) -> None:
    (root / "a.txt").write_text("one\n")
    async with open_workspace(str(root)) as workspace:
        text = await calls_in_runs(
            workspace,
            ("read", {"file_path": "a.txt"}),
            ("write", {"file_path": "a.txt", "content": "two\n"}),
            owner_per_run=owner_per_run,
        )
    assert text.startswith(begins)


async def test_refusals_in_a_row_do_not_end_a_run(root: Path) -> None:
    from pydantic_ai import Agent

    calls: list[tuple[str, dict[str, Any]]] = [("read", {"file_path": "missing"}), ("read", {"limit": 0})] * 3
    async with open_workspace(str(root)) as workspace:
        model = scripted(lambda: calls.pop() if calls else None)
        result = await Agent(model, toolsets=[toolset(AgentTools(workspace))]).run("Go.")
    texts = [str(part.content) for part in returned(result.all_messages())]
    assert [text.split(":")[0] for text in texts] == ["INVALID_ARGS", "FS_NOT_FOUND"] * 3


async def test_the_model_is_told_every_tool_of_the_workspace_as_it_is(root: Path, expected: list[str]) -> None:
    from pydantic_ai import Agent
    from pydantic_ai.models.test import TestModel

    model = TestModel(call_tools=[])
    async with open_workspace(str(root)) as workspace:
        await Agent(model, toolsets=[toolset(AgentTools(workspace))]).run("Go.")
        schemas = workspace.tools.schemas()
    told_of = model.last_model_request_parameters
    assert told_of is not None
    assert [(tool.name, tool.description) for tool in told_of.function_tools] == [
        (schema.name, schema.description) for schema in schemas
    ]
    assert [tool.parameters_json_schema for tool in told_of.function_tools] == [schema.parameters for schema in schemas]
    assert [tool.name for tool in told_of.function_tools if tool.sequential] == ["edit", "write"]


async def test_the_calls_of_a_turn_happen_in_their_order(root: Path) -> None:
    from pydantic_ai import Agent
    from pydantic_ai.messages import ModelMessage, ModelResponse, TextPart, ToolCallPart
    from pydantic_ai.models.function import AgentInfo, FunctionModel

    def respond(messages: list[ModelMessage], _info: AgentInfo) -> ModelResponse:
        if len(messages) > 1:
            return ModelResponse([TextPart("done")])
        write, read = {"file_path": "a.txt", "content": "new\n"}, {"file_path": "a.txt"}
        return ModelResponse([ToolCallPart("write", write), ToolCallPart("read", read), ToolCallPart("read", read)])

    async with open_workspace(str(root)) as workspace:
        result = await Agent(FunctionModel(respond), toolsets=[toolset(AgentTools(workspace))]).run("Go.")
    texts = [str(part.content).splitlines()[:4][-1] for part in returned(result.all_messages())]
    assert texts == ["Created a.txt (4 bytes).", "1: new", "1: new"]


async def test_a_toolset_has_the_id_that_it_was_given(root: Path) -> None:
    from seamfs.integrations.pydantic_ai import WorkspaceToolset

    async with open_workspace(str(root)) as workspace:
        assert WorkspaceToolset(AgentTools(workspace), id="files").id == "files"
        assert WorkspaceToolset(AgentTools(workspace)).id is None
