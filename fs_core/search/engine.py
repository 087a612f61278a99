"""One's way in a tree: what there is, what is called so, and which lines say so."""

from fs_core.protocol import Backend
from fs_core.search import globbing, grepping, tree_listing
from fs_core.search.bounds import SearchBounds, Watch
from fs_core.search.grepping import LineQuery
from fs_core.search.outcomes import Globbed, Grepped, TreeListed
from fs_core.types import Target

__all__ = ["TreeSearch"]


class TreeSearch:
    """Searches over one backend. They change nothing, and any number may run at once."""

    def __init__(self, backend: Backend) -> None:
        self._backend = backend

    async def list_tree(
        self, start: Target, *, depth: int, bounds: SearchBounds, watch: Watch | None = None
    ) -> TreeListed:
        """Return the entries below `start` down to `depth` levels; see `fs_core.search.tree_listing`."""
        return await tree_listing.list_tree(self._backend, start, depth=depth, bounds=bounds, watch=watch)

    async def glob(self, start: Target, pattern: str, *, bounds: SearchBounds, watch: Watch | None = None) -> Globbed:
        """Return the paths below `start` that `pattern` means; see `fs_core.search.globbing`."""
        return await globbing.glob(self._backend, start, pattern, bounds=bounds, watch=watch)

    async def grep(
        self, start: Target, query: LineQuery, *, bounds: SearchBounds, watch: Watch | None = None
    ) -> Grepped:
        """Return the lines that match in the files below `start`; see `fs_core.search.grepping`."""
        return await grepping.grep(self._backend, start, query, bounds=bounds, watch=watch)
