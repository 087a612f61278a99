"""All mounts of a runtime."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Iterable
from contextlib import asynccontextmanager

import anyio

from progressive.gateway._absence import absent_note
from progressive.gateway._link import Link, MountStatus
from progressive.gateway._names import name_prefix
from progressive.gateway.mounts import Mount
from progressive.gateway.options import GatewayOptions
from tool_runtime import Runtime

__all__ = ["Gateway"]

# Beside what ending one connection may take, all of them at once.
_CLOSE_SLACK_S = 1.0


class Gateway:
    """Keeps the tools of other MCP servers in the global scope of a runtime.

    Each server has a task of its own, and whatever it does, or fails to do, concerns its own tools alone.
    """

    def __init__(self, runtime: Runtime, mounts: Iterable[Mount], options: GatewayOptions | None = None) -> None:
        """Prepare; nothing is started before `opened`.

        Raises:
            ValueError: Two mounts have one name.
        """
        self._options = options or GatewayOptions()
        self._links: dict[str, Link] = {}
        self._was_opened = False
        for mount in mounts:
            if mount.name in self._links:
                raise ValueError(f"two mounts are named {mount.name!r}")
            self._links[mount.name] = Link(mount, runtime, self._options)

    @asynccontextmanager
    async def opened(self) -> AsyncGenerator[None]:
        """Connect to every server beside the block, which starts at once.

        At its end all tools are unregistered and all processes and connections ended, within `close_timeout_s`. No
        fault of a server is raised.

        Raises:
            RuntimeError: It has been opened before.
        """
        if self._was_opened:
            raise RuntimeError("a gateway is opened once")
        self._was_opened = True
        failure: Exception | None = None
        async with anyio.create_task_group() as tasks:
            for link in self._links.values():
                tasks.start_soon(link.run)
            try:
                yield
            except Exception as error:  # noqa: BLE001 - raised again below: out of a task group it would be in a group
                failure = error
            finally:
                for link in self._links.values():
                    link.close()
                tasks.cancel_scope.deadline = anyio.current_time() + self._options.close_timeout_s + _CLOSE_SLACK_S
        if failure is not None:
            raise failure

    def status(self) -> tuple[MountStatus, ...]:
        """Return how it stands with every mount, in the order they were given."""
        return tuple(link.status for link in self._links.values())

    def absent_note(self) -> str | None:
        """Return one bounded line, for a model, about the mounts that are not connected; None if all are."""
        return absent_note(self.status())

    def why_absent(self, name: str) -> str | None:
        """Return why a tool may be missing and when its server is tried again.

        Args:
            name: Of the tool, as a model would call it.

        Returns:
            None if the name belongs to no mount, or to one that is connected.
        """
        owners = [mount for mount in self._links if name.startswith(name_prefix(mount))]
        return self._links[max(owners, key=len)].absence if owners else None

    async def settled(self, timeout_s: float) -> None:
        """Wait until every mount has been connected or has failed once, at most `timeout_s` seconds."""
        with anyio.move_on_after(timeout_s):
            for link in self._links.values():
                await link.settled.wait()
