"""What a program costs and what it saves: `python -m benchmarks.disclosure.code [--rounds N]`.

A call of a tool that does nothing, and a program that returns at once or makes that call, take turns within one run,
warm: the sandbox has a process ready. Then files on a store with a round trip of 20 ms are edited, all at once in one
program, one by one in one program, and one by one by calls of their own.
"""

import argparse
import json
import sys
import time
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import asdict, dataclass
from functools import partial
from statistics import median, quantiles

import anyio
from pydantic import JsonValue

from fs_core.session import FileSession
from fs_core.testing.latency import LatencyBackend
from fs_core.testing.memory import MemoryBackend, MemoryStore
from progressive.code.monty import open_monty
from progressive.code.tool import run_code_tool
from seamfs.config import Settings
from seamfs.workspace import Workspace
from tool_runtime import JsonObject, Tool, ToolContext, ToolSuccess

_WARMING_UP = 20
_FILES = (3, 10)
_ROUND_TRIP_S = 0.02
_EDIT_ROUNDS = 5
_PROGRAMS = {
    "program that returns": "return None",
    "program with one call": "return await tools.nothing({})",
    "program with ten calls at once": (
        "import asyncio\nreturn await asyncio.gather(*[tools.nothing({}) for _ in range(10)])"
    ),
}
_DIRECT = "direct call"
_AT_ONCE = """
import asyncio
old, new = "version {0}", "version {1}"
await asyncio.gather(*[tools.edit({{"file_path": name, "old_string": old, "new_string": new}}) for name in {2}])
"""
_ONE_BY_ONE = """
old, new = "version {0}", "version {1}"
for name in {2}:
    await tools.edit({{"file_path": name, "old_string": old, "new_string": new}})
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class Overhead:
    """Milliseconds of one call of `what`."""

    what: str
    p50_ms: float
    p95_ms: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Edits:
    """Milliseconds in which `files` files are edited, medians."""

    files: int
    at_once_ms: float
    one_by_one_ms: float
    direct_ms: float


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.disclosure.code", description=__doc__)
    parser.add_argument("--rounds", type=int, default=300, help="how often calls and programs take turns")
    options = parser.parse_args(arguments)
    overheads, edits = anyio.run(measure, options.rounds)
    for figure in (*overheads, *edits):
        print(json.dumps(asdict(figure)))
    print(table(overheads, edits))
    return 0


async def measure(rounds: int) -> tuple[list[Overhead], list[Edits]]:
    store = MemoryStore()
    workspace = Workspace(LatencyBackend(MemoryBackend(store), delay_s=_ROUND_TRIP_S), settings=Settings())
    workspace.tools.register(_nothing())
    async with open_monty() as sandbox:
        workspace.tools.register(run_code_tool(sandbox))
        return await _overheads(workspace, rounds), [await _edits(workspace, store, files) for files in _FILES]


async def _overheads(workspace: Workspace, rounds: int) -> list[Overhead]:
    session = workspace.session()
    arms: dict[str, tuple[str, dict[str, JsonValue]]] = {_DIRECT: ("nothing", {})}
    arms |= {what: ("run_code", {"code": code, "description": "Measures."}) for what, code in _PROGRAMS.items()}
    times_ms: dict[str, list[float]] = {what: [] for what in arms}
    for number in range(_WARMING_UP + rounds):
        for what, (name, given) in arms.items():
            took_ms = await _timed_ms(partial(_done, workspace, session, name, given))
            if number >= _WARMING_UP:
                times_ms[what].append(took_ms)
    return [
        Overhead(what=what, p50_ms=median(each), p95_ms=quantiles(each, n=20)[-1]) for what, each in times_ms.items()
    ]


async def _edits(workspace: Workspace, store: MemoryStore, files: int) -> Edits:
    session = workspace.session()
    names = [str(number) for number in range(files)]
    for name in names:
        store.put(name, b"version 0\n")
        await _done(workspace, session, "read", {"file_path": name})

    async def program(code: str, version: int) -> None:
        given: dict[str, JsonValue] = {"code": code.format(version, version + 1, names), "description": "Measures."}
        await _done(workspace, session, "run_code", given)

    async def direct(version: int) -> None:
        for name in names:
            given: dict[str, JsonValue] = {
                "file_path": name,
                "old_string": f"version {version}",
                "new_string": f"version {version + 1}",
            }
            await _done(workspace, session, "edit", given)

    arms = (partial(program, _AT_ONCE), partial(program, _ONE_BY_ONE), direct)
    times_ms = [
        [await _timed_ms(partial(arm, number * len(arms) + place)) for place, arm in enumerate(arms)]
        for number in range(_EDIT_ROUNDS)
    ]
    at_once_ms, one_by_one_ms, direct_ms = map(median, zip(*times_ms, strict=True))
    return Edits(files=files, at_once_ms=at_once_ms, one_by_one_ms=one_by_one_ms, direct_ms=direct_ms)


async def _done(workspace: Workspace, session: FileSession, name: str, given: dict[str, JsonValue]) -> None:
    result = await workspace.call(session, name, given)
    if not isinstance(result, ToolSuccess):
        raise RuntimeError(result.text)  # noqa: TRY004 - a refused call makes the figures worthless


async def _timed_ms(work: Callable[[], Awaitable[None]]) -> float:
    started_s = time.perf_counter()
    await work()
    return (time.perf_counter() - started_s) * 1_000


def _nothing() -> Tool[JsonObject]:
    async def execute(_arguments: JsonObject, _context: ToolContext) -> JsonValue:
        return None

    return Tool[JsonObject](
        name="nothing",
        description="Does nothing.",
        parameters={"type": "object"},
        output={},
        execute=execute,
        render=lambda _, _value: [],
        concurrency_safe=lambda _: True,
    )


def table(overheads: Sequence[Overhead], edits: Sequence[Edits]) -> str:
    """Return the tables of the page."""
    lines = ["| call | p50 | p95 |", "|---|---:|---:|"]
    lines += [f"| {each.what} | {each.p50_ms:.2f} ms | {each.p95_ms:.2f} ms |" for each in overheads]
    lines += [
        "",
        "| files edited | at once, in a program | one by one, in a program | one by one, direct calls "
        "| at once / direct |",
        "|---:|---:|---:|---:|---:|",
    ]
    lines += [
        f"| {each.files} | {each.at_once_ms:.0f} ms | {each.one_by_one_ms:.0f} ms | {each.direct_ms:.0f} ms "
        f"| {each.at_once_ms / each.direct_ms:.3f} |"
        for each in edits
    ]
    return "\n".join(lines)


if __name__ == "__main__":
    sys.exit(main())
