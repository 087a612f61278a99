"""Paths that match a glob."""

from collections.abc import Sequence

import anyio

from fs_core.errors import NotDirectory, NotFound
from fs_core.paths import RootedPath, parse_path
from fs_core.protocol import Backend
from fs_core.search._first_paths import FirstPaths, fitting
from fs_core.search._starting import base_of, require_directory
from fs_core.search._telling import Telling
from fs_core.search.bounds import SearchBounds, Watch
from fs_core.search.globs import Glob, parse_glob
from fs_core.search.outcomes import Bound, Globbed
from fs_core.search.walk import Run, Walk
from fs_core.types import Target

__all__ = ["glob"]


async def glob(backend: Backend, start: Target, pattern: str, *, bounds: SearchBounds, watch: Watch | None) -> Globbed:
    """Return the first paths that `pattern` means below `start`, and count all.

    A pattern may begin with the root's own absolute spelling instead of being relative to `start`. The directories that
    it begins with by their plain names are named by the caller: links among them are followed, and no rule leaves them
    out.

    Raises:
        PatternError: the pattern cannot be used.
        SandboxDenied: it leads out of the root.
        NotFound, NotDirectory, PermissionDenied: `start` cannot be listed.
        Unavailable: the store cannot be asked.
    """
    telling, paths, walk = Telling(watch), FirstPaths(entries_max=bounds.entries_max), None
    with anyio.move_on_after(bounds.timeout_s) as scope:
        start, meant = await _placed(backend, start, pattern)
        try:
            walk = Walk(
                backend, await base_of(backend, start, meant, pattern), glob=meant, bounds=bounds, with_links=True
            )
            async with walk:
                async for run in walk:
                    paths.add(run.prefix, _names(run))
                    telling.tell(walk, found=paths.total)
        except (NotFound, NotDirectory):
            await require_directory(backend, start)
    first = paths.first()
    shown = fitting(first, size_bytes=bounds.result_bytes_max)
    return Globbed(
        start=start,
        paths=tuple(first[:shown]),
        total=paths.total,
        is_exact=not scope.cancelled_caught and (walk is None or walk.is_complete),
        bound=_bound(paths, shown, bounds, is_late=scope.cancelled_caught),
        skipped={} if walk is None else dict(+walk.skipped),
    )


async def _placed(backend: Backend, start: Target, pattern: str) -> tuple[Target, Glob]:
    """Return what a pattern is relative to, and the pattern."""
    for prefix in backend.root.prefixes:
        if pattern.startswith(f"{prefix}/"):
            return await backend.resolve(RootedPath(())), parse_glob(f"./{pattern[len(prefix) + 1 :]}")
    if pattern.startswith("/") or ":/" in pattern:
        parse_path(pattern, backend.root)  # refuses what is absolute
    return start, parse_glob(pattern)


def _names(run: Run) -> Sequence[str]:
    if not run.links and not run.directories:
        return run.files
    return [*run.files, *run.links, *(f"{name}/" for name in run.directories)]


def _bound(paths: FirstPaths, shown: int, bounds: SearchBounds, *, is_late: bool) -> Bound | None:
    if is_late:
        return Bound.SECONDS
    if shown == paths.total:
        return None
    return Bound.ENTRIES if shown == bounds.entries_max else Bound.BYTES
