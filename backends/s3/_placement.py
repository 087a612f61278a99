"""Whether a new object may take a name: directories exist here only as the prefixes of keys."""

from collections.abc import Awaitable, Callable
from functools import partial
from itertools import zip_longest
from typing import TypeVar, cast

import anyio

from backends.s3._client import S3Client
from backends.s3._errors import RequestFailed
from backends.s3._keys import Location
from fs_core.errors import NotFound, NotRegularFile, Operation, Reason

__all__ = ["place_new"]

A = TypeVar("A")
B = TypeVar("B")


async def place_new(
    client: S3Client, location: Location, key: str, *, operation: Operation = "write"
) -> tuple[str, ...]:
    """Return the display paths of the directories that creating `key` would bring about, topmost first.

    Costs one round trip where the directory of `key` exists, and one more for each that does not.

    Raises:
        NotRegularFile: `key` is a directory.
        NotFound: a parent is an object, so that the path goes through a file.
    """
    parents = location.parents(key)
    display_path = location.display(key)

    async def exists(directory: str | None) -> bool:
        return directory is None or await client.has_any(location.below(directory))

    is_directory, is_placed = await _both(partial(exists, key), partial(exists, next(iter(parents), None)))
    if is_directory:
        raise NotRegularFile(Reason.IS_DIRECTORY, path=display_path, operation=operation)
    missing: list[str] = []
    for parent, above in zip_longest(parents, parents[1:]):
        if is_placed:
            break
        missing.append(location.display(parent))
        file, is_placed = await _both(partial(client.head, parent), partial(exists, above))
        if file is not None:
            raise NotFound(Reason.THROUGH_FILE, path=display_path, operation=operation)
    return tuple(reversed(missing))


async def _both(first: Callable[[], Awaitable[A]], second: Callable[[], Awaitable[B]]) -> tuple[A, B]:
    """Await two requests at once; the first error cancels the other and is raised."""
    ones: list[A] = []
    others: list[B] = []

    async def run_second() -> None:
        others.append(await second())

    try:
        async with anyio.create_task_group() as group:
            group.start_soon(run_second)
            ones.append(await first())
    except ExceptionGroup as errors:
        raise cast("ExceptionGroup[RequestFailed]", errors).exceptions[0] from None
    return ones[0], others[0]
