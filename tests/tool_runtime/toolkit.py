"""Small tools that the runtime's tests call."""

from collections.abc import Awaitable, Callable, Mapping
from typing import Any

from pydantic import BaseModel, JsonValue

from tool_runtime import TextBlock, Tool, ToolAnnotations, ToolCall, ToolContext, ToolFailure, ToolResult, ToolSuccess

Body = Callable[["Echo", ToolContext], Awaitable[JsonValue | ToolResult]]


CAUTIOUS = ToolAnnotations()


class Echo(BaseModel):
    text: str = "hello"
    times: int = 1


class Echoed(BaseModel):
    text: str


async def echo(args: Echo, ctx: ToolContext) -> JsonValue:
    return {"text": args.text * args.times}


def show(args: Any, value: JsonValue) -> list[TextBlock]:
    return [TextBlock(f"shown: {value}")]


def echo_tool(
    name: str = "echo",
    *,
    execute: Body = echo,
    output: type[BaseModel] | Mapping[str, JsonValue] = Echoed,
    render: Callable[[Any, JsonValue], list[TextBlock]] = show,
    concurrency_safe: Callable[[Echo], bool] = lambda _args: False,
    concurrency_key: Callable[[Echo], str | None] = lambda _args: None,
    timeout_s: float | None = None,
    annotations: ToolAnnotations = CAUTIOUS,
    description: str = "Repeats a text.",
) -> Tool[Echo]:
    return Tool(
        name=name,
        description=description,
        parameters=Echo,
        output=output,
        execute=execute,
        render=render,
        concurrency_safe=concurrency_safe,
        concurrency_key=concurrency_key,
        timeout_s=timeout_s,
        annotations=annotations,
        example={"text": "hi", "times": 2},
    )


def call(name: str = "echo", /, *, call_id: str = "c1", **arguments: JsonValue) -> ToolCall:
    return ToolCall(name, arguments, id=call_id)


def failure(result: ToolResult) -> ToolFailure:
    assert isinstance(result, ToolFailure), result
    return result


def success(result: ToolResult) -> ToolSuccess:
    assert isinstance(result, ToolSuccess), result
    return result
