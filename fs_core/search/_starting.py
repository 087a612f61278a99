"""What is said of a directory in which a search cannot begin."""

from fs_core.advice import with_near_names
from fs_core.errors import NotDirectory, NotFound, Reason
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
        missing = NotFound(Reason.NO_SUCH_DIRECTORY, path=target.display_path, operation="list")
        raise await with_near_names(missing, backend, target)
    if info.kind is not FileKind.DIRECTORY:
        raise NotDirectory(Reason.IS_NOT_DIRECTORY, path=target.display_path, operation="list")
