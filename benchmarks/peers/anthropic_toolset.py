"""The `read` and `edit` tools that the `anthropic` SDK brings for its agent toolset. `pip install anthropic`.

Reads have the default bound of 256 KiB of a page, above which a window is streamed up to its last line. Edits are
refused above 256 KiB by default; the bound is lifted here, so that larger files can be compared at all.
"""

from collections.abc import AsyncGenerator, Mapping
from contextlib import asynccontextmanager
from importlib import import_module
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any, Protocol, cast

from benchmarks.peers.files import Peer, RefusedError, Span

__all__ = ["ANTHROPIC"]


class _Tool(Protocol):
    async def call(self, input: Mapping[str, object]) -> object: ...  # noqa: A002 - the SDK's own name


class _Files:
    def __init__(self, read: _Tool, edit: _Tool, refusal: type[Exception]) -> None:
        self._read = read
        self._edit = edit
        self._refusal = refusal

    async def read(self, name: str, span: Span) -> object:
        return await self._read.call(
            {"file_path": name, "view_range": [span.first_line, span.first_line + span.lines - 1]}
        )

    async def edit(self, name: str, old: str, new: str, *, everywhere: bool = False) -> object:
        arguments = {"file_path": name, "old_string": old, "new_string": new, "replace_all": everywhere}
        try:
            return await self._edit.call(arguments)
        except self._refusal as error:
            raise RefusedError(str(error)) from error


def _version() -> str | None:
    try:
        return version("anthropic")
    except PackageNotFoundError:
        return None


@asynccontextmanager
async def _opened(root: Path) -> AsyncGenerator[_Files]:
    library = cast("Any", import_module("anthropic.lib.tools.agent_toolset"))
    faults = cast("Any", import_module("anthropic.lib.tools"))
    read = library.beta_read_tool(library.AgentToolContext(workdir=root))
    edit = library.beta_edit_tool(library.AgentToolContext(workdir=root, max_file_bytes=None))
    yield _Files(cast("_Tool", read), cast("_Tool", edit), cast("type[Exception]", faults.ToolError))


ANTHROPIC = Peer(
    name="anthropic SDK",
    install="pip install anthropic",
    version=_version,
    opened=_opened,
    read_note="no number of lines: a page of a file above 256 KiB is read up to its last line and no further",
    edit_note="rewrites in place, no fsync, not atomic; by default refused above 256 KiB",
)
