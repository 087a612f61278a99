"""On whose behalf a tool for files acts."""

from fs_core.session import FileSession
from tool_runtime import ToolContext

__all__ = ["file_session"]


def file_session(context: ToolContext) -> FileSession:
    """Return the owner of a call.

    Raises:
        TypeError: It is no `FileSession`.
    """
    if not isinstance(context.owner, FileSession):
        given = type(context.owner).__name__
        raise TypeError(f"the file tools act for a FileSession, not for a {given}; the call has to pass one as owner")
    return context.owner
