"""Names of the layer's own tools, and the order of names everywhere in it."""

from typing import Any, Final

from tool_runtime import Tool

__all__ = ["DESCRIBE", "INVOKE", "RESERVED", "RUN_CODE", "SEARCH", "name_order", "text_order"]

SEARCH: Final = "search_tools"
DESCRIBE: Final = "describe_tools"
INVOKE: Final = "invoke_tool"
RUN_CODE: Final = "run_code"

RESERVED: Final = frozenset({SEARCH, DESCRIBE, INVOKE, RUN_CODE})
"""Names that no catalog holds and no eager tool may have."""


def text_order(name: str) -> tuple[str, str]:
    """Return the sort key of a name: without regard to case first, so that `Beta` stands between `alpha` and `mid`."""
    return name.casefold(), name


def name_order(tool: Tool[Any]) -> tuple[str, str]:
    """Return the sort key of a tool."""
    return text_order(tool.name)
