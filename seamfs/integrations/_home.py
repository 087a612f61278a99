"""The event loop that a workspace belongs to, for frameworks that call from other threads and other loops."""

from collections.abc import Awaitable, Callable
from typing import TypeVar

from anyio import NoEventLoopError
from anyio.from_thread import BlockingPortal
from anyio.lowlevel import EventLoopToken, current_token

__all__ = ["Home"]

T = TypeVar("T")


class Home:
    """Runs work on the loop of a workspace: the running one, or that of a portal, which is of another thread."""

    def __init__(self, portal: BlockingPortal | None = None) -> None:
        """Make a loop the home.

        Raises:
            RuntimeError: There is no portal and no event loop is running here.
        """
        token = _running_loop() if portal is None else portal.call(current_token)
        if token is None:
            raise RuntimeError("no event loop is running here; open the tools of an agent with open_agent_tools")
        self._token = token
        self._portal = portal
        self._is_closed = False

    def close(self) -> None:
        """Take no more work from other threads and loops."""
        self._is_closed = True

    async def run(self, work: Callable[[], Awaitable[T]]) -> T:
        """Do the work there and return what it returns. Cancelling this cancels the work and waits for its end.

        Raises:
            RuntimeError: It cannot be done from this loop.
        """
        if _running_loop() == self._token:
            return await work()
        return await self._reachable().call_async(work)

    def run_sync(self, work: Callable[[], Awaitable[T]]) -> T:
        """Do the work there while this thread waits.

        Raises:
            RuntimeError: It cannot be done from this thread.
        """
        if _running_loop() == self._token:
            raise RuntimeError("this thread runs the event loop of the workspace and must not wait for it; use await")
        return self._reachable().call(work)

    def _reachable(self) -> BlockingPortal:
        if self._portal is None:
            raise RuntimeError(
                "the workspace belongs to another event loop; await its tools there, or open them with "
                "open_agent_tools, which gives the workspace a thread of its own"
            )
        if self._is_closed:
            raise RuntimeError("the workspace is closed; keep the block of open_agent_tools open while an agent runs")
        return self._portal


def _running_loop() -> EventLoopToken | None:
    try:
        return current_token()
    except NoEventLoopError:
        return None
