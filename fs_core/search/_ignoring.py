"""The `.gitignore` files that a walk meets are read and applied."""

from bisect import bisect_left
from collections import Counter
from collections.abc import Mapping, Sequence
from collections.abc import Set as AbstractSet
from functools import partial
from itertools import compress
from threading import Event
from typing import Final

from anyio import to_thread

from fs_core.errors import NotDirectory, NotFound, NotRegularFile, SandboxDenied
from fs_core.paths import RootedPath
from fs_core.protocol import Backend
from fs_core.search._sieve import Directory, prefix_of, reason_of
from fs_core.search.ignore import (
    FILES_IN_FORCE_MAX,
    IGNORE_FILE_BYTES_MAX,
    IGNORE_FILE_NAME,
    VERSION_CONTROL_NAMES,
    IgnoreRules,
    Names,
    ignored,
)
from fs_core.search.outcomes import SkipReason
from fs_core.types import Level, Target

__all__ = ["contents_of", "read_ignore_files", "rules_above", "with_file", "without_ignored"]

INLINE_BYTES_MAX: Final = 2 << 10
"""A larger file is compiled in a thread, since that takes milliseconds."""
INLINE_WORK_MAX: Final = 64 << 20
"""Characters of names times those of rules; with more, they are compared in a thread: one takes 10 ns at worst."""
NAME_CHARS_USUAL: Final = 16

_NOTHING: Final[AbstractSet[str]] = frozenset()


class _GivenUpError(Exception):
    """Raised in a thread whose result nobody waits for."""


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
        if not isinstance(error, NotFound | NotDirectory | NotRegularFile | SandboxDenied | None):  # links do not count
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


async def without_ignored(
    listed: Sequence[tuple[Directory, Level]], skipped: Counter[SkipReason]
) -> Sequence[tuple[Directory, Level]]:
    """Return listings without what the rules in force in each leave out and what belongs to version control."""
    left_out = await _ignored(listed)
    return [
        (directory, _kept(level, left_out.get(directory.prefix, _NOTHING), skipped))
        if directory.prefix in left_out or _has_version_control(level)
        else (directory, level)
        for directory, level in listed
    ]


async def _ignored(listed: Sequence[tuple[Directory, Level]]) -> Mapping[str, AbstractSet[str]]:
    """Return the names that rules leave out, with a `/` behind those of directories, by the prefix before them."""
    together: list[tuple[IgnoreRules, Names]] = []
    for directory, level in listed:
        if directory.rules.files:
            files = level.files
            if level.others:
                files = [*files, *(entry.name for entry in level.others if entry.addressable)]
            together.append((directory.rules, Names(directory.prefix, files, level.directories)))
    left_out: dict[str, set[str]] = {}
    for path in await _ignored_paths(together):
        end = path.rfind("/", 0, len(path) - 1) + 1
        left_out.setdefault(path[:end], set()).add(path[end:])
    return left_out


async def _ignored_paths(listed: Sequence[tuple[IgnoreRules, Names]]) -> AbstractSet[str]:
    """Return what rules leave out of several directories, without keeping the event loop from its work for long."""
    work = sum(
        rules.size_chars * (len(names.files) + len(names.directories)) * (len(names.prefix) + NAME_CHARS_USUAL)
        for rules, names in listed
    )
    if work <= INLINE_WORK_MAX:
        return ignored(listed)
    is_given_up = Event()

    def check() -> None:
        if is_given_up.is_set():
            raise _GivenUpError

    try:
        return await to_thread.run_sync(partial(ignored, listed, check=check), abandon_on_cancel=True)
    finally:
        is_given_up.set()


def _kept(level: Level, ignored: AbstractSet[str], skipped: Counter[SkipReason]) -> Level:
    keep = [_keeps(name, ignored) for name in level.files]
    directories = [name for name in level.directories if _keeps(name, ignored, mark="/")]
    others = [entry for entry in level.others if _keeps(entry.name, ignored)]
    skipped[SkipReason.IGNORED] += len(keep) - sum(keep)
    skipped[SkipReason.IGNORED] += len(level.directories) - len(directories) + len(level.others) - len(others)
    return Level(
        files=list(compress(level.files, keep)),
        sizes=None if level.sizes is None else list(compress(level.sizes, keep)),
        directories=directories,
        others=others,
        is_complete=level.is_complete,
    )


def _has_version_control(level: Level) -> bool:
    isdisjoint = VERSION_CONTROL_NAMES.isdisjoint
    if isdisjoint(level.directories) and isdisjoint(level.files):
        return bool(level.others) and not isdisjoint([entry.name for entry in level.others])
    return True


def _keeps(name: str, ignored: AbstractSet[str], *, mark: str = "") -> bool:
    return name not in VERSION_CONTROL_NAMES and name + mark not in ignored
