"""Ours, through the public face: a session of a workspace on local disk, under the default settings.

An edit is guarded, atomic, flushed with its directory, and returns a difference; a page has the exact number of lines
and is of a file that was checked to be text as a whole.
"""

from collections.abc import AsyncGenerator
from contextlib import AsyncExitStack, asynccontextmanager
from importlib.metadata import version
from pathlib import Path

from benchmarks.peers.files import Peer, RefusedError, Span
from fs_core.edit import Edit
from fs_core.errors import AmbiguousEdit, EditNotFound
from fs_core.outcomes import Edited, PageRead
from fs_core.page import Window
from seamfs import Settings, open_workspace
from seamfs.workspace import Workspace

__all__ = ["NAME", "SEAM", "ColdFiles", "SeamFiles"]

NAME = "seamfs"
_OTHER = "other.txt"
_PAGE_BYTES_MAX = Window().bytes_max


class SeamFiles:
    """One session."""

    def __init__(self, workspace: Workspace) -> None:
        self._session = workspace.session()

    async def read(self, name: str, span: Span, *, bytes_max: int = _PAGE_BYTES_MAX) -> PageRead:
        window = Window(first_line=span.first_line, lines_max=span.lines, bytes_max=bytes_max)
        return await self._session.read(name, window)

    async def edit(self, name: str, old: str, new: str, *, everywhere: bool = False) -> Edited:
        try:
            return await self._session.edit(name, Edit(old, new, replace_all=everywhere))
        except (AmbiguousEdit, EditNotFound) as error:
            raise RefusedError(str(error)) from error


class ColdFiles:
    """A workspace that is opened anew before every read, so that it knows nothing of the file.

    It reads another file first: what is measured is a file that is new to the workspace, not the start of its threads.
    """

    def __init__(self, root: Path, opened: AsyncExitStack) -> None:
        self._root = root
        self._opened = opened
        self._files: SeamFiles | None = None
        (root / _OTHER).write_text("one line\n", encoding="utf-8")

    async def forget(self) -> None:
        """Close the workspace and open another; to be called before each read."""
        await self._opened.aclose()
        workspace = await self._opened.enter_async_context(open_workspace(str(self._root), settings=Settings()))
        self._files = SeamFiles(workspace)
        await self._files.read(_OTHER, Span(1, 1))

    async def read(self, name: str, span: Span, *, bytes_max: int = _PAGE_BYTES_MAX) -> PageRead:
        if self._files is None:
            raise RuntimeError("forget() opens the workspace")
        return await self._files.read(name, span, bytes_max=bytes_max)


@asynccontextmanager
async def _opened(root: Path) -> AsyncGenerator[SeamFiles]:
    async with open_workspace(str(root), settings=Settings()) as workspace:
        yield SeamFiles(workspace)


SEAM = Peer(
    name=NAME,
    install="pip install -e .",
    version=lambda: version("seamfs"),
    opened=_opened,
    read_note="",
    edit_note="",
)
