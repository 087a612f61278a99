"""A definition as a tool of the runtime."""

from __future__ import annotations

import json
from collections.abc import Awaitable, Callable, Sequence
from typing import Any

from mcp import types
from pydantic import JsonValue

from progressive.gateway._definitions import Definition
from progressive.gateway._results import content_of, failure_of, value_of
from progressive.gateway._secrets import Secrets
from progressive.gateway.codes import GatewayCode
from progressive.gateway.options import GatewayOptions
from tool_runtime import ContentBlock, JsonObject, RuntimeCode, TextBlock, Tool, ToolContext, ToolError, ToolSuccess
from tool_runtime.payload import NotJsonError, encode
from tool_runtime.problems import MismatchError

__all__ = ["Caller", "ToolMaker"]

_PROBLEMS_SHOWN_MAX = 5

Caller = Callable[[Definition, JsonObject], Awaitable[types.CallToolResult]]
"""Calls a tool on its server; raises `ToolError` when there is no answer."""


class ToolMaker:
    """Makes the tools of one server."""

    def __init__(self, *, server: str, call: Caller, secrets: Secrets, options: GatewayOptions) -> None:
        self._server = server
        self._call = call
        self._secrets = secrets
        self._options = options

    def tool(self, name: str, definition: Definition) -> Tool[JsonObject]:
        """Return a tool.

        Calls that a client sends one by one are handed on at once: a server that hangs holds up nobody. In one turn,
        tools that claim to change nothing may overlap; the rest of a server's go one after the other.

        Raises:
            ValueError: The schema of its parameters is not valid.
        """
        try:
            return self._made(name, definition, definition.output)
        except ValueError:
            if not definition.output:
                raise
        # If it was the output schema, it goes: what it would have promised is not worth the tool.
        return self._made(name, definition, {})

    def _made(self, name: str, definition: Definition, output: JsonObject) -> Tool[JsonObject]:
        read_only = definition.annotations.read_only
        key = f"mcp__{self._server}"

        async def execute(args: JsonObject, _ctx: ToolContext) -> ToolSuccess:
            return self._success(tool, await self._call(definition, args))

        tool = Tool[JsonObject](
            name=name,
            description=definition.description,
            parameters=definition.parameters,
            output=output,
            execute=execute,
            render=_rendered,
            concurrency_safe=lambda _args: read_only,
            concurrency_key=lambda _args: key,
            is_ordered=False,
            timeout_s=self._options.call_timeout_s,
            annotations=definition.annotations,
        )
        return tool

    def _success(self, tool: Tool[JsonObject], result: types.CallToolResult) -> ToolSuccess:
        """Return what the server answered; it is checked here because the content does not follow from the value."""
        content = content_of(result.content)
        self._check_size(tool, _size_bytes(content))
        if result.is_error:
            failure = failure_of(tool.name, result)
            message = self._secrets.hidden_in(failure.message)
            raise ToolError(failure.code, message, retryable=failure.retryable)
        value = value_of(result)
        try:
            payload = encode(value)
            self._check_size(tool, len(payload))
            tool.returns.parse(payload)
        except MismatchError as error:
            shown = "; ".join(map(str, error.problems[:_PROBLEMS_SHOWN_MAX]))
            what = f"does not match the output schema its server declares: {shown}"
            raise _invalid_output(tool, what) from error
        except NotJsonError as error:
            raise _invalid_output(tool, f"cannot be written as JSON: {error}") from error
        return ToolSuccess(value, content if _shows_anything(content) else tuple(_rendered({}, value)))

    def _check_size(self, tool: Tool[Any], size_bytes: int) -> None:
        if size_bytes > self._options.result_bytes_max:
            message = (
                f"{tool.name} ran, but its result has {size_bytes:,} bytes, more than the "
                f"{self._options.result_bytes_max:,} that are taken; ask it for less"
            )
            raise ToolError(GatewayCode.RESULT_TOO_LARGE, message)


def _rendered(_args: JsonObject, value: JsonValue) -> Sequence[TextBlock]:
    text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
    # Without a word a model does not know whether the call has worked; some providers refuse an empty text.
    return (TextBlock(text if text.strip() else "(no content)"),)


def _shows_anything(content: Sequence[ContentBlock]) -> bool:
    return any(not isinstance(block, TextBlock) or block.text for block in content)


def _size_bytes(content: Sequence[ContentBlock]) -> int:
    # A picture is taken at the size of its base64 text, which is what travels.
    return sum(len(block.text.encode()) if isinstance(block, TextBlock) else len(block.data) for block in content)


def _invalid_output(tool: Tool[Any], what: str) -> ToolError:
    return ToolError(RuntimeCode.INVALID_TOOL_OUTPUT, f"{tool.name} ran, but its result {what}")
