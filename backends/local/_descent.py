"""From directory to directory below the root, for an operation on many of them.

A step that two directories have in common is taken once. Every directory is opened from the one above it, without
following a link; what is held open is the directory itself, wherever somebody moves it meanwhile.
"""

import os
from collections.abc import Generator
from contextlib import contextmanager
from typing import Final

from backends.local._errors import mapped_errors
from backends.local._tree import Names, Tree, open_directory
from fs_core.errors import Operation

__all__ = ["Descent", "descending"]

_HELD_MAX: Final = 32
"""Directories that are held open at once, of those above one another; deeper ones take their steps again."""


class Descent:
    """A stack of open directories, each below the one before."""

    def __init__(self, root: int, *, operation: Operation) -> None:
        self._operation: Operation = operation
        self._names: Names = ()
        self._held = [(0, root)]  # how many names lead there, and its descriptor

    def enter(self, names: Names, *, path: str) -> int:
        """Return a descriptor of the directory `names` that is good until the next call, for walking on from it."""
        if names == self._names:
            return self._held[-1][1]
        common = _common(names, self._names)
        while self._held[-1][0] > common:
            os.close(self._held.pop()[1])
        depth, fd = self._held[-1]
        self._names = names[:depth]
        while depth < len(names):
            below = open_directory(fd, names[depth], path=path, operation=self._operation)
            if len(self._held) == _HELD_MAX:
                os.close(self._held.pop()[1])
            depth, fd = depth + 1, below
            self._held.append((depth, fd))
            self._names = names[:depth]
        return fd

    def close(self) -> None:
        """Release all descriptors."""
        for _, fd in self._held:
            os.close(fd)


@contextmanager
def descending(tree: Tree, *, path: str, operation: Operation) -> Generator[Descent]:
    """Give a descent that begins at the root; `path` is for the refusal of a closed workspace."""
    with mapped_errors(path, operation):
        descent = Descent(tree.enter(path=path, operation=operation), operation=operation)
    try:
        yield descent
    finally:
        descent.close()


def _common(one: Names, other: Names) -> int:
    """Return how many first names two paths share."""
    for index, (name, same) in enumerate(zip(one, other, strict=False)):
        if name != same:
            return index
    return min(len(one), len(other))
