"""Which names of a directory a walk goes on with: what is left out, what a pattern means, what can lead to more."""

from collections import Counter
from collections.abc import Sequence
from itertools import compress

from fs_core.errors import (
    FsError,
    NotDirectory,
    NotFound,
    NotRegularFile,
    PermissionDenied,
    SandboxDenied,
    StaleVersion,
    TooLarge,
)
from fs_core.search._glob_names import NameMatcher
from fs_core.search.globs import Glob, Reach
from fs_core.search.ignore import IgnoreRules
from fs_core.search.outcomes import SkipReason
from fs_core.types import Entry, Level, Target

__all__ = ["Directory", "Sieve", "prefix_of", "reason_of", "with_slash"]


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
        weight: How much memory it takes, in names, while it is listed ahead.
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
        "weight",
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
        self.weight = 0


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
        if not level.is_complete:
            self.is_complete = False
            self.skipped[SkipReason.TOO_LARGE] += 1
        reach = self._glob.reach(directory.state)
        directory.files, directory.sizes = _meant(level, reach.files)
        if reach.directories is not None:
            directory.shown = reach.directories.meant(level.directories)
        if level.others:
            directory.links = self._links(level.others, reach.files)
        if level.directories:
            directory.below, directory.states = _led_to(reach, level.directories)

    def _links(self, others: Sequence[Entry], meant: NameMatcher | None) -> Sequence[str]:
        """Return the links that are shown, and count all the others."""
        links = [entry.name for entry in others if entry.is_link and entry.addressable]
        unnameable = sum(not entry.addressable for entry in others)
        shown = meant.meant(links) if self._with_links and meant is not None else ()
        self.skipped[SkipReason.UNNAMEABLE] += unnameable
        self.skipped[SkipReason.SPECIAL] += len(others) - unnameable - len(links)
        self.skipped[SkipReason.LINK] += len(links) - len(shown)
        return shown


def prefix_of(directory: Target) -> str:
    """Return what stands before a name in `directory` in a path below the root."""
    return "" if directory.display_path == "." else f"{directory.display_path}/"


def reason_of(error: FsError) -> SkipReason:
    """Return what keeps something from being looked at."""
    match error:
        case PermissionDenied() | SandboxDenied():
            return SkipReason.DENIED
        case NotFound() | NotDirectory() | NotRegularFile() | StaleVersion():
            return SkipReason.VANISHED
        case TooLarge():
            return SkipReason.TOO_LARGE
        case _:
            return SkipReason.FAILED


def with_slash(name: str) -> str:
    """Return what the name of a directory is ordered by."""
    return f"{name}/"


def _led_to(reach: Reach, directories: Sequence[str]) -> tuple[Sequence[str], Sequence[int]]:
    """Return the directories below which something can be meant, in the order in which they are walked."""
    if not reach.leads_further:
        return (), ()
    in_order = sorted(directories, key=with_slash) if len(directories) > 1 else directories
    states = reach.below(in_order)
    if reach.stays:
        return in_order, states
    return list(compress(in_order, states)), [state for state in states if state]


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
