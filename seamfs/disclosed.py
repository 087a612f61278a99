"""The disclosure layer over a runtime of tools, with the mounted servers of the settings behind it."""

from collections.abc import AsyncGenerator, Sequence
from contextlib import asynccontextmanager
from typing import Final

from progressive import Disclosure, DisclosureOptions, Surface
from progressive.gateway import Gateway, Mount, MountStatus
from seamfs.config import BadSettingError, Settings
from seamfs.extras import NotReadyError
from tool_runtime import ToolRuntime

__all__ = ["Disclosed", "disclosed", "mount_failure"]

MOUNTED: Final = "mcp__"


class Disclosed:
    """Tools of which a client is told few and finds the others, those of mounted servers among them.

    Attributes:
        disclosure: The layer; its options say which tools are declared from the start.
        gateway: The servers.
    """

    def __init__(self, tools: ToolRuntime, settings: Settings, mounts: Sequence[Mount]) -> None:
        """Register the discovery tools; see `disclosed`."""
        self._tools = tools
        self._settings = settings
        self._servers = [mount.name for mount in mounts]
        self.gateway = Gateway(tools, mounts, settings.gateway)
        self.disclosure = Disclosure(tools, self._options(), absences=self.gateway)

    async def settled(self) -> None:
        """Wait until every server has been connected or has failed once, no longer than one may take to connect."""
        await self.gateway.settled(self._settings.gateway.connect_timeout_s)

    async def surface(self) -> Surface:
        """Return what a client is to see, from now on and for good. Waits only for servers of eager tools.

        A mode with programs needs `programs` around it.

        Raises:
            NotReadyError: A server does not have a tool that has to be declared.
        """
        if self._missing():
            await self.settled()
        missing = self._missing()
        if missing:
            raise NotReadyError(f"{missing[0]} cannot be declared from the start: {self._why_missing(missing[0])}")
        return self.disclosure.surface(mode=self._settings.progressive.mode)

    def server_of(self, tool: str) -> str | None:
        """Return the mounted server that a tool belongs to, None for one of our own."""
        servers = [server for server in self._servers if tool.startswith(f"{MOUNTED}{server}__")]
        return max(servers, key=len, default=None)

    def _options(self) -> DisclosureOptions:
        own = [tool.name for tool in self._tools.tools()]
        chosen = self._settings.progressive
        unknown = [name for name in chosen.eager_tools if name not in own and self.server_of(name) is None]
        if unknown:
            known = [*own, *(f"{MOUNTED}{server}__..." for server in self._servers)]
            raise BadSettingError(f"eager tools: there is no tool {unknown[0]!r}; there are: {', '.join(known)}")
        eager = tuple(dict.fromkeys([*own, *chosen.eager_tools]))
        return DisclosureOptions(**chosen.model_dump(exclude={"enabled", "mode", "eager_tools"}), eager_tools=eager)

    def _missing(self) -> list[str]:
        return [name for name in self.disclosure.options.eager_tools if self._tools.get(name) is None]

    def _why_missing(self, tool: str) -> str:
        status = next(status for status in self.gateway.status() if status.name == self.server_of(tool))
        failure = mount_failure(status, self._settings)
        return failure or f"mount {status.name}: the server is connected and has no such tool that can be used"


@asynccontextmanager
async def disclosed(tools: ToolRuntime, settings: Settings) -> AsyncGenerator[Disclosed]:
    """Put the layer over the tools that are registered, all of which stay declared, until the block ends.

    Servers are connected beside the block, which starts at once.

    Raises:
        BadSettingError: A mount cannot be used, or an eager name is that of no tool and of no mounted server.
    """
    layer = Disclosed(tools, settings, _mounts(settings))
    try:
        async with layer.gateway.opened():
            yield layer
    finally:
        layer.disclosure.unmount()


def mount_failure(status: MountStatus, settings: Settings) -> str | None:
    """Return in one line why a server is not connected, None if it is."""
    if status.state == "connected":
        return None
    reason = status.reason or f"not connected within {settings.gateway.connect_timeout_s:g} s"
    return f"mount {status.name}: {reason}"


def _mounts(settings: Settings) -> list[Mount]:
    try:
        return [mount.mount(name) for name, mount in settings.mounts.items()]
    except ValueError as error:
        raise BadSettingError(str(error)) from None
