"""An MCP server of a thousand tools without any library. Usage: rude_server.py steady|renaming|crashing|slow."""

import json
import os
import sys
import threading
import time
from typing import Any

TOOLS = 1_000
RENAME_PERIOD_S = 0.2
LIFE_S = 0.3
THINKING_S = 1.0


def main(manner: str) -> None:
    if manner == "renaming":
        threading.Thread(target=_rename, daemon=True).start()
    for line in sys.stdin:
        message = json.loads(line)
        if manner == "slow":
            time.sleep(THINKING_S)
        result = _answer(message)
        if "id" in message:
            _send({"id": message["id"], "result": result})
        if manner == "crashing" and message.get("method") == "tools/list":
            time.sleep(LIFE_S)
            os._exit(1)


def _answer(message: dict[str, Any]) -> dict[str, Any]:
    match message["method"]:
        case "initialize":
            version = message["params"]["protocolVersion"]
            capabilities = {"tools": {"listChanged": True}}
            return {
                "protocolVersion": version,
                "capabilities": capabilities,
                "serverInfo": {"name": "r", "version": "1"},
            }
        case "tools/list":
            return {"tools": _tools(round(time.monotonic() / RENAME_PERIOD_S))}
        case "tools/call":
            return {"content": [{"type": "text", "text": "done"}]}
        case _:
            return {}


def _tools(generation: int) -> list[dict[str, Any]]:
    place = {"type": "string", "description": "Where to look, as a path below the root of the project"}
    schema = {"type": "object", "properties": {"place": place, "depth": {"type": "integer"}}, "required": ["place"]}
    return [
        {
            "name": f"tool_{generation}_{number}",
            "description": f"Looks for {number} things. " * 10,
            "inputSchema": schema,
        }
        for number in range(TOOLS)
    ]


def _rename() -> None:
    while True:
        time.sleep(RENAME_PERIOD_S)
        _send({"method": "notifications/tools/list_changed"})


def _send(message: dict[str, Any]) -> None:
    sys.stdout.write(json.dumps({"jsonrpc": "2.0", **message}) + "\n")
    sys.stdout.flush()


if __name__ == "__main__":
    main(sys.argv[1])
