"""What the gateway allows a foreign server."""

from typing import Annotated

from pydantic import BaseModel, ConfigDict, Field

__all__ = ["GatewayOptions"]

_Seconds = Annotated[float, Field(gt=0, allow_inf_nan=False)]
_Count = Annotated[int, Field(gt=0)]


class GatewayOptions(BaseModel):
    """Bounds on every mounted server; each applies to one server alone."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    connect_timeout_s: _Seconds = Field(
        default=60.0, description="from starting a server to having its list of tools; `npx` may download it first"
    )
    call_timeout_s: _Seconds = Field(default=120.0, description="one call of a tool")
    close_timeout_s: _Seconds = Field(default=6.0, description="ending one connection, in whatever state it is")
    stop_grace_s: _Seconds = Field(
        default=1.5, description="a process may take so long to end by itself, and as long again after SIGTERM"
    )
    write_timeout_s: _Seconds = Field(default=15.0, description="a process that reads nothing for so long is given up")
    ping_interval_s: _Seconds = Field(default=30.0, description="between pings of an HTTP server that has sessions")
    backoff_initial_s: _Seconds = Field(default=0.5, description="longest wait before the first new attempt")
    backoff_max_s: _Seconds = Field(default=60.0, description="longest wait before any new attempt")
    stable_after_s: _Seconds = Field(default=30.0, description="a connection that lasted so long ends the backing off")
    list_debounce_s: _Seconds = Field(default=0.1, description="from a change notice to reading the list again")
    list_interval_s: _Seconds = Field(default=2.0, description="shortest time between two readings after notices")
    tools_max: _Count = Field(default=2_000, description="tools of one server; what it lists beyond is left out")
    pages_max: _Count = Field(default=200, description="pages of one list")
    description_chars_max: _Count = Field(default=8_000, description="characters of any one description")
    schema_bytes_max: _Count = Field(default=65_536, description="size of one schema as JSON")
    schema_depth_max: _Count = Field(default=64, description="levels of nesting in one schema as JSON")
    message_bytes_max: _Count = Field(
        default=4 * 1024 * 1024, description="one message; a longer one ends the connection"
    )
    messages_per_s_max: _Count = Field(
        default=1_000, description="messages taken in; 16 KiB count as one more; above that the server has to wait"
    )
    result_bytes_max: _Count = Field(default=2 * 1024 * 1024, description="one result; a larger one fails the call")
