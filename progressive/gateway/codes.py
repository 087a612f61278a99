"""Failures of mounted tools that the runtime does not know."""

from enum import StrEnum

__all__ = ["GatewayCode"]


class GatewayCode(StrEnum):
    """Codes of failures that come from between the runtime and a server."""

    TOOL_UNAVAILABLE = "TOOL_UNAVAILABLE"
    RESULT_TOO_LARGE = "RESULT_TOO_LARGE"
