"""Small tools for a catalog, and calls of the discovery tools."""

from typing import Any, cast

from pydantic import JsonValue

from tool_runtime import (
    GLOBAL,
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

NO_PARAMETERS: JsonObject = {"type": "object", "properties": {}}


def plain_tool(
    name: str,
    description: str = "",
    parameters: JsonObject = NO_PARAMETERS,
    *,
    concurrency_safe: bool = False,
    ran: list[str] | None = None,
) -> Tool[Any]:
    """Return a tool that answers with its own name and arguments, and notes in `ran` that it did."""

    async def execute(arguments: JsonObject, _context: ToolContext) -> JsonValue:
        if ran is not None:
            ran.append(name)
        return {"tool": name, "arguments": arguments}

    return Tool[JsonObject](
        name=name,
        description=description,
        parameters=parameters,
        output={},
        execute=execute,
        render=lambda _, value: [TextBlock(str(value))],
        concurrency_safe=lambda _: concurrency_safe,
    )


async def called(runtime: ToolRuntime, name: str, scope: ScopeId = GLOBAL, /, **arguments: Any) -> ToolResult:
    return await runtime.execute(ToolCall(name, arguments, id="c1"), scope=scope)


async def value_of(runtime: ToolRuntime, name: str, scope: ScopeId = GLOBAL, /, **arguments: Any) -> Any:
    result = await called(runtime, name, scope, **arguments)
    assert isinstance(result, ToolSuccess), result
    return result.value


async def failure_of(runtime: ToolRuntime, name: str, scope: ScopeId = GLOBAL, /, **arguments: Any) -> ToolFailure:
    result = await called(runtime, name, scope, **arguments)
    assert isinstance(result, ToolFailure), result
    return result


def found_names(value: Any) -> list[str]:
    return [cast("str", match["name"]) for match in value["matches"]]
