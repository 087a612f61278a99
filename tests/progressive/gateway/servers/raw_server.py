"""A server without any library, which does what it is told, however rude. Usage: raw_server.py DIRECTORY [FLAG ...].

It lists what DIRECTORY/tools.json holds (a list of pages, each a list of definitions) and notes in DIRECTORY what
happens to it, one file for each kind of event, one line for each event.
"""

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

HOME = Path(sys.argv[1])
FLAGS = set(sys.argv[2:])


def note(kind: str, what: object = "") -> None:
    with (HOME / kind).open("a") as file:
        file.write(f"{what}\n")


def send(message: dict[str, Any]) -> None:
    sys.stdout.write(json.dumps({"jsonrpc": "2.0", **message}) + "\n")
    sys.stdout.flush()


def raw(text: str) -> None:
    sys.stdout.write(text)
    sys.stdout.flush()


def texts(*parts: str, **more: Any) -> dict[str, Any]:
    return {"content": [{"type": "text", "text": part} for part in parts], **more}


def page(cursor: str | None) -> dict[str, Any]:
    pages = json.loads((HOME / "tools.json").read_text())
    if "circle" in FLAGS:
        return {"tools": pages[0], "nextCursor": "again"}
    if "endless" in FLAGS:
        number = int(cursor or 0)
        return {"tools": [{"name": f"t{number}", "inputSchema": {"type": "object"}}], "nextCursor": str(number + 1)}
    number = int(cursor or 0)
    more = {"nextCursor": str(number + 1)} if number + 1 < len(pages) else {}
    return {"tools": pages[number], **more}


def flood(times: int) -> dict[str, Any]:
    for _ in range(times):
        send({"method": "notifications/tools/list_changed"})
    return texts("flooded")


def talk(text: str) -> dict[str, Any]:
    sys.stderr.write(f"{text}\n")
    sys.stderr.flush()
    return texts("printed")


def reply(result: dict[str, Any]) -> dict[str, Any]:
    """Return the result as it is, but for two things that cannot be asked for in JSON."""
    if "escape" in result:
        result["structuredContent"] = {"text": json.loads(f'"{result.pop("escape")}"')}
    if "number" in result:
        result["structuredContent"] = {"number": float(result.pop("number"))}
    return result


def deep(request_id: Any, levels: int) -> None:
    nested = "[" * levels + "]" * levels
    raw(f'{{"jsonrpc":"2.0","id":{json.dumps(request_id)},"result":{{"content":[],"structuredContent":{nested}}}}}\n')


RESULTS: dict[str, Callable[[dict[str, Any]], dict[str, Any] | None]] = {
    "env": lambda _args: texts(json.dumps(dict(os.environ))),
    "pid": lambda _args: texts(str(os.getpid())),
    "crash": lambda _args: os._exit(7),
    "hang": lambda _args: None,
    "huge": lambda args: raw("x" * args["size"]),
    "big": lambda args: texts("y" * args["size"]),
    "reply": lambda args: reply(args["result"]),
    "ask": lambda args: send({"id": "s1", **args}),
    "flood": lambda args: flood(args["times"]),
    "shaft": lambda args: raw("[" * args["levels"] + "\n"),
    "print": lambda args: talk(args["text"]),
}


def called(request_id: Any, name: str, args: dict[str, Any]) -> dict[str, Any] | None:
    """Return the result of a call, None to answer nothing."""
    note("calls", name)
    if name == "refuse":
        return send({"id": request_id, "error": {"code": args.get("code", -32602), "message": args["message"]}})
    if name == "deep":
        return deep(request_id, args["levels"])
    if name in RESULTS:
        return RESULTS[name](args)
    return texts(json.dumps({"name": name, "arguments": args}))


def handle(message: dict[str, Any]) -> None:
    method, request_id, params = message.get("method"), message.get("id"), message.get("params", {})
    if method == "initialize":
        capabilities = {} if "no-tools" in FLAGS else {"tools": {"listChanged": True}}
        info = {"name": "raw", "version": "1"}
        result = {"protocolVersion": params["protocolVersion"], "capabilities": capabilities, "serverInfo": info}
        send({"id": request_id, "result": result})
    elif method == "tools/list":
        note("lists")
        if "abyss" in FLAGS:
            deep(request_id, 100_000)
        else:
            send({"id": request_id, "result": page(params.get("cursor"))})
        if "die-after-list" in FLAGS:
            sys.exit(0)
    elif method == "tools/call":
        result = called(request_id, params["name"], params.get("arguments", {}))
        if result is not None:
            send({"id": request_id, "result": result})
    elif method == "notifications/cancelled":
        note("cancelled", params["requestId"])
        # The answer that nobody waits for any more.
        send({"id": params["requestId"], "result": texts("late")})
    elif method is None:
        note("answers", json.dumps(message))
    elif request_id is not None:
        send({"id": request_id, "error": {"code": -32601, "message": "no such method"}})


def main() -> None:
    note("started", os.getpid())
    if "silent" in FLAGS:
        time.sleep(600)
    if "stubborn" in FLAGS:
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
    if "child" in FLAGS:
        child = subprocess.Popen(["sleep", "600"])
        note("children", child.pid)
    if "junk" in FLAGS:
        while True:
            raw("this is no message\n")
    if "banner" in FLAGS:
        raw("Welcome to the server!\n\n\x1b[31m{\n")
    if "endless-line" in FLAGS:
        while True:
            raw("x" * 65536)
    for line in sys.stdin:
        handle(json.loads(line))
    note("ended")
    if "stubborn" in FLAGS:
        time.sleep(600)


if __name__ == "__main__":
    main()
