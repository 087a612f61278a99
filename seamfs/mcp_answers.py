"""The answer to a call of a tool over MCP: the text for the model, and the value where only the host looks."""

from contextvars import ContextVar
from typing import Any, Final

from mcp.server import ServerRequestContext
from mcp.server.context import CallNext, HandlerResult
from pydantic import JsonValue

from tool_runtime import ContentBlock, JsonObject, TextBlock, ToolFailure, ToolResult, ToolSuccess

__all__ = ["ERROR_KEY", "VALUE_KEY", "answer_to", "send_value"]

VALUE_KEY: Final = "seamfs/value"
ERROR_KEY: Final = "seamfs/error"

_VALUES: Final[ContextVar[list[JsonObject]]] = ContextVar("values of the answer that is being made")
_PLACE: Final[JsonObject] = {}
"""What the library is shown for a value: an object, as it wants it to be."""


def answer_to(result: ToolResult, *, structured: bool) -> JsonObject:
    """Return the JSON of a `CallToolResult`; made of the library's models it would be copied once more.

    In place of a value that is an object stands another, which `send_value` changes for it; it has to be around.
    """
    sent: JsonObject = {
        # Wanted by the newest revision of the protocol, and left out by the library for those before it.
        "resultType": "complete",
        "content": [_content_block(block) for block in result.content],
    }
    match result:
        case ToolSuccess(value):
            if not isinstance(value, dict):
                return {**sent, "isError": False, "_meta": {VALUE_KEY: value}}
            _VALUES.get().append(value)
            if structured:
                sent["structuredContent"] = _PLACE
            return {**sent, "isError": False, "_meta": {VALUE_KEY: _PLACE}}
        case ToolFailure(code, message, retryable):
            fault: JsonObject = {"code": code, "message": message, "retryable": retryable}
            return {**sent, "isError": True, "_meta": {ERROR_KEY: fault}}


async def send_value(ctx: ServerRequestContext[Any, Any], call_next: CallNext) -> HandlerResult:
    """Put the value of a result into the answer after the library has checked and copied all else.

    The value of a page is as large as its text and in many more parts, is plain JSON that nobody changes any more, and
    stands where the library takes any.
    """
    if ctx.method != "tools/call":
        return await call_next(ctx)
    values: list[JsonObject] = []
    before = _VALUES.set(values)
    try:
        answer = await call_next(ctx)
    finally:
        _VALUES.reset(before)
    if values and isinstance(answer, dict):
        answer["_meta"][VALUE_KEY] = values[0]
        # A revision of the protocol may have no such key.
        if "structuredContent" in answer:
            answer["structuredContent"] = values[0]
    return answer


def _content_block(block: ContentBlock) -> dict[str, JsonValue]:
    if isinstance(block, TextBlock):
        return {"type": "text", "text": block.text}
    return {"type": block.kind, "data": block.data, "mimeType": block.mime_type}
