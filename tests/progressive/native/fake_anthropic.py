"""A server on the loopback interface that takes and refuses Messages requests as the Anthropic API does.

The rules are those of the documentation of 2026 on tool use, on tool search and on prompt caching; where a refusal was
seen in a public report its words are used. The model is a script; what it may call is checked as strictly: a tool that
is deferred must have been referred to in the transcript.
"""

import json
import re
import threading
from collections import Counter
from collections.abc import Generator, Iterator, Sequence
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, ClassVar, Final, cast

from tool_runtime.checks import DRAFT_2020_12, is_schema

__all__ = ["FakeAnthropic", "Refusal", "check_request", "loaded_names", "running"]

Block = dict[str, Any]
Turn = Sequence[Block]

_NAME: Final = re.compile(r"[a-zA-Z0-9_-]{1,128}")
_KEY: Final = re.compile(r"[a-zA-Z0-9_.-]{1,64}")
_CACHE_MARKS_MAX: Final = 4


class Refusal(Exception):
    """The API answers with status 400 and this message."""


def check_request(body: Block) -> None:
    """Raise `Refusal` where the API would refuse a request."""
    for name in ("model", "max_tokens", "messages"):
        _require(name in body, f"{name}: Field required")
    tools = body.get("tools", [])
    _check_tools(tools)
    _check_choice(body.get("tool_choice"), tools)
    turns = list(_turns(body["messages"]))
    _require(bool(turns) and turns[0][0] == "user", "messages: first message must use the `user` role")
    _check_calls(turns, has_tools=bool(tools))
    deferred = {tool["name"] for tool in tools if tool.get("defer_loading")}
    for index, (_, blocks) in enumerate(turns):
        for block in blocks:
            _check_block(block, deferred, f"messages.{index}")
    _check_marks(body)


def loaded_names(body: Block) -> set[str]:
    """Return the names that the model can call at the end of a request."""
    direct = {tool["name"] for tool in body.get("tools", []) if not tool.get("defer_loading")}
    referred = {part["tool_name"] for part in _objects(body["messages"]) if part.get("type") == "tool_reference"}
    return direct | referred


def _require(is_right: bool, message: str) -> None:
    if not is_right:
        raise Refusal(message)


def _check_tools(tools: list[Block]) -> None:
    for index, tool in enumerate(tools):
        place = f"tools.{index}.custom"
        name = tool.get("name", "")
        _require(bool(_NAME.fullmatch(name)), f"{place}.name: String should match pattern '^{_NAME.pattern}$'")
        _check_schema(tool.get("input_schema", {}), place)
        _require(
            not tool.get("defer_loading") or "cache_control" not in tool,
            f"Tool '{name}' cannot have both defer_loading=true and cache_control set.",
        )
    twice = [name for name, count in Counter(tool["name"] for tool in tools).items() if count > 1]
    _require(not twice, "tools: Tool names must be unique.")
    _require(
        not tools or any(not tool.get("defer_loading") for tool in tools),
        "At least one tool must have defer_loading=false. All tools cannot be deferred.",
    )


def _check_schema(schema: Block, place: str) -> None:
    _require(schema.get("type") == "object", f"{place}.input_schema.type: Input should be 'object'")
    _require(
        schema.keys().isdisjoint({"oneOf", "allOf", "anyOf"}),
        f"{place}.input_schema: input_schema does not support oneOf, allOf, or anyOf at the top level",
    )
    _require(
        is_schema(schema, draft=DRAFT_2020_12),
        f"{place}.input_schema: JSON schema is invalid. It must match JSON Schema draft 2020-12",
    )
    for key in schema.get("properties", {}):
        _require(
            bool(_KEY.fullmatch(key)), f"{place}.input_schema.properties: Property keys should match '^{_KEY.pattern}$'"
        )


def _check_choice(choice: Block | None, tools: list[Block]) -> None:
    if choice is not None and choice["type"] == "tool":
        names = {tool["name"] for tool in tools}
        _require(choice["name"] in names, f"tool_choice.name: Tool '{choice['name']}' not found in provided tools")


def _turns(messages: list[Block]) -> Iterator[tuple[str, list[Block]]]:
    """Yield turns: consecutive messages of a role are one."""
    role, blocks = "", list[Block]()
    for message in messages:
        if blocks and message["role"] != role:
            yield role, blocks
            blocks = []
        role, content = message["role"], message["content"]
        blocks = [*blocks, *([{"type": "text", "text": content}] if isinstance(content, str) else content)]
    if blocks:
        yield role, blocks


def _check_calls(turns: list[tuple[str, list[Block]]], *, has_tools: bool) -> None:
    waiting: list[str] = []
    is_program_waiting = False
    for index, (role, blocks) in enumerate(turns):
        place = f"messages.{index}"
        kinds = [block["type"] for block in blocks]
        _require(
            has_tools or {"tool_use", "tool_result"}.isdisjoint(kinds),
            "Requests which include `tool_use` or `tool_result` blocks must define tools",
        )
        results = [block["tool_use_id"] for block in blocks if block["type"] == "tool_result"] if role == "user" else []
        first = [block.get("tool_use_id") for block in blocks[: len(results)]]
        missing = [call_id for call_id in waiting if call_id not in first]
        _require(
            not missing,
            f"{place}: `tool_use` ids were found without `tool_result` blocks immediately after: {', '.join(missing)}. "
            "Each `tool_use` block must have a corresponding `tool_result` block in the next message.",
        )
        unexpected = [call_id for call_id in results if call_id not in waiting]
        _require(
            not unexpected,
            f"{place}: unexpected `tool_use_id` found in `tool_result` blocks: {', '.join(unexpected)}. "
            "Each `tool_result` block must have a corresponding `tool_use` block in the previous message.",
        )
        _require(len(set(results)) == len(results), f"{place}: each tool_use must have a single result.")
        _require(
            not is_program_waiting or set(kinds) == {"tool_result"},
            f"{place}: while programmatic tool calls wait, a message must contain only `tool_result` blocks",
        )
        is_program_waiting = any(block.get("caller", {"type": "direct"})["type"] != "direct" for block in blocks)
        waiting = [block["id"] for block in blocks if block["type"] == "tool_use"]
        _require(len(set(waiting)) == len(waiting), f"{place}: `tool_use` ids must be unique")
    _require(not waiting, "messages: `tool_use` ids were found without `tool_result` blocks immediately after")


def _check_block(block: Block, deferred: set[str], place: str) -> None:
    if block["type"] == "text":
        _require(bool(block["text"]), f"{place}: text content blocks must be non-empty")
        _require(bool(block["text"].strip()), f"{place}: text content blocks must contain non-whitespace text")
    if block["type"] == "tool_search_tool_result":
        references = cast("list[Block]", block["content"].get("tool_references", []))
    elif block["type"] == "tool_result" and isinstance(block.get("content", ""), list):
        content = cast("list[Block]", block["content"])
        _require(bool(content), f"{place}.tool_result.content: List should have at least 1 item")
        _require(
            not block.get("is_error") or all(part["type"] == "text" for part in content),
            f"{place}: all content must be type 'text' if 'is_error' is true",
        )
        _require(
            all(part["text"] for part in content if part["type"] == "text"),
            f"{place}: text content blocks must be non-empty",
        )
        references = [part for part in content if part["type"] == "tool_reference"]
        _require(
            not references or len(references) == len(content),
            f"{place}.tool_result.content: tool_reference blocks cannot be mixed with other content",
        )
    else:
        return
    for reference in references:
        name = reference["tool_name"]
        _require(name in deferred, f"Tool reference '{name}' not found in available tools")


def _check_marks(body: Block) -> None:
    parts = [part for key in ("tools", "system", "messages") for part in _objects(body.get(key))]
    marks = [mark for part in parts if (mark := part.get("cache_control")) is not None]
    count = len(marks) + (body.get("cache_control") is not None)
    _require(count <= _CACHE_MARKS_MAX, f"A maximum of 4 blocks with cache_control may be provided. Found {count}.")
    lifetimes = [mark.get("ttl", "5m") for mark in marks]
    _require(
        lifetimes == sorted(lifetimes),  # "1h" before "5m"
        "a ttl='1h' cache_control block must not come after a ttl='5m' cache_control block. Note that blocks are "
        "processed in the following order: `tools`, `system`, `messages`.",
    )


def _objects(value: object) -> Iterator[Block]:
    """Yield all objects of a request, the inner ones first, but not the arguments of calls and what is in schemas."""
    if isinstance(value, dict):
        part = cast("Block", value)
        for key, child in part.items():
            if key not in {"input", "input_schema"}:
                yield from _objects(child)
        yield part
    elif isinstance(value, list):
        for child in cast("list[object]", value):
            yield from _objects(child)


class FakeAnthropic:
    """The server.

    Attributes:
        requests: Bodies of the requests that were not refused, in order.
    """

    def __init__(self, turns: Sequence[Turn]) -> None:
        """Answer one request after the other with what the model says in these turns."""
        self.requests: list[Block] = []
        self.base_url = ""
        self._turns = list(turns)
        self._threads: dict[str, Block] = {}
        self._lock = threading.Lock()

    def answer(self, body: Block) -> Block:
        """Return the message that answers a request.

        Raises:
            Refusal: The API would refuse it.
        """
        body = self._with_thread(body)
        check_request(body)
        with self._lock:
            self.requests.append(body)
            number = len(self.requests)
            blocks = [dict(block) for block in self._turns[number - 1]]
        for index, block in enumerate(blocks):
            if block["type"] == "tool_use":
                block.setdefault("id", f"toolu_{number}_{index}")
                if block["name"] not in loaded_names(body):
                    raise AssertionError(f"the model cannot know {block['name']} here")
        calls = any(block["type"] == "tool_use" for block in blocks)
        self._threads[f"msg_{number}"] = {
            **body,
            "messages": [*body["messages"], {"role": "assistant", "content": blocks}],
        }
        return {
            "id": f"msg_{number}",
            "type": "message",
            "role": "assistant",
            "model": body["model"],
            "content": blocks,
            "stop_reason": "tool_use" if calls else "end_turn",
            "stop_sequence": None,
            "usage": {"input_tokens": 1, "output_tokens": 1},
        }

    def _with_thread(self, body: Block) -> Block:
        """Return a request with what the server keeps of its thread, as the SDK's tool runner relies on."""
        thread: Block = body.get("thread", {})
        if thread.get("type") != "continue":
            return body
        before = self._threads[thread["previous_message_id"]]
        return {**before, **body, "messages": [*before["messages"], *body["messages"]]}


def _events(message: Block) -> Iterator[Block]:
    yield {"type": "message_start", "message": {**message, "content": [], "stop_reason": None}}
    for index, block in enumerate(message["content"]):
        if block["type"] == "text":
            start: Block = {**block, "text": ""}
            delta: Block = {"type": "text_delta", "text": block["text"]}
        else:
            start = {**block, "input": {}}
            delta = {"type": "input_json_delta", "partial_json": json.dumps(block["input"])}
        yield {"type": "content_block_start", "index": index, "content_block": start}
        yield {"type": "content_block_delta", "index": index, "delta": delta}
        yield {"type": "content_block_stop", "index": index}
    end = {"stop_reason": message["stop_reason"], "stop_sequence": None}
    yield {"type": "message_delta", "delta": end, "usage": {"output_tokens": 1}}
    yield {"type": "message_stop"}


class _Handler(BaseHTTPRequestHandler):
    fake: ClassVar[FakeAnthropic]

    def do_POST(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers["content-length"])))
        try:
            message = self.fake.answer(body)
        except Refusal as error:
            self._send(400, _error("invalid_request_error", str(error)))
        except AssertionError as error:
            self._send(500, _error("api_error", str(error)))
        else:
            if body.get("stream"):
                lines = (f"event: {event['type']}\ndata: {json.dumps(event)}\n\n" for event in _events(message))
                self._send_bytes(200, "".join(lines).encode(), "text/event-stream")
            else:
                self._send(200, message)

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - as http.server names it
        """Say nothing: what matters is in the answers."""

    def _send(self, status: int, body: Block) -> None:
        self._send_bytes(status, json.dumps(body).encode(), "application/json")

    def _send_bytes(self, status: int, payload: bytes, content_type: str) -> None:
        self.send_response(status)
        self.send_header("content-type", content_type)
        self.send_header("content-length", str(len(payload)))
        self.end_headers()
        self.wfile.write(payload)


def _error(kind: str, message: str) -> Block:
    return {"type": "error", "error": {"type": kind, "message": message}, "request_id": "req_1"}


@contextmanager
def running(turns: Sequence[Turn]) -> Generator[FakeAnthropic]:
    """Run a server on a free port of the loopback interface until the block ends."""
    fake = FakeAnthropic(turns)
    handler = type("Handler", (_Handler,), {"fake": fake})
    with ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        fake.base_url = f"http://127.0.0.1:{server.server_port}"
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        try:
            yield fake
        finally:
            server.shutdown()
            thread.join()
