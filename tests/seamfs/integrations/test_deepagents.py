"""deepagents over a workspace: whole agents with a scripted model, and the backend by itself.

The package is imported by the tests themselves: it takes a while, and not every worker runs them.
"""

from collections.abc import Generator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from seamfs.config import Settings
from seamfs.integrations import AgentTools, open_agent_tools
from seamfs.workspace import open_workspace
from tests.seamfs.integrations.story import AFTER, CODES, Call, Place, Script, ending, local_place, s3_place
from tests.support.s3_servers import S3Server

if TYPE_CHECKING:
    from seamfs.integrations.deepagents import WorkspaceBackend

pytestmark = [pytest.mark.anyio, pytest.mark.xdist_group("integrations")]

PICTURE = b"\x89PNG\r\n\x1a\n\x00\xff"
SHOWN = [
    None,
    "@@ lines 1-2 of 2 @@\ntimeout = 10\nlast line",
    None,
    "@@ lines 1-2 of 2 @@\ntimeout = 20\nlast line",
    "Successfully replaced 1 instance(s) of the string in '/src/notes.txt'",
]
"""What deepagents shows in the session of the story, where it is not our refusal."""


def theirs(call: Call | None) -> Call | None:
    """The same call with the names and the paths of deepagents."""
    return call and (f"{call[0]}_file", {**call[1], "file_path": f"/{call[1]['file_path']}"})


def backend_of(tools: AgentTools) -> "WorkspaceBackend":
    from seamfs.integrations.deepagents import WorkspaceBackend

    return WorkspaceBackend(tools)


@pytest.fixture
def backend(root: Path) -> "Generator[WorkspaceBackend]":
    """A backend on a directory, for tests without an event loop."""
    with open_agent_tools(str(root), settings=Settings()) as tools:
        yield backend_of(tools)


def agent_on(place: Place, tools: AgentTools) -> Any:
    from tests.seamfs.integrations.chat_model import ScriptedChatModel, deep_agent

    script = Script(place)
    return deep_agent(ScriptedChatModel(next_call=lambda: theirs(script.next_call())), backend_of(tools))


def assert_shown(state: dict[str, Any], place: Place, expected: list[str]) -> None:
    from tests.seamfs.integrations.chat_model import tool_messages

    messages = tool_messages(state)
    assert [message.content for message in messages] == [
        f"Error: {ours}" if shown is None else shown for shown, ours in zip(SHOWN, expected, strict=True)
    ]
    assert [message.status for message in messages] == ["success" if code is None else "error" for code in CODES]
    assert ending(place) == AFTER


async def test_an_agent_works_in_a_bucket_under_our_guards(moto_server: S3Server, expected: list[str]) -> None:
    place = s3_place(moto_server)
    async with open_workspace(place.url, settings=place.settings) as workspace:
        state = await agent_on(place, AgentTools(workspace)).ainvoke({"messages": [("user", "Raise the timeout.")]})
    assert_shown(state, place, expected)


def test_an_agent_without_an_event_loop_does_the_same(root: Path, expected: list[str]) -> None:
    place = local_place(root)
    with open_agent_tools(place.url, settings=place.settings) as tools:
        state = agent_on(place, tools).invoke({"messages": [("user", "Raise the timeout.")]})
    assert_shown(state, place, expected)
