"""Names to offer with a refusal: what a missing file may be called, and what a directory holds."""

from typing import Final

from fs_core.errors import FsError, NotFound, NotRegularFile, Reason
from fs_core.near_names import near_names
from fs_core.paths import parse_path
from fs_core.protocol import Backend
from fs_core.types import Target

__all__ = ["with_entries", "with_near_names"]

NEAR_NAMES_LISTED_MAX: Final = 1_000
ENTRY_NAMES_MAX: Final = 10


async def with_near_names(error: NotFound, backend: Backend, target: Target) -> NotFound:
    """Return `error` with what the missing file may be called, as far as its directory can be listed."""
    parent, _, name = target.display_path.rpartition("/")
    names = near_names(name, await _names_in(parent or ".", error, backend, limit=NEAR_NAMES_LISTED_MAX))
    return NotFound(error.reason, path=error.path, operation=error.operation, near_names=names)


async def with_entries(error: NotRegularFile, backend: Backend, target: Target) -> NotRegularFile:
    """Return `error` with the first names of the directory that was to be read."""
    names: tuple[str, ...] = ()
    if error.reason == Reason.IS_DIRECTORY:
        names = await _names_in(target.display_path, error, backend, limit=ENTRY_NAMES_MAX)
    return NotRegularFile(error.reason, path=error.path, operation=error.operation, entry_names=names)


async def _names_in(directory: str, error: FsError, backend: Backend, *, limit: int) -> tuple[str, ...]:
    """List a directory for advice; a fault of that is noted on `error`, which is the one that matters."""
    try:
        target = await backend.resolve(parse_path(directory, backend.root))
        listing = await backend.list(target, limit=limit)
    except FsError as fault:
        error.add_note(f"no names to offer: {fault}")
        return ()
    return tuple(entry.name for entry in listing.entries if entry.addressable)
