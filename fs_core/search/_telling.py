"""Whoever watches a search is told how far it has come, not more often than is of use."""

from collections import Counter
from typing import Final, Protocol

import anyio

from fs_core.search.bounds import Looked, Watch
from fs_core.search.outcomes import SkipReason

__all__ = ["Looking", "Telling"]

INTERVAL_S: Final = 0.1


class Looking(Protocol):
    """What a walk knows of how far it has come."""

    @property
    def skipped(self) -> Counter[SkipReason]:
        """How many names of each kind were left out."""
        ...

    @property
    def directories(self) -> int:
        """Directories that were listed."""
        ...

    @property
    def files(self) -> int:
        """Files that were met."""
        ...


class Telling:
    """Tells `watch`, if there is one."""

    def __init__(self, watch: Watch | None) -> None:
        self._watch = watch
        self._due_s = 0.0

    def tell(self, looking: Looking, *, found: int) -> None:
        """Tell how far a search has come, if that was not told just now."""
        if self._watch is not None and (now_s := anyio.current_time()) >= self._due_s:
            self._due_s = now_s + INTERVAL_S
            self._watch(Looked(directories=looking.directories, files=looking.files, found=found))
