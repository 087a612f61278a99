"""Public sets of tools and requests, as catalogs of real tools. See the data folder's README for sources."""

import hashlib
import json
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from pydantic import JsonValue

from tool_runtime import JsonObject, TextBlock, Tool, ToolContext

Half = Literal["tuning", "held-out"]


@dataclass(frozen=True, slots=True)
class Request:
    """A request and the names of the tools any of which answers it."""

    query: str
    answers: frozenset[str]
    half: Half


@dataclass(frozen=True, slots=True)
class Corpus:
    name: str
    tools: tuple[Tool[Any], ...]
    requests: tuple[Request, ...]


def corpora(data: Path) -> list[Corpus]:
    """Load all sets.

    Raises:
        FileNotFoundError: The folder, or a file of it, does not exist.
    """
    live, meta = data / "livemcpbench", data / "metatool"
    tools = tuple(_live_tools(live / "tools.json"))
    return [
        Corpus("LiveMCPBench, steps", tools, tuple(_live_steps(live / "tasks.jsonl"))),
        Corpus("LiveMCPBench, questions", tools, tuple(_live_questions(live / "tasks.jsonl"))),
        Corpus("MetaTool", tuple(_meta_tools(meta / "plugin_des.json")), tuple(_meta_queries(meta / "queries.jsonl"))),
    ]


def half_of(key: str) -> Half:
    """Return the half a request belongs to: by its task's id or its own text, so that it never changes sides."""
    return "tuning" if hashlib.sha256(key.encode()).digest()[0] % 2 == 0 else "held-out"


def _live_tools(path: Path) -> Iterator[Tool[Any]]:
    for entry in json.loads(path.read_bytes()):
        for server in entry["tools"].values():
            for tool in server["tools"]:
                yield _tool(tool["name"], tool["description"] or "", tool["inputSchema"] or {})


def _live_steps(path: Path) -> Iterator[Request]:
    for task in _lines(path):
        # Only then does step i belong to tool i.
        if len(task["steps"]) == len(task["tools"]):
            for step, name in zip(task["steps"], task["tools"], strict=True):
                yield Request(step, frozenset([name]), half_of(task["task_id"]))


def _live_questions(path: Path) -> Iterator[Request]:
    for task in _lines(path):
        yield Request(task["question"], frozenset(task["tools"]), half_of(task["task_id"]))


def _meta_tools(path: Path) -> Iterator[Tool[Any]]:
    for name, description in json.loads(path.read_bytes()).items():
        yield _tool(name, description, {"type": "object"})


def _meta_queries(path: Path) -> Iterator[Request]:
    for line in _lines(path):
        yield Request(line["query"], frozenset([line["tool"]]), half_of(line["query"]))


def _lines(path: Path) -> Iterator[dict[str, Any]]:
    with path.open(encoding="utf-8") as lines:
        yield from map(json.loads, lines)


def _tool(name: str, description: str, schema: JsonObject) -> Tool[Any]:
    return Tool(
        name=name, description=description, parameters=schema, output={}, execute=_never_called, render=_nothing_shown
    )


async def _never_called(_args: JsonObject, _ctx: ToolContext) -> JsonValue:
    raise AssertionError("retrieval calls no tool")


def _nothing_shown(_args: JsonObject, _value: JsonValue) -> list[TextBlock]:
    return []
