"""An agent over the OpenAI Responses API whose tools are found on demand: one loop, sync, async and streaming.

The library stands in three places of a loop: the surface gives the prompt and the tools of a request, `inject`
completes the request just before it is sent, and the surface runs the calls that come back. The loop keeps its items
as they were; what was described in them is read from them again for every request. So the whole conversation is sent
each time (`store` is off): what only the server has cannot be read here.
"""

from collections.abc import AsyncGenerator, Sequence
from functools import partial
from typing import Any, cast

from anyio.from_thread import start_blocking_portal
from openai import AsyncOpenAI, OpenAI
from openai.types.responses import FunctionToolParam, ResponseInputItemParam
from openai.types.responses.response_create_params import ResponseCreateParamsNonStreaming

from progressive import Surface
from progressive.formats import openai_responses_tools
from progressive.native.capability import Api, Capability, capability_for
from progressive.native.openai import inject
from seamfs.integrations.openai import response_calls_of, response_turn_of


async def answer(
    client: AsyncOpenAI,
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
    capability = capability_for(Api.OPENAI_RESPONSES, model, base_url=str(client.base_url), override=flag)
    items: list[ResponseInputItemParam] = [{"role": "user", "content": question}]
    while True:
        response = await client.responses.create(**request_of(surface, items, model, capability))
        calls = response_calls_of(response)
        if not calls:
            return response.output_text
        items += response_turn_of(response, calls, await surface.run_turn(calls, owner=owner))


def answer_sync(
    client: OpenAI,
    surface: Surface,
    question: str,
    *,
    model: str,
    flag: Capability | None = None,
    owner: object = None,
) -> str:
    """Do the same in a program without an event loop; a portal lends one to the tools."""
    capability = capability_for(Api.OPENAI_RESPONSES, model, base_url=str(client.base_url), override=flag)
    items: list[ResponseInputItemParam] = [{"role": "user", "content": question}]
    with start_blocking_portal() as tools:
        while True:
            response = client.responses.create(**request_of(surface, items, model, capability))
            calls = response_calls_of(response)
            if not calls:
                return response.output_text
            items += response_turn_of(response, calls, tools.call(partial(surface.run_turn, calls, owner=owner)))


async def answer_streamed(
    client: AsyncOpenAI,
    surface: Surface,
    question: str,
    *,
    model: str,
    flag: Capability | None = None,
    owner: object = None,
) -> AsyncGenerator[str]:
    """Do the same, and yield the model's text as it comes."""
    capability = capability_for(Api.OPENAI_RESPONSES, model, base_url=str(client.base_url), override=flag)
    items: list[ResponseInputItemParam] = [{"role": "user", "content": question}]
    while True:
        # The helper takes the same fields, but its signature is narrower than the type of a request.
        request = cast("dict[str, Any]", request_of(surface, items, model, capability))
        async with client.responses.stream(**request) as stream:
            async for event in stream:
                if event.type == "response.output_text.delta":
                    yield event.delta
            response = await stream.get_final_response()
        calls = response_calls_of(response)
        if not calls:
            return
        items += response_turn_of(response, calls, await surface.run_turn(calls, owner=owner))


def request_of(
    surface: Surface, items: Sequence[ResponseInputItemParam], model: str, capability: Capability
) -> ResponseCreateParamsNonStreaming:
    """Return the next request."""
    request: ResponseCreateParamsNonStreaming = {
        "model": model,
        "instructions": surface.prompt,
        "tools": cast("list[FunctionToolParam]", openai_responses_tools(surface.tools)),
        "input": list(items),
        "store": False,
        "include": ["reasoning.encrypted_content"],
    }
    return inject(request, capability)
