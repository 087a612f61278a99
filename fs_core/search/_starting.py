"""What is said of a directory in which a search cannot begin."""

from fs_core.advice import with_near_names
from fs_core.errors import NotDirectory, NotFound, Reason
from fs_core.paths import parse_path
from fs_core.protocol import Backend
from fs_core.types import FileKind, Target

__all__ = ["require_directory"]


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
