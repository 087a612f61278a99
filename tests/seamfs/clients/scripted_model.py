"""A Messages endpoint on loopback whose model is a script, and that keeps what the model was shown."""

import json
import threading
from collections.abc import Callable, Generator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, ClassVar, Final, cast

__all__ = ["ScriptedModel", "Step", "running"]

Block = dict[str, Any]

LAST_WORDS: Final = "That is all."


@dataclass(frozen=True, slots=True)
class Step:
    """One tool call of the model. `before` happens in the world before the model asks for it."""

    tool: str
    arguments: Block
    before: Callable[[], object] | None = None


@dataclass(slots=True, eq=False)
class ScriptedModel:
    """The script, and what the client made of it.

    A client asks for titles and summaries beside its session; a request that declares none of our tools is one of
    those.

    Attributes:
        prefix: What the client puts before the name of a tool of ours.
        steps: The calls, one a turn.
        declared: The tools that the client declared, by our names.
        shown: For each step the text that its result was to the model, and whether it was marked as an error.
        faults: What the script could not make sense of.
    """

    prefix: str
    steps: Sequence[Step]
    declared: dict[str, Block] = field(default_factory=dict[str, Block])
    shown: dict[int, tuple[str, bool]] = field(default_factory=dict[int, tuple[str, bool]])
    faults: list[str] = field(default_factory=list[str])
    lock: threading.Lock = field(default_factory=threading.Lock)
    _begun: set[int] = field(default_factory=set[int])

    def answer(self, request: Block) -> Block:
        """Return the block that the model answers a request with."""
        tools: list[Block] = request.get("tools") or []
        ours = {tool["name"].removeprefix(self.prefix): tool for tool in tools if tool["name"].startswith(self.prefix)}
        if not ours:
            return _text("A title")
        self.declared.update(ours)
        results = _results(request["messages"])
        if results:
            self.shown[len(results) - 1] = results[-1]
        if len(results) >= len(self.steps):
            return _text(LAST_WORDS)
        step = self.steps[len(results)]
        if step.tool not in ours:
            self.faults.append(f"{step.tool} is not declared, but {sorted(ours)}")
            return _text(LAST_WORDS)
        # A client may send a request again; the world changes once.
        if step.before is not None and len(results) not in self._begun:
            self._begun.add(len(results))
            try:
                step.before()
            except Exception as error:  # noqa: BLE001 - it happens in a thread of the endpoint; the test looks at faults
                self.faults.append(f"before {step.tool}: {error!r}")
                return _text(LAST_WORDS)
        return {
            "type": "tool_use",
            "id": f"toolu_{len(results):04}",
            "name": self.prefix + step.tool,
            "input": step.arguments,
        }


def _text(text: str) -> Block:
    return {"type": "text", "text": text}


def _results(messages: list[Block]) -> list[tuple[str, bool]]:
    """Return the results of tools that a conversation holds, in order."""
    contents: list[str | list[Block]] = [turn["content"] for turn in messages]
    blocks = [block for content in contents if not isinstance(content, str) for block in content]
    return [
        (_text_of(block.get("content", "")), bool(block.get("is_error")))
        for block in blocks
        if block["type"] == "tool_result"
    ]


def _text_of(content: str | list[Block]) -> str:
    if isinstance(content, str):
        return content
    return "\n".join(str(block.get("text", f"({block['type']})")) for block in content)


def _events(block: Block, model: str) -> Generator[Block]:
    """Yield one answer as the API streams it."""
    usage = {"input_tokens": 10, "output_tokens": 10}
    message = {"id": "msg_1", "type": "message", "role": "assistant", "model": model, "usage": usage}
    yield {"type": "message_start", "message": {**message, "content": [], "stop_reason": None, "stop_sequence": None}}
    if block["type"] == "text":
        begun: Block = {"text": ""}
        delta = {"type": "text_delta", "text": block["text"]}
    else:
        begun = {"input": {}}
        delta = {"type": "input_json_delta", "partial_json": json.dumps(block["input"])}
    yield {"type": "content_block_start", "index": 0, "content_block": {**block, **begun}}
    yield {"type": "content_block_delta", "index": 0, "delta": delta}
    yield {"type": "content_block_stop", "index": 0}
    stop = {"stop_reason": _stop_reason(block), "stop_sequence": None}
    yield {"type": "message_delta", "delta": stop, "usage": {"output_tokens": 10}}
    yield {"type": "message_stop"}


def _stop_reason(block: Block) -> str:
    return "tool_use" if block["type"] == "tool_use" else "end_turn"


def _message(block: Block, model: str) -> Block:
    """Return one answer as the API gives it whole."""
    start = next(_events(block, model))["message"]
    return {**start, "content": [block], "stop_reason": _stop_reason(block)}


class _Endpoint(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    model: ClassVar[ScriptedModel]

    def do_HEAD(self) -> None:
        self.send("text/plain", b"")

    def do_POST(self) -> None:
        body: Block = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        path = self.path.partition("?")[0]
        if path.endswith("/count_tokens"):
            self.send("application/json", b'{"input_tokens": 10}')
        elif not path.endswith("/messages"):
            self.send_error(404)
        else:
            with self.model.lock:
                block = self.model.answer(body)
            if body.get("stream"):
                events = _events(block, body["model"])
                lines = [f"event: {event['type']}\ndata: {json.dumps(event)}\n\n" for event in events]
                self.send("text/event-stream", "".join(lines).encode())
            else:
                self.send("application/json", json.dumps(_message(block, body["model"])).encode())

    def send(self, kind: str, data: bytes) -> None:
        self.send_response(200)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - the name of the base class
        pass


@contextmanager
def running(model: ScriptedModel) -> Generator[str]:
    """Answer for a model on a free loopback port until the block ends; yields the address."""
    endpoint = cast("type[_Endpoint]", type("Endpoint", (_Endpoint,), {"model": model}))
    with ThreadingHTTPServer(("127.0.0.1", 0), endpoint) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        try:
            yield f"http://127.0.0.1:{server.server_port}"
        finally:
            server.shutdown()
            thread.join()
