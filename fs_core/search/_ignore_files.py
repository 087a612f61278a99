"""The `.gitignore` files that a walk meets are read."""

from bisect import bisect_left
from collections import Counter
from collections.abc import Sequence
from typing import Final

from anyio import to_thread

from fs_core.errors import NotDirectory, NotFound, NotRegularFile
from fs_core.paths import RootedPath
from fs_core.protocol import Backend
from fs_core.search._sieve import Directory, prefix_of, reason_of
from fs_core.search.ignore import FILES_IN_FORCE_MAX, IGNORE_FILE_BYTES_MAX, IGNORE_FILE_NAME, IgnoreRules
from fs_core.search.outcomes import SkipReason
from fs_core.types import Level, Target

__all__ = ["contents_of", "read_ignore_files", "rules_above", "with_file"]

INLINE_BYTES_MAX: Final = 2 << 10
"""A larger file is compiled in a thread, since that takes milliseconds."""


async def read_ignore_files(
    backend: Backend, listed: Sequence[tuple[Directory, Level]], skipped: Counter[SkipReason]
) -> None:
    """Add to the rules of directories what the `.gitignore` files in them hold; one that cannot be read is counted."""
    having = [directory for directory, level in listed if _has_ignore_file(level)]
    for first in range(0, len(having), backend.bulk.files):
        some = having[first : first + backend.bulk.files]
        files = [backend.child(directory.target, IGNORE_FILE_NAME) for directory in some]
        contents = await contents_of(backend, files, skipped)
        for index, data in contents.items():
            some[index].rules = await with_file(some[index].rules, some[index].prefix, data)


async def rules_above(backend: Backend, start: Target, skipped: Counter[SkipReason]) -> IgnoreRules:
    """Return the rules of the directories above `start`, from the root on."""
    rules = IgnoreRules()
    if start.display_path == ".":
        return rules
    above = [await backend.resolve(RootedPath(()))]
    for name in start.display_path.split("/")[: FILES_IN_FORCE_MAX - 1]:
        above.append(backend.child(above[-1], name))
    contents = await contents_of(backend, [backend.child(one, IGNORE_FILE_NAME) for one in above[:-1]], skipped)
    for index in sorted(contents):
        rules = await with_file(rules, prefix_of(above[index]), contents[index])
    return rules


async def contents_of(backend: Backend, files: Sequence[Target], skipped: Counter[SkipReason]) -> dict[int, bytes]:
    """Return the content of those of `files` that there are, by their places."""
    contents: dict[int, bytes] = {}
    for error in await backend.read_many(files, contents.__setitem__, size_bytes_max=IGNORE_FILE_BYTES_MAX):
        if not isinstance(error, NotFound | NotDirectory | NotRegularFile | None):
            skipped[reason_of(error)] += 1
    return contents


def _has_ignore_file(level: Level) -> bool:
    place = bisect_left(level.files, IGNORE_FILE_NAME)
    return place < len(level.files) and level.files[place] == IGNORE_FILE_NAME


async def with_file(rules: IgnoreRules, prefix: str, data: bytes) -> IgnoreRules:
    """Return the rules with those of a `.gitignore` at `prefix`."""
    if len(data) <= INLINE_BYTES_MAX:
        return rules.with_file(prefix, data)
    return await to_thread.run_sync(rules.with_file, prefix, data)
