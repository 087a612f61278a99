"""Where a search begins, and what is said of a directory in which it cannot."""

from fs_core.advice import with_near_names
from fs_core.errors import NotDirectory, NotFound, Reason, SandboxDenied
from fs_core.paths import RootedPath, parse_path
from fs_core.protocol import Backend
from fs_core.search.globs import Glob
from fs_core.types import FileKind, Target

__all__ = ["base_of", "require_directory"]


async def base_of(backend: Backend, start: Target, meant: Glob, pattern: str) -> Target:
    """Return the directory that all matches of `meant` are below, which `pattern` spells, relative to `start`.

    Raises:
        SandboxDenied: it leads out of the root.
    """
    if not meant.parents and not meant.base:
        return start
    names = () if start.display_path == "." else tuple(start.display_path.split("/"))
    if meant.parents > len(names):
        reason = f"leads out of the root {backend.root.url}; use a pattern below the root"
        raise SandboxDenied(reason, path=pattern, operation="resolve")
    return await backend.resolve(RootedPath((*names[: len(names) - meant.parents], *meant.base)))


async def require_directory(backend: Backend, target: Target) -> None:
    """Raise unless a directory is there.

    Raises:
        NotFound: nothing is there; similar names of the same directory are attached.
        NotDirectory: something else is there.
    """
    info = await backend.stat(target)
    if info is None:
        reason = await _why_missing(backend, target)
        raise await with_near_names(NotFound(reason, path=target.display_path, operation="list"), backend, target)
    if info.kind is not FileKind.DIRECTORY:
        raise NotDirectory(Reason.IS_NOT_DIRECTORY, path=target.display_path, operation="list")


async def _why_missing(backend: Backend, target: Target) -> Reason:
    """Return whether the path goes through a file, which not every store finds out when it resolves a path."""
    directory = target.display_path
    while directory := directory.rpartition("/")[0]:
        info = await backend.stat(await backend.resolve(parse_path(directory, backend.root)))
        if info is not None:
            return Reason.NO_SUCH_DIRECTORY if info.kind is FileKind.DIRECTORY else Reason.THROUGH_FILE
    return Reason.NO_SUCH_DIRECTORY
