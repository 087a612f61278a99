"""`seamfs read` of local disk where nothing is set: the page of the tool `read` without making the tool.

What checks settings and calls of models takes longer to load than all the rest. Nothing is refused here: what may be
wrong is left to the call of the tool, which says so in its own words.
"""

import sys
from contextlib import aclosing
from functools import partial
from typing import TYPE_CHECKING

from backends.local_options import LocalOptions
from backends.registry import open_local_disk
from fs_core.errors import FsError
from fs_core.filesystem import BackedFileSystem
from fs_core.paths import has_lone_surrogate
from fs_core.policy import Unguarded
from fs_core.session import FileSession
from seamfs.setting_sources import found_settings
from seamfs.signals import run_interruptibly
from seamfs.terminal import write_json, write_text
from tool_fs.limits import ReadLimits
from tool_fs.pages import read_page
from tool_fs.render import render_read

if TYPE_CHECKING:
    from tool_fs.values import ReadValue

__all__ = ["print_page"]


def print_page(root: str, path: str, *, offset: int | None, limit: int | None, as_json: bool) -> bool:
    """Print a page as the tool returns it, or nothing where it has to be asked, and tell whether it was printed."""
    if found_settings() or has_lone_surrogate(path) or min(offset or 1, limit or 1) < 1 or 0 in {offset, limit}:
        return False
    page = run_interruptibly(partial(_page, root, path, offset=offset, limit=limit))
    if page is None or has_lone_surrogate(page["path"]):
        return False
    if as_json:
        write_json(page, sys.stdout)
    else:
        write_text(f"{render_read(page)}\n", sys.stdout)
    return True


async def _page(root: str, path: str, *, offset: int | None, limit: int | None) -> "ReadValue | None":
    try:
        local = await open_local_disk(root, LocalOptions())
        if local is None:
            return None
        async with aclosing(local) as backend:
            session = FileSession(BackedFileSystem(backend), policy=Unguarded())
            return await read_page(session, path, offset=offset, limit=limit, limits=ReadLimits())
    except FsError:
        # Told by the call of the tool: a refusal may be slow.
        return None
