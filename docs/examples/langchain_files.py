"""LangChain in a bucket, on an SSH server or on disk: an agent with the tools of a workspace."""

from typing import Any, Protocol, cast

from langchain import agents
from langchain_core.language_models import BaseChatModel

from seamfs import open_workspace
from seamfs.integrations import AgentTools, open_agent_tools
from seamfs.integrations.langchain import WorkspaceToolkit


class Agent(Protocol):
    """What is used of the graph that LangChain makes; its own type has parts that nobody knows."""

    def invoke(self, state: dict[str, Any]) -> dict[str, Any]:
        """Run it while this thread waits."""
        ...

    async def ainvoke(self, state: dict[str, Any]) -> dict[str, Any]:
        """Run it on this event loop."""
        ...


async def answer(model: BaseChatModel, url: str, question: str) -> str:
    """Return the answer of an agent that works on the files at a URL, such as `s3://my-bucket/workspace`."""
    async with open_workspace(url) as workspace:
        state = await agent_with(model, AgentTools(workspace)).ainvoke({"messages": [("user", question)]})
    return str(state["messages"][-1].content)


def answer_sync(model: BaseChatModel, url: str, question: str) -> str:
    """Do the same in a program without an event loop: the workspace gets one of its own, in a thread."""
    with open_agent_tools(url) as tools:
        state = agent_with(model, tools).invoke({"messages": [("user", question)]})
    return str(state["messages"][-1].content)


def agent_with(model: BaseChatModel, tools: AgentTools) -> Agent:
    """Return an agent with all tools that the workspace has."""
    return cast("Any", agents).create_agent(model, tools=WorkspaceToolkit(tools=tools).get_tools())
