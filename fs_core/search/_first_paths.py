"""The first of many paths, in the order of their bytes, however they come. Pure."""

from collections.abc import Sequence

__all__ = ["FirstPaths", "fitting"]


class FirstPaths:
    """Keeps the first `entries_max` of the paths that it is given, and counts all in `total`."""

    def __init__(self, *, entries_max: int) -> None:
        self.total = 0
        self._entries_max = entries_max
        self._paths: list[str] = []
        self._last: str | None = None

    def add(self, prefix: str, names: Sequence[str]) -> None:
        """Take a path for each of `names`, all with the same beginning."""
        self.total += len(names)
        if self._last is None or prefix <= self._last:
            self._paths.extend([prefix + name for name in names])
            if len(self._paths) > 2 * self._entries_max:
                self._cut()

    def first(self) -> Sequence[str]:
        """Return those that are kept, in order."""
        self._cut()
        return self._paths

    def _cut(self) -> None:
        self._paths.sort()
        if len(self._paths) >= self._entries_max:
            del self._paths[self._entries_max :]
            self._last = self._paths[-1]


def fitting(paths: Sequence[str], *, size_bytes: int) -> int:
    """Return how many of the first paths have room in `size_bytes`, with a line end behind each."""
    for index, path in enumerate(paths):
        size_bytes -= len(path.encode()) + 1
        if size_bytes < 0:
            return index
    return len(paths)
