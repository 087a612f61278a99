"""GPT in a bucket, on an SSH server or on disk: the tools of a workspace over the two APIs of the openai SDK."""

from openai import AsyncOpenAI, OpenAI
from openai.types.chat import ChatCompletionMessageParam
from openai.types.responses import ResponseInputItemParam

from seamfs import open_workspace
from seamfs.integrations import AgentTools, open_agent_tools
from seamfs.integrations.openai import chat_tool_params, response_tool_params, run_chat_turn_sync, run_response_turn


async def answer(client: AsyncOpenAI, model: str, url: str, question: str) -> str:
    """Return the answer of an agent that works on the files at a URL, over the Responses API."""
    items: list[ResponseInputItemParam] = [{"role": "user", "content": question}]
    async with open_workspace(url) as workspace:
        tools = AgentTools(workspace)
        while True:
            response = await client.responses.create(model=model, input=items, tools=response_tool_params(tools))
            turn = await run_response_turn(tools, response)
            if not turn:
                return response.output_text
            items += turn


def answer_chat(client: OpenAI, model: str, url: str, question: str) -> str:
    """Do the same over the Chat Completions API, in a program without an event loop."""
    messages: list[ChatCompletionMessageParam] = [{"role": "user", "content": question}]
    with open_agent_tools(url) as tools:
        while True:
            completion = client.chat.completions.create(model=model, messages=messages, tools=chat_tool_params(tools))
            message = completion.choices[0].message
            turn = run_chat_turn_sync(tools, message)
            if not turn:
                return message.content or ""
            messages += turn
