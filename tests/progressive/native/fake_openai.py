"""A small server that speaks the OpenAI Responses API on loopback: it refuses what the real one refuses.

Its model follows a script, and can call only what a request made callable.
"""

import json
from collections.abc import Generator, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler
from itertools import count
from typing import Any

from tests.progressive.native.openai_rules import Accepted, Refusal, accepted
from tests.support.web_servers import serving

__all__ = ["Call", "FakeOpenAI", "Say", "Search"]

BOTH_FORMS = frozenset({"additional_tools", "tool_search"})


@dataclass(frozen=True)
class Say:
    """The model says something."""

    text: str


@dataclass(frozen=True)
class Call:
    """The model calls a function."""

    name: str
    arguments: dict[str, Any]


@dataclass(frozen=True)
class Search:
    """The model asks for a tool search of the client."""

    arguments: dict[str, Any]


Act = Say | Call | Search


@dataclass
class FakeOpenAI:
    """The server's state.

    Attributes:
        turns: What the model does, request by request.
        forms: Which ways to load tools the model supports.
        requests: Every request that came, refused or not.
        refusals: Messages of the refusals.
    """

    turns: Sequence[Sequence[Act]]
    forms: frozenset[str] = BOTH_FORMS
    requests: list[dict[str, Any]] = field(default_factory=list[dict[str, Any]])
    refusals: list[str] = field(default_factory=list[str])
    _kept: dict[str, list[dict[str, Any]]] = field(default_factory=dict[str, list[dict[str, Any]]])
    _turn: Iterator[int] = field(default_factory=count)
    _ids: Iterator[int] = field(default_factory=lambda: count(1))

    @contextmanager
    def running(self) -> Generator[str]:
        """Serve until the end of the block; gives the base URL for a client."""
        handler = type("Handler", (_Handler,), {"fake": self})
        with serving(handler) as url:
            yield f"{url}/v1"

    def respond(self, body: dict[str, Any]) -> dict[str, Any]:
        """Answer one request.

        Raises:
            Refusal: The API would refuse it.
        """
        self.requests.append(body)
        try:
            before = self._before(body)
            allowed = accepted(body, before, self.forms)
        except Refusal as refusal:
            self.refusals.append(str(refusal))
            raise
        output = [self._item(act, allowed) for act in self.turns[next(self._turn)]]
        response = _response(f"resp_{next(self._ids)}", body, output)
        given = body.get("input", [])
        items = [{"role": "user", "content": given}] if isinstance(given, str) else given
        self._kept[response["id"]] = [*before, *items, *output]
        return response

    def _before(self, body: dict[str, Any]) -> list[dict[str, Any]]:
        previous = body.get("previous_response_id")
        if previous is None:
            return []
        if previous not in self._kept:
            text = f"Previous response with id '{previous}' not found."
            raise Refusal(text, "previous_response_id", "previous_response_not_found")
        return self._kept[previous]

    def _item(self, act: Act, allowed: Accepted) -> dict[str, Any]:
        number = next(self._ids)
        match act:
            case Say(text):
                part: dict[str, Any] = {"type": "output_text", "text": text, "annotations": [], "logprobs": []}
                message = {"type": "message", "role": "assistant", "status": "completed"}
                return {"id": f"msg_{number}", **message, "content": [part]}
            case Search(arguments):
                search = {"type": "tool_search_call", "execution": "client", "status": "completed"}
                return {"id": f"tsc_{number}", "call_id": f"call_{number}", "arguments": arguments, **search}
            case Call(name, arguments):
                if name not in allowed.namespaces:
                    raise LookupError(f"the model cannot call {name}; it sees {', '.join(allowed.namespaces)}")
                call = {"type": "function_call", "name": name, "arguments": json.dumps(arguments)}
                namespace = allowed.namespaces[name]
                where = {} if namespace is None else {"namespace": namespace}
                return {"id": f"fc_{number}", "call_id": f"call_{number}", "status": "completed", **call, **where}


class _Handler(BaseHTTPRequestHandler):
    fake: FakeOpenAI

    def do_POST(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        try:
            response = self.fake.respond(body)
        except Refusal as refusal:
            return self._send(400, "application/json", json.dumps({"error": refusal.error}))
        except LookupError as error:
            fault = {"message": str(error), "type": "server_error", "param": None, "code": None}
            return self._send(500, "application/json", json.dumps({"error": fault}))
        if body.get("stream"):
            return self._send(200, "text/event-stream", "".join(_events(response)))
        return self._send(200, "application/json", json.dumps(response))

    def _send(self, status: int, kind: str, text: str) -> None:
        data = text.encode()
        self.send_response(status)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - the name of the base class
        pass


def _response(response_id: str, body: dict[str, Any], output: list[dict[str, Any]]) -> dict[str, Any]:
    return {
        "id": response_id,
        "object": "response",
        "created_at": 1_790_000_000,
        "status": "completed",
        "error": None,
        "incomplete_details": None,
        "instructions": body.get("instructions"),
        "metadata": {},
        "model": body["model"],
        "output": output,
        "parallel_tool_calls": True,
        "temperature": 1.0,
        "tool_choice": body.get("tool_choice", "auto"),
        "tools": body.get("tools", []),
        "top_p": 1.0,
    }


def _events(response: dict[str, Any]) -> Iterator[str]:
    """Give the events of a stream that ends with a response."""
    numbers = count()

    def event(kind: str, **fields: Any) -> str:
        data = {"type": kind, "sequence_number": next(numbers), **fields}
        return f"event: {kind}\ndata: {json.dumps(data)}\n\n"

    yield event("response.created", response={**response, "status": "in_progress", "output": []})
    for index, item in enumerate(response["output"]):
        yield from _item_events(event, index, item)
    yield event("response.completed", response=response)


def _item_events(event: Any, index: int, item: dict[str, Any]) -> Iterator[str]:
    at: dict[str, Any] = {"output_index": index, "item_id": item["id"]}
    match item["type"]:
        case "function_call":
            yield event("response.output_item.added", output_index=index, item={**item, "arguments": ""})
            half = len(item["arguments"]) // 2
            for part in (item["arguments"][:half], item["arguments"][half:]):
                yield event("response.function_call_arguments.delta", delta=part, **at)
            yield event("response.function_call_arguments.done", arguments=item["arguments"], name=item["name"], **at)
        case "message":
            part = item["content"][0]
            yield event("response.output_item.added", output_index=index, item={**item, "content": []})
            yield event("response.content_part.added", content_index=0, part={**part, "text": ""}, **at)
            yield event("response.output_text.delta", content_index=0, delta=part["text"], logprobs=[], **at)
            yield event("response.output_text.done", content_index=0, text=part["text"], logprobs=[], **at)
            yield event("response.content_part.done", content_index=0, part=part, **at)
        case _:
            yield event("response.output_item.added", output_index=index, item=item)
    yield event("response.output_item.done", output_index=index, item=item)
