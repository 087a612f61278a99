"""A file system that forgets: every state in which a crash may leave what was not flushed yet.

The rules, which are those of POSIX and not of one file system:

* A file's content, size and mode are apart from its name. Until `fsync` of the file each page written, each growth,
  each truncation and each change of mode may have reached the disk or not, independently of all others.
* An operation on a directory (create, mkdir, link, unlink, rename, exchange) is atomic. Until `fsync` of that directory
  it may have reached the disk or not, independently of all others; those that did apply in the order of the trace.
* `fsync` of a file says nothing about its name, `fsync` of a directory nothing about its own name or the files in it.
* What was flushed stays.
"""

import itertools
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

__all__ = [
    "Acknowledged",
    "Crash",
    "Disk",
    "Entries",
    "File",
    "Grow",
    "Node",
    "Op",
    "Page",
    "SetMode",
    "Sync",
    "Tree",
    "Truncate",
    "crashes",
    "without_crash",
]


@dataclass(frozen=True, slots=True)
class Node:
    """A file or a directory, whatever its names."""

    number: int
    is_directory: bool


@dataclass(frozen=True, slots=True)
class File:
    """What a file is made of."""

    data: bytes = b""
    mode: int = 0


@dataclass(frozen=True, slots=True)
class Page:
    """Data of at most one page; it is seen as far as the file's size reaches."""

    node: Node
    offset: int
    data: bytes


@dataclass(frozen=True, slots=True)
class Grow:
    """The size of a file reaches at least this far."""

    node: Node
    size_bytes: int


@dataclass(frozen=True, slots=True)
class Truncate:
    """The size of a file is this."""

    node: Node
    size_bytes: int


@dataclass(frozen=True, slots=True)
class SetMode:
    """The mode of a file."""

    node: Node
    mode: int


@dataclass(frozen=True, slots=True)
class Entries:
    """One operation on a directory: what its names stand for afterwards, `None` for a name that is gone."""

    node: Node
    names: tuple[tuple[str, Node | None], ...]


@dataclass(frozen=True, slots=True)
class Sync:
    """`fsync` of a file or a directory."""

    node: Node


@dataclass(frozen=True, slots=True)
class Acknowledged:
    """A write was reported to its caller, as done or as refused."""


Change = Page | Grow | Truncate | SetMode | Entries
Op = Change | Sync | Acknowledged

Tree = tuple[tuple[str, File | None], ...]
"""What stands on the disk after a crash, by path from the root; `None` is a directory."""


@dataclass(frozen=True, slots=True)
class Disk:
    """What is durable."""

    root: Node
    files: Mapping[Node, File]
    directories: Mapping[Node, Mapping[str, Node]]


@dataclass(frozen=True, slots=True)
class Crash:
    """One state after a crash, and how many writes had been reported before it."""

    acknowledged: int
    tree: Tree


def crashes(disk: Disk, trace: Sequence[Op]) -> dict[Crash, tuple[Op, ...]]:
    """Return every state that a crash may leave, each with the shortest part of the trace that leads to it."""
    found: dict[Crash, tuple[Op, ...]] = {}
    state = _State(disk)
    acknowledged = 0
    for position in range(len(trace) + 1):
        for tree in state.trees():
            found.setdefault(Crash(acknowledged, tree), tuple(trace[:position]))
        if position < len(trace):
            op = trace[position]
            acknowledged += isinstance(op, Acknowledged)
            state.apply(op)
    return found


def without_crash(disk: Disk, trace: Sequence[Op]) -> Tree:
    """Return what stands there when everything has reached the disk."""
    state = _State(disk)
    for op in trace:
        state.apply(op)
    for node in {op.node for op in trace if not isinstance(op, Acknowledged)}:
        state.apply(Sync(node))
    (tree,) = state.trees()
    return tree


class _State:
    """What is durable, and for each file and directory the changes that are not."""

    def __init__(self, disk: Disk) -> None:
        self._root = disk.root
        self._files = dict(disk.files)
        self._directories = {node: dict(names) for node, names in disk.directories.items()}
        self._pending: dict[Node, list[Change]] = {}

    def apply(self, op: Op) -> None:
        if isinstance(op, Acknowledged):
            return
        if not isinstance(op, Sync):
            self._pending.setdefault(op.node, []).append(op)
            return
        pending = self._pending.pop(op.node, [])
        if op.node.is_directory:
            self._directories[op.node] = _entries(self._directories.get(op.node, {}), pending)
        else:
            self._files[op.node] = _content(self._files.get(op.node, File()), pending)

    def trees(self) -> Iterator[Tree]:
        return self._below(self._root, "")

    def _below(self, node: Node, path: str) -> Iterator[Tree]:
        """Yield all states of what is below a directory."""
        durable = self._directories.get(node, {})
        states = {tuple(sorted(_entries(durable, some).items())) for some in self._subsets(node)}
        for entries in states:
            for parts in itertools.product(*(self._at(child, f"{path}{name}") for name, child in entries)):
                yield tuple(itertools.chain.from_iterable(parts))

    def _at(self, node: Node, path: str) -> list[Tree]:
        """Return all states of one file or directory, with what is below it."""
        if node.is_directory:
            return [((path, None), *below) for below in self._below(node, f"{path}/")]
        durable = self._files.get(node, File())
        return [((path, file),) for file in {_content(durable, some) for some in self._subsets(node)}]

    def _subsets(self, node: Node) -> Iterable[tuple[Change, ...]]:
        pending = self._pending.get(node, [])
        return itertools.chain.from_iterable(
            itertools.combinations(pending, count) for count in range(len(pending) + 1)
        )


def _entries(durable: Mapping[str, Node], changes: Iterable[Change]) -> dict[str, Node]:
    names: dict[str, Node | None] = {**durable}
    for change in changes:
        assert isinstance(change, Entries)
        names.update(change.names)
    return {name: node for name, node in names.items() if node is not None}


def _content(durable: File, changes: Iterable[Change]) -> File:
    data, size, mode = bytearray(durable.data), len(durable.data), durable.mode
    for change in changes:
        match change:
            case Page(offset=offset, data=piece):
                data.extend(bytes(max(0, offset + len(piece) - len(data))))
                data[offset : offset + len(piece)] = piece
            case Grow(size_bytes=reached):
                size = max(size, reached)
            case Truncate(size_bytes=size):
                data = data[:size]
            case SetMode(mode=mode):
                pass
            case Entries():
                raise AssertionError("a file has no entries")
    return File(bytes(data[:size].ljust(size, b"\0")), mode)
