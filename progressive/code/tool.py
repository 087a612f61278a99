"""The tool `run_code`: one program that calls other tools, each call through the whole pipeline."""

from contextvars import ContextVar
from itertools import count
from typing import Final, cast

from anyio import to_thread
from pydantic import BaseModel, Field, JsonValue

from progressive.code.options import CodeOptions
from progressive.code.runtime import CodeRuntime, Failed, Program
from progressive.code.sdk import checker_text
from progressive.names import RUN_CODE
from tool_runtime import (
    JsonObject,
    RuntimeCode,
    TextBlock,
    Tool,
    ToolCall,
    ToolContext,
    ToolError,
    ToolResult,
)
from tool_runtime.call_queue import CallQueue
from tool_runtime.payload import encode

__all__ = ["RunCodeArgs", "run_code_tool"]

_PRINTED_CHARS_MAX: Final = 4_000
"""Of what a program printed before it failed; the end says most about the failure."""

_is_inside_program: ContextVar[bool] = ContextVar("is_inside_program", default=False)


class RunCodeArgs(BaseModel):
    """Arguments of run_code."""

    code: str = Field(description="Python: the body of an async function. `return` gives the result, any JSON value.")
    description: str = Field(description="What the program does, in a few words, for the people who watch.")


class CodeResult(BaseModel):
    """Result of run_code."""

    output: str = Field(description="What the program printed.")
    value: JsonValue = Field(description="What it returned.")
    note: str | None = None


def run_code_tool(code: CodeRuntime, options: CodeOptions | None = None) -> Tool[RunCodeArgs]:
    """Return the tool. Its definition depends on nothing but the options, so the prefix of a conversation is stable.

    Register it with `needs_listing=False`, as the discovery tools are: what its programs may call is what the
    caller's scope sees, and no more.

    Args:
        code: Where programs run.
        options: Those the sandbox was opened with.
    """
    options = options or CodeOptions()

    async def execute(args: RunCodeArgs, context: ToolContext) -> JsonValue:
        if _is_inside_program.get():
            raise ToolError(RuntimeCode.DENIED, f"{RUN_CODE}: a program cannot start another; put both into one")
        entered = _is_inside_program.set(True)
        try:
            stubs = await _stubs(args.code, context) if options.check_types else None
            ended = await code.run(Program(args.code, stubs), _Calls(context, options).run)
        finally:
            _is_inside_program.reset(entered)
        if isinstance(ended, Failed):
            raise ToolError(ended.kind, _with_printed(ended))
        note = _unawaited(ended.unawaited)
        return {"output": ended.printed, "value": ended.value, **({"note": note} if note else {})}

    return Tool(
        name=RUN_CODE,
        description=_description(options),
        parameters=RunCodeArgs,
        output=CodeResult,
        execute=execute,
        render=lambda _, value: [TextBlock(_shown(cast("JsonObject", value)))],
        example={"code": 'return await tools["exact-name"]({})', "description": "Try one tool"},
    )


class _Calls:
    """The nested calls of one program."""

    def __init__(self, context: ToolContext, options: CodeOptions) -> None:
        self._context = context
        self._numbers = count(1)
        self._queue = CallQueue(
            context.runtime, owner=context.owner, scope=context.scope, overlap_max=options.overlap_max
        )

    async def run(self, name: str, arguments: JsonValue) -> ToolResult:
        parent_id = self._context.call_id
        # What is no object is refused by the pipeline, as it is from anyone else.
        call = ToolCall(
            name, cast("JsonObject", arguments), id=f"{parent_id}.{next(self._numbers)}", parent_id=parent_id
        )
        return await self._queue.run(call)


async def _stubs(code: str, context: ToolContext) -> str:
    """Return declarations of the tools whose names the program holds; any other name it can only compute."""
    tools = context.runtime.tools(context.scope)
    named = [tool for tool in tools if tool.name in code and tool.name != RUN_CODE]
    # A program may name all of some hundred tools.
    return await to_thread.run_sync(lambda: checker_text([tool.schema() for tool in named]))


def _description(options: CodeOptions) -> str:
    return (
        "Run a Python program that calls tools and return what it printed and returned. The program is the body of an "
        "async function: use `await`, and `return` a JSON value. Each run starts afresh, without files, network or "
        "packages. Calls overlap with `await asyncio.gather(...)`; `asyncio` is imported, with `gather` and `sleep` "
        "alone. Not supported: class inheritance, generators, `async with`, `async for`, `del`, keywords of `gather`. "
        f"At most {options.timeout_s:g} s, {options.calls_max} calls and {options.output_bytes_max} bytes of output."
    )


def _shown(value: JsonObject) -> str:
    printed = cast("str", value["output"]).rstrip()
    parts = [f"Printed:\n{printed}"] if printed else []
    if value["value"] is None:
        parts.append("Returned nothing.")
    else:
        parts.append(f"Returned:\n{encode(value['value']).decode()}")
    note = value.get("note")
    return "\n\n".join([*parts, f"Note: {note}"] if isinstance(note, str) else parts)


def _unawaited(calls: int) -> str | None:
    if not calls:
        return None
    return f"{calls} tool call{'s were' if calls > 1 else ' was'} never awaited, and did not run"


def _with_printed(failed: Failed) -> str:
    printed = failed.printed.rstrip()
    if not printed:
        return failed.message
    cut = len(printed) > _PRINTED_CHARS_MAX
    head = f"Printed before (the last {_PRINTED_CHARS_MAX} characters):" if cut else "Printed before:"
    return f"{failed.message}\n\n{head}\n{printed[-_PRINTED_CHARS_MAX:]}"
