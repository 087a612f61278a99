"""From what a server answers to what a call comes back with."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final, cast

from mcp import types
from pydantic import JsonValue

from progressive.gateway._text import cleaned
from tool_runtime import ContentBlock, JsonObject, MediaBlock, RuntimeCode, TextBlock, ToolError

__all__ = ["ERROR_KEY", "content_of", "failure_of", "value_of"]

ERROR_KEY: Final = "seamfs/error"
"""Where a server of this project puts code, message and retryable of a failure, in `_meta`."""

_CODE_CHARS_MAX: Final = 100
_MESSAGE_CHARS_MAX: Final = 8_000


def value_of(result: types.CallToolResult) -> JsonValue:
    """Return the structured content; without it the text, if there is nothing but text; else the blocks."""
    if "structured_content" in result.model_fields_set and result.structured_content is not None:
        return cast("JsonValue", result.structured_content)
    texts = [block.text for block in result.content if isinstance(block, types.TextContent)]
    if len(texts) == len(result.content):
        return "\n".join(texts)
    return [_dumped(block) for block in result.content]


def content_of(blocks: Sequence[types.ContentBlock]) -> tuple[ContentBlock, ...]:
    """Return what the model is shown: text and media as they come, links and embedded resources as text."""
    return tuple(map(_block, blocks))


def failure_of(tool: str, result: types.CallToolResult) -> ToolError:
    """Return the failure that a server reports, with its own code if it is of this project."""
    fault = (result.meta or {}).get(ERROR_KEY)
    match fault:
        case {"code": str() as code, "message": str() as message, "retryable": bool() as retryable} if code:
            return ToolError(cleaned(code, _CODE_CHARS_MAX), _bounded(message), retryable=retryable)
        case _:
            text = "\n".join(block.text for block in content_of(result.content))
            return ToolError(RuntimeCode.TOOL_FAILED, _bounded(text) or f"{tool} failed and did not say why")


def _bounded(text: str) -> str:
    return text if len(text) <= _MESSAGE_CHARS_MAX else f"{text[: _MESSAGE_CHARS_MAX - 1]}…"


def _dumped(block: types.ContentBlock) -> JsonObject:
    return block.model_dump(mode="json", by_alias=True, exclude_none=True)


def _block(block: types.ContentBlock) -> ContentBlock:
    match block:
        case types.TextContent():
            return TextBlock(block.text)
        case types.ImageContent():
            return MediaBlock("image", block.data, block.mime_type)
        case types.AudioContent():
            return MediaBlock("audio", block.data, block.mime_type)
        case types.ResourceLink():
            return TextBlock(_link(block))
        case types.EmbeddedResource(resource=types.TextResourceContents() as resource):
            return TextBlock(f"[resource {resource.uri}]\n{resource.text}")
        case types.EmbeddedResource(resource=resource):
            return TextBlock(f"[resource {resource.uri}: {resource.mime_type or 'binary'}]")


def _link(link: types.ResourceLink) -> str:
    kind = f" ({link.mime_type})" if link.mime_type else ""
    about = f": {link.description}" if link.description else ""
    return f"[resource {link.uri}{kind}, {link.name}{about}]"
