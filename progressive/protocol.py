"""How a model is told to find and call tools that are not declared; one text per mode."""

from enum import StrEnum
from typing import Final

from tool_runtime import PromptSection

__all__ = ["Mode", "protocol_section"]


class Mode(StrEnum):
    """How a model calls tools.

    NATIVE: by tool calls. CODE: from programs alone, through run_code. BOTH: either way.
    """

    NATIVE = "native"
    CODE = "code"
    BOTH = "both"


_SECTION_NAME: Final = "tool-discovery"
_SECTION_ORDER: Final = 100

_FIND: Final = """\
## Tools that are not declared

There may be more tools than are declared here.

1. `search_tools` lists their names with a short description, or ranks them by the words of a query. If nothing matches, the list is complete.
2. `describe_tools` returns the full description and the exact schemas of those you intend to use."""  # noqa: E501

_CALL: Final = {
    Mode.NATIVE: """\
3. In a later step call the tool by its exact name with arguments that match its schema. If `invoke_tool` is declared, pass it that name and those arguments instead.""",  # noqa: E501
    Mode.CODE: """\
3. In a later `run_code` program call it: `await tools["exact-name"](arguments)`. Search and describe are called in the same way; only `run_code` is called directly.""",  # noqa: E501
    Mode.BOTH: """\
3. In a later step call it in a `run_code` program: `await tools["exact-name"](arguments)`. Once it is declared, a direct call by its exact name does as well.""",  # noqa: E501
}

_FAIL: Final = "The list can change at any time: a call of a tool that is gone fails and says so."


def protocol_section(mode: Mode) -> PromptSection:
    """Return the section of the system prompt that tells the protocol; it depends on the mode and on nothing else."""
    return PromptSection(_SECTION_NAME, f"{_FIND}\n{_CALL[mode]}\n\n{_FAIL}", _SECTION_ORDER)
