"""A backend of deepagents: its own file tools, over any store of a workspace and under the workspace's guards."""

from functools import partial

from seamfs.extras import require_extra
from seamfs.integrations._agent_tools import AgentTools

try:
    from deepagents.backends.protocol import (
        BackendProtocol,
        EditResult,
        FileDownloadResponse,
        FileUploadResponse,
        GlobResult,
        GrepResult,
        LsResult,
        ReadResult,
        WriteResult,
    )

    from seamfs.integrations._deepagents_files import VirtualFiles
except ModuleNotFoundError:
    require_extra("deepagents", ["deepagents"], what="a backend for deepagents")
    raise

__all__ = ["WorkspaceBackend"]


class WorkspaceBackend(BackendProtocol):
    """Files of a workspace under virtual paths: its root is `/`.

    What the agent does with `read_file`, `write_file`, `edit_file`, `ls`, `glob` and `grep` become calls of the
    workspace's tools, so its approval gates and observers see them, and its guards stay on: a file has to be read
    before it is changed, and a change of one that has changed since is refused. Errors begin with our codes.

    What the middlewares of deepagents download for the agent (memory, skills, its own history) counts as read. What
    they upload replaces no file that was not. Pages, listings and searches have room for what the middleware shows at
    once, whatever the limits of the workspace; it cuts what is longer by itself.

    deepagents keeps long results and messages in `/large_tool_results` and `/conversation_history`, which is to say in
    the workspace; a `CompositeBackend` with routes for the two puts them elsewhere.

    One backend is one owner: subagents that share it share what was read. An agent that is run without `ainvoke` or
    `astream` needs the tools of `open_agent_tools`.
    """

    def __init__(self, tools: AgentTools) -> None:
        """Take the tools of one agent."""
        self._tools = tools
        self._files = VirtualFiles(tools)

    def read(self, file_path: str, offset: int = 0, limit: int = 2000) -> ReadResult:
        """Return a window of a text file, or a whole picture, sound, video or document."""
        return self._tools.run_sync(partial(self._files.read, file_path, offset, limit))

    async def aread(self, file_path: str, offset: int = 0, limit: int = 2000) -> ReadResult:
        """Do what `read` does."""
        return await self._tools.run(partial(self._files.read, file_path, offset, limit))

    def write(self, file_path: str, content: str) -> WriteResult:
        """Create a file, or replace one whose present version was read."""
        return self._tools.run_sync(partial(self._files.write, file_path, content))

    async def awrite(self, file_path: str, content: str) -> WriteResult:
        """Do what `write` does."""
        return await self._tools.run(partial(self._files.write, file_path, content))

    def edit(
        self,
        file_path: str,
        old_string: str,
        new_string: str,
        replace_all: bool = False,  # noqa: FBT001, FBT002 - the protocol's
    ) -> EditResult:
        """Replace text in a file whose present version was read."""
        return self._tools.run_sync(
            partial(self._files.edit, file_path, old_string, new_string, replace_all=replace_all)
        )

    async def aedit(
        self,
        file_path: str,
        old_string: str,
        new_string: str,
        replace_all: bool = False,  # noqa: FBT001, FBT002 - the protocol's
    ) -> EditResult:
        """Do what `edit` does."""
        return await self._tools.run(
            partial(self._files.edit, file_path, old_string, new_string, replace_all=replace_all)
        )

    def ls(self, path: str) -> LsResult:
        """Return the entries of a directory."""
        return self._tools.run_sync(partial(self._files.ls, path))

    async def als(self, path: str) -> LsResult:
        """Do what `ls` does."""
        return await self._tools.run(partial(self._files.ls, path))

    def glob(self, pattern: str, path: str | None = None) -> GlobResult:
        """Return the files that a pattern means."""
        return self._tools.run_sync(partial(self._files.glob, pattern, path))

    async def aglob(self, pattern: str, path: str | None = None) -> GlobResult:
        """Do what `glob` does."""
        return await self._tools.run(partial(self._files.glob, pattern, path))

    def grep(
        self, pattern: str, path: str | None = None, glob: str | None = None, *, max_count: int | None = None
    ) -> GrepResult:
        """Return the lines that hold a text; a pattern is none but the text."""
        return self._tools.run_sync(partial(self._files.grep, pattern, path, glob, max_count=max_count))

    async def agrep(
        self, pattern: str, path: str | None = None, glob: str | None = None, *, max_count: int | None = None
    ) -> GrepResult:
        """Do what `grep` does."""
        return await self._tools.run(partial(self._files.grep, pattern, path, glob, max_count=max_count))

    def upload_files(self, files: list[tuple[str, bytes]]) -> list[FileUploadResponse]:
        """Write whole files; one that holds the same already is left alone."""
        return self._tools.run_sync(partial(self._files.upload, files))

    async def aupload_files(self, files: list[tuple[str, bytes]]) -> list[FileUploadResponse]:
        """Do what `upload_files` does."""
        return await self._tools.run(partial(self._files.upload, files))

    def download_files(self, paths: list[str]) -> list[FileDownloadResponse]:
        """Return whole files."""
        return self._tools.run_sync(partial(self._files.download, paths))

    async def adownload_files(self, paths: list[str]) -> list[FileDownloadResponse]:
        """Do what `download_files` does."""
        return await self._tools.run(partial(self._files.download, paths))
