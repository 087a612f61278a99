"""The examples with files in docs/examples: each lets a scripted model write a file.

Frameworks are imported by the tests themselves: they take a while, and not every worker runs them.
"""

import json
from collections.abc import Generator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler
from pathlib import Path
from typing import Any

import pytest
from anthropic import Anthropic, AsyncAnthropic
from openai import AsyncOpenAI, OpenAI

from tests.progressive.native.fake_anthropic import running
from tests.progressive.native.fake_openai import Call, FakeOpenAI, Say
from tests.support.web_servers import serving

pytestmark = [pytest.mark.anyio, pytest.mark.xdist_group("integrations")]

QUESTION = "Write it down."
WRITE = ("write", {"file_path": "a.txt", "content": "one\n"})
VIRTUAL_WRITE = ("write_file", {"file_path": "/a.txt", "content": "one\n"})


@pytest.fixture(autouse=True)
def written(root: Path) -> Generator[None]:
    """Check at the end of each test that the model's call was run."""
    yield
    assert (root / "a.txt").read_text() == "one\n"


def once(call: tuple[str, dict[str, Any]]) -> Any:
    """A chat model of LangChain that makes one call."""
    from tests.seamfs.integrations.chat_model import ScriptedChatModel

    calls = [call]
    return ScriptedChatModel(next_call=lambda: calls.pop() if calls else None)


async def test_deepagents(root: Path) -> None:
    from docs.examples import deepagents_files

    assert await deepagents_files.answer(once(VIRTUAL_WRITE), str(root), QUESTION) == "done"


def test_deepagents_without_an_event_loop(root: Path) -> None:
    from docs.examples import deepagents_files

    assert deepagents_files.answer_sync(once(VIRTUAL_WRITE), str(root), QUESTION) == "done"


async def test_langchain(root: Path) -> None:
    from docs.examples import langchain_files

    assert await langchain_files.answer(once(WRITE), str(root), QUESTION) == "done"


def test_langchain_without_an_event_loop(root: Path) -> None:
    from docs.examples import langchain_files

    assert langchain_files.answer_sync(once(WRITE), str(root), QUESTION) == "done"


async def test_pydantic_ai(root: Path) -> None:
    from pydantic_ai.messages import ModelMessage, ModelResponse, TextPart, ToolCallPart
    from pydantic_ai.models.function import AgentInfo, FunctionModel

    from docs.examples import pydantic_ai_files

    def respond(messages: list[ModelMessage], _info: AgentInfo) -> ModelResponse:
        return ModelResponse([ToolCallPart(*WRITE) if len(messages) == 1 else TextPart("done")])

    assert await pydantic_ai_files.answer(FunctionModel(respond), str(root), QUESTION) == "done"


@contextmanager
def claude() -> Generator[str]:
    call = {"type": "tool_use", "name": WRITE[0], "input": WRITE[1]}
    with running([[call], [{"type": "text", "text": "done"}]]) as fake:
        yield fake.base_url


async def test_anthropic(root: Path) -> None:
    from docs.examples import anthropic_files

    with claude() as base_url:
        async with AsyncAnthropic(api_key="k", base_url=base_url, max_retries=0) as client:
            assert await anthropic_files.answer(client, "claude", str(root), QUESTION) == "done"


def test_anthropic_without_an_event_loop(root: Path) -> None:
    from docs.examples import anthropic_files

    with claude() as base_url, Anthropic(api_key="k", base_url=base_url, max_retries=0) as client:
        assert anthropic_files.answer_sync(client, "claude", str(root), QUESTION) == "done"


async def test_openai_responses(root: Path) -> None:
    from docs.examples import openai_files

    with FakeOpenAI([[Call(*WRITE)], [Say("done")]]).running() as base_url:
        async with AsyncOpenAI(api_key="k", base_url=base_url, max_retries=0) as client:
            assert await openai_files.answer(client, "gpt", str(root), QUESTION) == "done"


class _Chat(BaseHTTPRequestHandler):
    """A server of the Chat Completions API whose model makes one call."""

    def do_POST(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers["content-length"])))
        is_first = len(body["messages"]) == 1
        function = {"name": WRITE[0], "arguments": json.dumps(WRITE[1])}
        message: dict[str, Any] = {"role": "assistant", "content": None if is_first else "done"}
        if is_first:
            message["tool_calls"] = [{"id": "c1", "type": "function", "function": function}]
        choice = {"index": 0, "message": message, "finish_reason": "stop", "logprobs": None}
        answer = {"id": "1", "object": "chat.completion", "created": 1, "model": "gpt", "choices": [choice]}
        data = json.dumps(answer).encode()
        self.send_response(200)
        self.send_header("content-type", "application/json")
        self.send_header("content-length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - the name of the base class
        """Say nothing."""


def test_openai_chat_completions(root: Path) -> None:
    from docs.examples import openai_files

    with serving(_Chat) as url, OpenAI(api_key="k", base_url=url, max_retries=0) as client:
        assert openai_files.answer_chat(client, "gpt", str(root), QUESTION) == "done"
