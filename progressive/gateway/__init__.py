"""Tools of other MCP servers in the runtime, as `mcp__<server>__<tool>`.

The names below load on first use, so that settings can be read without the protocol's library.
"""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from progressive.gateway._link import MountState, MountStatus
    from progressive.gateway.codes import GatewayCode
    from progressive.gateway.gateway import Gateway
    from progressive.gateway.mounts import HttpMount, Mount, StdioMount
    from progressive.gateway.options import GatewayOptions

__all__ = ["Gateway", "GatewayCode", "GatewayOptions", "HttpMount", "Mount", "MountState", "MountStatus", "StdioMount"]

_HOMES = {
    "Gateway": "progressive.gateway.gateway",
    "GatewayCode": "progressive.gateway.codes",
    "GatewayOptions": "progressive.gateway.options",
    "HttpMount": "progressive.gateway.mounts",
    "Mount": "progressive.gateway.mounts",
    "MountState": "progressive.gateway._link",
    "MountStatus": "progressive.gateway._link",
    "StdioMount": "progressive.gateway.mounts",
}


def __getattr__(name: str) -> object:
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from importlib import import_module

    value: object = getattr(import_module(_HOMES[name]), name)
    globals()[name] = value
    return value
