"""Claude in a bucket, on an SSH server or on disk: the tool runner of the anthropic SDK with tools for files."""

from anthropic import Anthropic, AsyncAnthropic
from anthropic.types.beta import BetaMessage

from seamfs import open_workspace
from seamfs.integrations import AgentTools, open_agent_tools
from seamfs.integrations.anthropic import runnable_tools, runnable_tools_sync


async def answer(client: AsyncAnthropic, model: str, url: str, question: str) -> str:
    """Return the answer of an agent that works on the files at a URL."""
    async with open_workspace(url) as workspace:
        runner = client.beta.messages.tool_runner(
            model=model,
            max_tokens=4_096,
            tools=runnable_tools(AgentTools(workspace)),
            messages=[{"role": "user", "content": question}],
        )
        return text_of(await runner.until_done())


def answer_sync(client: Anthropic, model: str, url: str, question: str) -> str:
    """Do the same in a program without an event loop: the workspace gets one of its own, in a thread."""
    with open_agent_tools(url) as tools:
        runner = client.beta.messages.tool_runner(
            model=model,
            max_tokens=4_096,
            tools=runnable_tools_sync(tools),
            messages=[{"role": "user", "content": question}],
        )
        return text_of(runner.until_done())


def text_of(message: BetaMessage) -> str:
    """Return what the model said."""
    return "".join(block.text for block in message.content if block.type == "text")
