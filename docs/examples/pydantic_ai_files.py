"""pydantic-ai in a bucket, on an SSH server or on disk: the tools of a workspace as a toolset."""

from pydantic_ai import Agent
from pydantic_ai.models import Model

from seamfs import open_workspace
from seamfs.integrations import AgentTools
from seamfs.integrations.pydantic_ai import WorkspaceToolset


async def answer(model: Model | str, url: str, question: str) -> str:
    """Return the answer of an agent that works on the files at a URL, such as `sftp://build-host/srv/repo`."""
    async with open_workspace(url) as workspace:
        agent = Agent(model, toolsets=[WorkspaceToolset(AgentTools(workspace))])
        result = await agent.run(question)
    return result.output
