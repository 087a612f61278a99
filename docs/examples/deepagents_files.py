"""deepagents in a bucket, on an SSH server or on disk: its own file tools, under the guards of a workspace."""

from typing import Any, Protocol, cast

import deepagents
from deepagents.backends import BackendProtocol, CompositeBackend, StateBackend
from langchain_core.language_models import BaseChatModel

from seamfs import open_workspace
from seamfs.integrations import AgentTools, open_agent_tools
from seamfs.integrations.deepagents import WorkspaceBackend


class Agent(Protocol):
    """What is used of the graph that deepagents makes; its own type has parts that nobody knows."""

    def invoke(self, state: dict[str, Any]) -> dict[str, Any]:
        """Run it while this thread waits."""
        ...

    async def ainvoke(self, state: dict[str, Any]) -> dict[str, Any]:
        """Run it on this event loop."""
        ...


async def answer(model: BaseChatModel, url: str, question: str) -> str:
    """Return the answer of an agent that reads and changes the files at a URL, such as `s3://my-bucket/workspace`."""
    async with open_workspace(url) as workspace:
        state = await agent_on(model, AgentTools(workspace)).ainvoke({"messages": [("user", question)]})
    return str(state["messages"][-1].content)


def answer_sync(model: BaseChatModel, url: str, question: str) -> str:
    """Do the same in a program without an event loop: the workspace gets one of its own, in a thread."""
    with open_agent_tools(url) as tools:
        state = agent_on(model, tools).invoke({"messages": [("user", question)]})
    return str(state["messages"][-1].content)


def agent_on(model: BaseChatModel, tools: AgentTools) -> Agent:
    """Return an agent for which `/` is the root of the workspace; what deepagents puts aside stays in its state."""
    aside = StateBackend()
    routes: dict[str, BackendProtocol] = {"/large_tool_results/": aside, "/conversation_history/": aside}
    backend = CompositeBackend(default=WorkspaceBackend(tools), routes=routes)
    return cast("Any", deepagents).create_deep_agent(model, backend=backend)
