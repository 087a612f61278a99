"""A sandbox with small limits, tools for programs to call, and a look at the processes around it."""

from collections.abc import AsyncGenerator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any

import anyio
from pydantic import JsonValue

from progressive.code.monty import open_monty
from progressive.code.options import CodeOptions
from progressive.code.runtime import CodeRuntime, Failed, FailureKind, Finished, Program
from progressive.code.tool import run_code_tool
from tests.support.processes import children, command_of
from tests.support.waiting import WAIT_S
from tool_runtime import (
    JsonObject,
    ScopeId,
    TextBlock,
    Tool,
    ToolCall,
    ToolContext,
    ToolFailure,
    ToolResult,
    ToolRuntime,
    ToolSuccess,
)

MIB = 1024 * 1024


async def no_call(name: str, _arguments: JsonValue) -> ToolResult:
    return ToolFailure("UNKNOWN_TOOL", f"there is no tool {name!r}")


async def echo(name: str, arguments: JsonValue) -> ToolResult:
    return ToolSuccess({"name": name, "arguments": arguments}, ())


async def stuck(_name: str, _arguments: JsonValue) -> ToolResult:
    await anyio.sleep_forever()
    raise AssertionError("it never ends")


@dataclass
class Recorder:
    """Calls that arrived, how many of them at once, and which of them were cancelled."""

    names: list[str] = field(default_factory=list[str])
    running: int = 0
    most: int = 0
    cancelled: int = 0
    begun: anyio.Event = field(default_factory=anyio.Event)

    async def stuck(self, name: str, _arguments: JsonValue) -> ToolResult:
        self.names.append(name)
        self.begun.set()
        try:
            await anyio.sleep_forever()
        finally:
            self.cancelled += 1
        raise AssertionError("it never ends")


@asynccontextmanager
async def sandbox(**options: Any) -> AsyncGenerator[CodeRuntime]:
    """Open a sandbox whose limits, but for that of time, are small unless they are given."""
    small: dict[str, Any] = {"memory_bytes_max": 32 * MIB, "workers_max": 2}
    async with open_monty(CodeOptions(**{**small, **options})) as code:
        yield code


async def finished(code: CodeRuntime, text: str, call: Any = echo) -> Finished:
    ended = await code.run(Program(text), call)
    assert isinstance(ended, Finished), ended
    return ended


async def failed(code: CodeRuntime, text: str, call: Any = echo) -> Failed:
    ended = await code.run(Program(text), call)
    assert isinstance(ended, Failed), ended
    return ended


async def is_healthy(code: CodeRuntime) -> bool:
    """Tell whether the next program runs; where time is very short, a busy machine may need several."""
    with anyio.fail_after(WAIT_S):
        while isinstance(ended := await code.run(Program("return await tools.read({})"), echo), Failed):
            assert ended.kind is FailureKind.TIMEOUT, ended
    return ended.value == {"name": "read", "arguments": {}}


async def overran(code: CodeRuntime, text: str, call: Any, *, has_begun: Callable[[Failed], bool]) -> Failed:
    """Return how a program without an end failed: on a busy machine its time may be over before it has begun."""
    with anyio.fail_after(WAIT_S):
        while not has_begun(ended := await failed(code, text, call)):
            assert ended.kind is FailureKind.TIMEOUT, ended
    return ended


def tool(name: str, execute: Any, **fields: Any) -> Tool[Any]:
    return Tool[JsonObject](
        name=name,
        description="For tests.",
        parameters=fields.pop("parameters", {"type": "object"}),
        output={},
        execute=execute,
        render=lambda _, value: [TextBlock(str(value))],
        **fields,
    )


def answering(name: str, answer: Any = None, **fields: Any) -> Tool[Any]:
    """Return a tool that answers with its arguments, or with what it is given."""

    async def execute(arguments: JsonObject, _context: ToolContext) -> JsonValue:
        return arguments if answer is None else answer

    return tool(name, execute, **fields)


@dataclass
class Bench:
    """A runtime with run_code."""

    runtime: ToolRuntime
    code: CodeRuntime

    async def run(self, code: str, *, scope: ScopeId | None = None, owner: object = None) -> ToolResult:
        call = ToolCall("run_code", {"code": code, "description": "A test"}, id="c1")
        return await self.runtime.execute(call, scope=scope, owner=owner)

    async def value(self, code: str, **given: Any) -> Any:
        result = await self.run(code, **given)
        assert isinstance(result, ToolSuccess), result
        assert isinstance(result.value, dict)
        return result.value["value"]

    async def failure(self, code: str, **given: Any) -> ToolFailure:
        result = await self.run(code, **given)
        assert isinstance(result, ToolFailure), result
        return result


@asynccontextmanager
async def bench(*tools: Tool[Any], runtime: ToolRuntime | None = None, **options: Any) -> AsyncGenerator[Bench]:
    runtime = runtime or ToolRuntime()
    for each in tools:
        runtime.register(each)
    async with sandbox(**options) as code:
        runtime.register(run_code_tool(code, CodeOptions(**options)), needs_listing=False)
        yield Bench(runtime, code)


def interpreters() -> set[int]:
    """Return the interpreters that this process has started, once they have their name; other tests start servers."""
    return {pid for pid in children() if command_of(pid) == "monty"}
