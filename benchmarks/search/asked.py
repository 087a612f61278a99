"""What all are asked for in a tree, and whether they found it."""

from collections.abc import Awaitable, Callable
from inspect import isawaitable
from typing import Final

from benchmarks.measure.case import Case
from benchmarks.search.source_tree import NEEDLE, SourceTree
from fs_core.search.bounds import SearchBounds
from fs_core.search.grepping import LineQuery
from fs_core.session import FileSession

__all__ = ["GLOB", "GLOBBING", "GREPPING", "LISTING", "SEAM", "TOP", "SeamSearch", "checked", "tree_case"]

SEAM: Final = "seamfs"
TOP: Final = "two levels"
LISTING: Final = "all names"
GLOB: Final = "*.py"
GLOBBING: Final = f"glob of {GLOB}"
GREPPING: Final = "grep of a rare text"

_TOP_DEPTH: Final = 2
_BOUNDS: Final = SearchBounds(timeout_s=120.0)
"""As the tools have them, but for the time: on a slow machine everything is to be found."""


class SeamSearch:
    """Ours: a session of a workspace, which shows what the tools would show, and counts the rest."""

    def __init__(self, session: FileSession) -> None:
        self._session = session

    async def top(self) -> int:
        """Return how many entries there are in the first levels; they are few enough to be shown."""
        return (await self._session.list_tree(".", depth=_TOP_DEPTH, bounds=_BOUNDS)).total

    async def names(self) -> int:
        """Return how many files there are."""
        return (await self._session.glob(".", "*", bounds=_BOUNDS)).total

    async def glob(self) -> int:
        """Return how many files have a name that the pattern means."""
        return (await self._session.glob(".", GLOB, bounds=_BOUNDS)).total

    async def grep(self) -> int:
        """Return how many lines have the text."""
        return (await self._session.grep(".", LineQuery(NEEDLE), bounds=_BOUNDS)).matches


def checked(ask: Callable[[], int | Awaitable[int]], expected: int) -> Callable[[], Awaitable[None]]:
    """Return what asks and raises if another number than the expected one comes."""

    async def run() -> None:
        found = ask()
        count = await found if isawaitable(found) else found
        if count != expected:
            raise RuntimeError(f"{count} were found where there are {expected}")

    return run


def tree_case(operation: str, tree: SourceTree, *, store: str = "local disk", latency_ms: int = 0) -> Case:
    """Return a case on a tree."""
    return Case(
        group="search",
        operation=operation,
        size_bytes=tree.size_bytes or None,
        content=f"{tree.files:,} files",
        store=store,
        latency_ms=latency_ms,
    )
