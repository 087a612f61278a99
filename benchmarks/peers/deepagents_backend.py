"""`FilesystemBackend` of deepagents, without its middleware, which would number the lines. `pip install deepagents`.

It reads and decodes the whole file for a page, and truncates and rewrites it for an edit: not atomic, not flushed, and
CRLF becomes LF. It has asynchronous methods that hand the same to a thread; the direct ones are faster and measured.
"""

from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from importlib import import_module
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any, Protocol, cast

from benchmarks.peers.files import Peer, RefusedError, Span

__all__ = ["DEEPAGENTS"]


class _Result(Protocol):
    error: str | None


class _Backend(Protocol):
    """What is used of the library, which may not be installed."""

    def read(self, file_path: str, offset: int, limit: int) -> _Result: ...
    def edit(self, file_path: str, old_string: str, new_string: str, *, replace_all: bool) -> _Result: ...


class _Files:
    def __init__(self, backend: _Backend) -> None:
        self._backend = backend

    async def read(self, name: str, span: Span) -> object:
        result = self._backend.read(f"/{name}", span.first_line - 1, span.lines)
        if result.error is not None:
            raise RuntimeError(result.error)
        return result

    async def edit(self, name: str, old: str, new: str, *, everywhere: bool = False) -> object:
        result = self._backend.edit(f"/{name}", old, new, replace_all=everywhere)
        if result.error is not None:
            raise RefusedError(result.error)
        return result


def _version() -> str | None:
    try:
        return version("deepagents")
    except PackageNotFoundError:
        return None


@asynccontextmanager
async def _opened(root: Path) -> AsyncGenerator[_Files]:
    library = cast("Any", import_module("deepagents.backends.filesystem"))
    yield _Files(cast("_Backend", library.FilesystemBackend(root_dir=root, virtual_mode=True)))


DEEPAGENTS = Peer(
    name="deepagents",
    install="pip install deepagents",
    version=_version,
    opened=_opened,
    page_bytes_max=200 << 20,
    read_note="accepts NUL bytes as text",
    edit_note="rewrites in place, no fsync, not atomic; CRLF becomes LF",
)
