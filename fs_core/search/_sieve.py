"""Which names of a directory a walk goes on with: what is left out, what a pattern means, what can lead to more."""

from collections import Counter
from collections.abc import Sequence
from itertools import compress

from fs_core.errors import FsError, NotDirectory, NotFound, PermissionDenied, SandboxDenied, StaleVersion, TooLarge
from fs_core.search.globs import Glob
from fs_core.search.ignore import VERSION_CONTROL_NAMES, IgnoreRules, Names
from fs_core.search.outcomes import SkipReason
from fs_core.types import Entry, Level, Target

__all__ = ["Directory", "Sieve", "prefix_of", "reason_of"]


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
    """Sifts directories, and counts what it leaves out.

    Attributes:
        skipped: How many names of each kind were left out.
        directories: How many directories were sifted.
        files: How many files were met in them.
    """

    def __init__(self, glob: Glob, *, gitignore: bool, with_links: bool) -> None:
        self.skipped: Counter[SkipReason] = Counter()
        self.directories = 0
        self.files = 0
        self._glob = glob
        self._gitignore = gitignore
        self._with_links = with_links

    def sift(self, listed: Sequence[tuple[Directory, Level]]) -> None:
        """Fill directories with what is left of their listings; the rules of each are those in force in it."""
        ignored = self._ignored(listed) if self._gitignore else {}
        for directory, level in listed:
            self._sift(directory, level, ignored.get(directory.prefix, frozenset()))

    def refused(self, error: FsError) -> None:
        """Count what cannot be looked at."""
        self.skipped[reason_of(error)] += 1

    def _ignored(self, listed: Sequence[tuple[Directory, Level]]) -> dict[str, frozenset[str]]:
        """Return the names that are left out, with a `/` behind those of directories, by the prefix before them."""
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
        return {prefix: frozenset(names) for prefix, names in ignored.items()}

    def _sift(self, directory: Directory, level: Level, ignored: frozenset[str]) -> None:
        files, sizes, directories, others = level.files, level.sizes, level.directories, level.others
        if ignored or (self._gitignore and _has_version_control(level)):
            keep = [_keeps(name, ignored, "") for name in files]
            files = list(compress(files, keep))
            sizes = None if sizes is None else list(compress(sizes, keep))
            directories = [name for name in directories if _keeps(name, ignored, "/")]
            others = [entry for entry in others if _keeps(entry.name, ignored, "")]
            kept = len(files) + len(directories) + len(others)
            all_names = len(level.files) + len(level.directories) + len(level.others)
            self.skipped[SkipReason.IGNORED] += all_names - kept
        self.directories += 1
        self.files += len(files)
        reach = self._glob.reach(directory.state)
        directory.files, directory.sizes = files, sizes
        if reach.files is None:
            directory.files, directory.sizes = (), None if sizes is None else ()
        elif not reach.files.is_all:
            if sizes is None:
                directory.files = reach.files.meant(files)
            else:
                which = reach.files.which(files)
                directory.files = list(compress(files, which))
                directory.sizes = list(compress(sizes, which))
        directory.shown = () if reach.directories is None else reach.directories.meant(directories)
        directory.links = self._links(others, directory.state)
        in_order = sorted(directories, key=_with_slash)
        states = reach.below(in_order)
        directory.below, directory.states = list(compress(in_order, states)), [state for state in states if state]

    def _links(self, others: Sequence[Entry], state: int) -> Sequence[str]:
        """Return the links that are shown, and count all the others."""
        if not others:
            return ()
        links = [entry.name for entry in others if entry.is_link and entry.addressable]
        unnameable = sum(not entry.addressable for entry in others)
        files = self._glob.reach(state).files
        shown = files.meant(links) if self._with_links and files is not None else ()
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
        case NotFound() | NotDirectory() | StaleVersion():
            return SkipReason.VANISHED
        case TooLarge():
            return SkipReason.TOO_LARGE
        case _:
            return SkipReason.FAILED


def _has_version_control(level: Level) -> bool:
    isdisjoint = VERSION_CONTROL_NAMES.isdisjoint
    return not (
        isdisjoint(level.directories) and isdisjoint(level.files) and isdisjoint(entry.name for entry in level.others)
    )


def _keeps(name: str, ignored: frozenset[str], mark: str) -> bool:
    return name not in VERSION_CONTROL_NAMES and name + mark not in ignored


def _with_slash(name: str) -> str:
    return f"{name}/"
