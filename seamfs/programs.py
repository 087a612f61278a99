"""Programs of a model over the tools of a workspace: the sandbox that runs them, where a mode has them."""

from collections.abc import AsyncGenerator
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import replace

from progressive import Mode
from progressive.names import RESERVED
from seamfs.config import Settings
from seamfs.extras import NotReadyError
from tool_runtime import ToolAnnotations, ToolRuntime

__all__ = ["programs"]


@asynccontextmanager
async def programs(tools: ToolRuntime, settings: Settings) -> AsyncGenerator[None]:
    """Offer run_code until the block ends, in every mode but the native one.

    Raises:
        NotReadyError: The sandbox cannot be started.
    """
    if settings.progressive.mode is Mode.NATIVE:
        yield
        return
    # The sandbox is an extra, and nothing else needs it.
    from progressive.code.monty import open_monty
    from progressive.code.tool import run_code_tool

    async with AsyncExitStack() as opened:
        try:
            sandbox = await opened.enter_async_context(open_monty(settings.code))
        except (FileNotFoundError, RuntimeError) as error:
            raise NotReadyError(
                f"the sandbox of mode {settings.progressive.mode} cannot be started: {error}"
            ) from error
        tool = replace(run_code_tool(sandbox, settings.code), annotations=_hints(tools, settings))
        opened.callback(tools.register(tool, needs_listing=False))
        yield


def _hints(tools: ToolRuntime, settings: Settings) -> ToolAnnotations:
    """Return what a program may do at its worst: what the tools may that it calls, and of mounted ones anything."""
    if settings.mounts:
        return ToolAnnotations(open_world=True)
    is_harmless = all(tool.annotations.read_only for tool in tools.tools() if tool.name not in RESERVED)
    return ToolAnnotations(read_only=is_harmless, destructive=not is_harmless, idempotent=is_harmless)
