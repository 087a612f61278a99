"""Whether a model's API can load the schema of a tool in the middle of a conversation."""

from enum import StrEnum

__all__ = ["Capability"]


class Capability(StrEnum):
    """How an API takes the schema of a tool in the middle of a conversation.

    NONE: not at all; `invoke_tool` stays. TOOL_REFERENCES: Anthropic Messages. ADDITIONAL_TOOLS and TOOL_SEARCH: the two
    forms of OpenAI Responses, an `additional_tools` item and a client's tool search.
    """

    NONE = "none"
    TOOL_REFERENCES = "tool_references"
    ADDITIONAL_TOOLS = "additional_tools"
    TOOL_SEARCH = "tool_search"
