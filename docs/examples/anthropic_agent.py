"""An agent over the Anthropic Messages API whose tools are found on demand: one loop, sync, async and streaming.

The library stands in three places of a loop: the surface gives the prompt and the tools of a request, `inject`
completes the request just before it is sent, and the surface runs the calls that come back. The loop keeps its
messages as they were; what was described in them is read from them again for every request.
"""

from collections.abc import AsyncGenerator, Sequence
from functools import partial
from typing import Any, cast

from anthropic import Anthropic, AsyncAnthropic
from anthropic.types import Message, MessageParam, ToolParam
from anthropic.types.message_create_params import MessageCreateParamsNonStreaming
from anyio.from_thread import start_blocking_portal

from progressive import Surface
from progressive.formats import anthropic_tools
from progressive.native.anthropic import inject
from progressive.native.capability import Api, Capability, capability_for
from seamfs.integrations.anthropic import calls_of, turn_of


async def answer(
    client: AsyncAnthropic,
    surface: Surface,
    question: str,
    *,
    model: str,
    flag: Capability | None = None,
    owner: object = None,
) -> str:
    """Return the answer to a question, after all the calls that the model makes for it.

    Args:
        client: Where requests go.
        surface: What the model sees, as `Disclosure(runtime).surface()` returns it.
        question: The first message.
        model: Its name.
        flag: What the endpoint can do, if it is not the vendor's own.
        owner: On whose behalf calls run, such as the `session()` of a workspace, whose tools want one.
    """
    capability = capability_for(Api.ANTHROPIC_MESSAGES, model, base_url=str(client.base_url), override=flag)
    messages: list[MessageParam] = [{"role": "user", "content": question}]
    while True:
        message = await client.messages.create(**request_of(surface, messages, model, capability))
        calls = calls_of(message)
        if not calls:
            return text_of(message)
        messages += turn_of(message, calls, await surface.run_turn(calls, owner=owner))


def answer_sync(
    client: Anthropic,
    surface: Surface,
    question: str,
    *,
    model: str,
    flag: Capability | None = None,
    owner: object = None,
) -> str:
    """Do the same in a program without an event loop; a portal lends one to the tools."""
    capability = capability_for(Api.ANTHROPIC_MESSAGES, model, base_url=str(client.base_url), override=flag)
    messages: list[MessageParam] = [{"role": "user", "content": question}]
    with start_blocking_portal() as tools:
        while True:
            message = client.messages.create(**request_of(surface, messages, model, capability))
            calls = calls_of(message)
            if not calls:
                return text_of(message)
            messages += turn_of(message, calls, tools.call(partial(surface.run_turn, calls, owner=owner)))


async def answer_streamed(
    client: AsyncAnthropic,
    surface: Surface,
    question: str,
    *,
    model: str,
    flag: Capability | None = None,
    owner: object = None,
) -> AsyncGenerator[str]:
    """Do the same, and yield the model's text as it comes."""
    capability = capability_for(Api.ANTHROPIC_MESSAGES, model, base_url=str(client.base_url), override=flag)
    messages: list[MessageParam] = [{"role": "user", "content": question}]
    while True:
        # The helper takes the same fields, but its signature has no `stream`, which the type of a request has.
        request = cast("dict[str, Any]", request_of(surface, messages, model, capability))
        async with client.messages.stream(**request) as stream:
            async for text in stream.text_stream:
                yield text
            message = await stream.get_final_message()
        calls = calls_of(message)
        if not calls:
            return
        messages += turn_of(message, calls, await surface.run_turn(calls, owner=owner))


def request_of(
    surface: Surface, messages: Sequence[MessageParam], model: str, capability: Capability
) -> MessageCreateParamsNonStreaming:
    """Return the next request."""
    request: MessageCreateParamsNonStreaming = {
        "model": model,
        "max_tokens": 4_096,
        "system": surface.prompt,
        "tools": cast("list[ToolParam]", anthropic_tools(surface.tools)),
        "messages": messages,
        # This API caches what it is asked to cache: here all that was said so far.
        "cache_control": {"type": "ephemeral"},
    }
    return inject(request, capability)


def text_of(message: Message) -> str:
    """Return what the model said."""
    return "".join(block.text for block in message.content if block.type == "text")
