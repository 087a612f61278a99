"""Which names of a directory a walk goes on with: what is left out, what a pattern means, what can lead to more."""

from collections import Counter
from collections.abc import Mapping, Sequence
from collections.abc import Set as AbstractSet
from itertools import compress
from typing import Final

from fs_core.errors import FsError, NotDirectory, NotFound, PermissionDenied, SandboxDenied, StaleVersion, TooLarge
from fs_core.search._glob_names import NameMatcher
from fs_core.search.globs import Glob
from fs_core.search.ignore import VERSION_CONTROL_NAMES, IgnoreRules, Names
from fs_core.search.outcomes import SkipReason
from fs_core.types import Entry, Level, Target

__all__ = ["Directory", "Sieve", "prefix_of", "reason_of", "with_slash", "without_ignored"]

_NOTHING: Final[AbstractSet[str]] = frozenset()


class Directory:
    """A directory on the way of a walk.

    Attributes:
        target: Where it is.
        prefix: What stands before a name in it in a path below the root.
        state: How far the pattern is matched.
        rules: The rules in force in it; until it is sifted those of the directory above.
        parent: The directory above, if that is part of the walk.
        index: Its place among the directories of `parent`.
        files: Names of files that the pattern means, with `sizes` if they were asked for.
        shown: Names of directories that the pattern means.
        links: Names of links that the pattern means.
        below: Names of directories below which the pattern can mean something, in the order in which they are walked,
            with their `states`.
    """

    __slots__ = (
        "below",
        "files",
        "index",
        "links",
        "parent",
        "prefix",
        "rules",
        "shown",
        "sizes",
        "state",
        "states",
        "target",
    )

    def __init__(
        self,
        target: Target,
        *,
        state: int,
        rules: IgnoreRules,
        parent: "Directory | None" = None,
        index: int = 0,
    ) -> None:
        self.target = target
        self.prefix = prefix_of(target)
        self.state = state
        self.rules = rules
        self.parent = parent
        self.index = index
        self.files: Sequence[str] = ()
        self.sizes: Sequence[int | None] | None = None
        self.shown: Sequence[str] = ()
        self.links: Sequence[str] = ()
        self.below: Sequence[str] = ()
        self.states: Sequence[int] = ()


class Sieve:
    """Sifts directories by a pattern, and counts what it leaves out.

    Attributes:
        skipped: How many names of each kind were left out.
        directories: How many directories there were, which is counted by whoever lists them.
        files: How many files were met.
        is_complete: Whether none had more names than are looked at.
    """

    def __init__(self, glob: Glob, *, with_links: bool) -> None:
        self.skipped: Counter[SkipReason] = Counter()
        self.is_complete = True
        self.directories = 0
        self.files = 0
        self._glob = glob
        self._with_links = with_links

    def sift(self, directory: Directory, level: Level) -> None:
        """Fill `directory` with those of its names that count."""
        self.files += len(level.files)
        self.is_complete &= level.is_complete
        self.skipped[SkipReason.TOO_LARGE] += not level.is_complete
        reach = self._glob.reach(directory.state)
        directory.files, directory.sizes = _meant(level, reach.files)
        directory.shown = () if reach.directories is None else reach.directories.meant(level.directories)
        directory.links = self._links(level.others, reach.files) if level.others else ()
        in_order = sorted(level.directories, key=with_slash)
        states = reach.below(in_order)
        directory.below, directory.states = list(compress(in_order, states)), [state for state in states if state]

    def _links(self, others: Sequence[Entry], meant: NameMatcher | None) -> Sequence[str]:
        """Return the links that are shown, and count all the others."""
        links = [entry.name for entry in others if entry.is_link and entry.addressable]
        unnameable = sum(not entry.addressable for entry in others)
        shown = meant.meant(links) if self._with_links and meant is not None else ()
        self.skipped[SkipReason.UNNAMEABLE] += unnameable
        self.skipped[SkipReason.SPECIAL] += len(others) - unnameable - len(links)
        self.skipped[SkipReason.LINK] += len(links) - len(shown)
        return shown


def without_ignored(
    listed: Sequence[tuple[Directory, Level]], skipped: Counter[SkipReason]
) -> Sequence[tuple[Directory, Level]]:
    """Return listings without what the rules in force in each leave out and what belongs to version control."""
    ignored = _ignored(listed)
    return [
        (directory, _kept(level, ignored.get(directory.prefix, _NOTHING), skipped))
        if directory.prefix in ignored or _has_version_control(level)
        else (directory, level)
        for directory, level in listed
    ]


def prefix_of(directory: Target) -> str:
    """Return what stands before a name in `directory` in a path below the root."""
    return "" if directory.display_path == "." else f"{directory.display_path}/"


def reason_of(error: FsError) -> SkipReason:
    """Return what keeps something from being looked at."""
    match error:
        case PermissionDenied() | SandboxDenied():
            return SkipReason.DENIED
        case NotFound() | NotDirectory() | StaleVersion():
            return SkipReason.VANISHED
        case TooLarge():
            return SkipReason.TOO_LARGE
        case _:
            return SkipReason.FAILED


def with_slash(name: str) -> str:
    """Return what the name of a directory is ordered by."""
    return f"{name}/"


def _meant(level: Level, matcher: NameMatcher | None) -> tuple[Sequence[str], Sequence[int | None] | None]:
    """Return the names of files that are meant, with their sizes if those are known."""
    files, sizes = level.files, level.sizes
    if matcher is None:
        return (), None if sizes is None else ()
    if matcher.is_all:
        return files, sizes
    if sizes is None:
        return matcher.meant(files), None
    which = matcher.which(files)
    return list(compress(files, which)), list(compress(sizes, which))


def _ignored(listed: Sequence[tuple[Directory, Level]]) -> Mapping[str, AbstractSet[str]]:
    """Return the names that rules leave out, with a `/` behind those of directories, by the prefix before them."""
    ignored: dict[str, set[str]] = {}
    together: dict[IgnoreRules, list[Names]] = {}
    for directory, level in listed:
        if directory.rules.files:
            others = [entry.name for entry in level.others if entry.addressable]
            names = Names(directory.prefix, [*level.files, *others] if others else level.files, level.directories)
            together.setdefault(directory.rules, []).append(names)
    for rules, names in together.items():
        for path in rules.ignored(names):
            end = path.rfind("/", 0, len(path) - 1) + 1
            ignored.setdefault(path[:end], set()).add(path[end:])
    return ignored


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
    return not (
        isdisjoint(level.directories) and isdisjoint(level.files) and isdisjoint(entry.name for entry in level.others)
    )


def _keeps(name: str, ignored: AbstractSet[str], *, mark: str = "") -> bool:
    return name not in VERSION_CONTROL_NAMES and name + mark not in ignored
