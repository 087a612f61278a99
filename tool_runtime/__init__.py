"""Tools for language models: a scoped registry, one pipeline for every call, and the schedule of a turn."""

from tool_runtime.abort import AbortSignal
from tool_runtime.hooks import (
    Absence,
    Allow,
    Answerer,
    Ask,
    Decision,
    Deny,
    Gate,
    Guard,
    Invocation,
    Observation,
    Observer,
    Proceed,
    Wrapper,
)
from tool_runtime.payload import JsonObject
from tool_runtime.prompt import PromptSection, SystemPrompt
from tool_runtime.registry import UnknownToolNameError
from tool_runtime.results import (
    ContentBlock,
    MediaBlock,
    RuntimeCode,
    TextBlock,
    ToolError,
    ToolFailure,
    ToolResult,
    ToolSuccess,
)
from tool_runtime.runtime import ToolRuntime
from tool_runtime.scopes import GLOBAL, Disposer, DuplicateNameError, ScopeId, UnknownScopeError
from tool_runtime.tool import Runtime, Tool, ToolAnnotations, ToolCall, ToolContext, ToolSchema

__all__ = [
    "GLOBAL",
    "AbortSignal",
    "Absence",
    "Allow",
    "Answerer",
    "Ask",
    "ContentBlock",
    "Decision",
    "Deny",
    "Disposer",
    "DuplicateNameError",
    "Gate",
    "Guard",
    "Invocation",
    "JsonObject",
    "MediaBlock",
    "Observation",
    "Observer",
    "Proceed",
    "PromptSection",
    "Runtime",
    "RuntimeCode",
    "ScopeId",
    "SystemPrompt",
    "TextBlock",
    "Tool",
    "ToolAnnotations",
    "ToolCall",
    "ToolContext",
    "ToolError",
    "ToolFailure",
    "ToolResult",
    "ToolRuntime",
    "ToolSchema",
    "ToolSuccess",
    "UnknownScopeError",
    "UnknownToolNameError",
    "Wrapper",
]
