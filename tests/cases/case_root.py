"""Where one case runs: its own root in a store, prepared, changed and looked at behind the store's back."""

import os
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from fs_core.testing.harness import DirectoryHarness, StoreHarness
from tests.cases.case_table import External, SetupDirectory, SetupFile, SetupHardlink, SetupSymlink

__all__ = ["CaseRoot", "Stored", "Tree"]


@dataclass(frozen=True)
class Stored:
    """What stands under one name; `data` of a link is its text, `mode` is `None` where the store knows none."""

    kind: Literal["file", "directory", "link"]
    data: bytes | None = None
    mode: int | None = None


Tree = Mapping[str, Stored]
"""Everything below a case's root, by path."""


class CaseRoot:
    """One case's root. Paths are relative to it; `workspace` is the part of it, at `below`, that is opened.

    A memory store has nothing above its root, so there the two are stores of their own; elsewhere one holds the other.
    """

    def __init__(self, whole: StoreHarness, workspace: StoreHarness, *, below: str) -> None:
        self.workspace = workspace
        self._whole = whole
        self._below = below

    def prepare(self, item: SetupFile | SetupDirectory | SetupSymlink | SetupHardlink) -> None:
        """Put one thing there before the first step."""
        match item:
            case SetupFile(path=path, mode=mode):
                harness, name = self._at(path)
                harness.put(name, item.data)
                if mode is not None:
                    harness.chmod(name, mode)
            case SetupDirectory(dir=path):
                harness, name = self._at(path)
                harness.mkdir(name)
            case SetupSymlink(symlink=path, to=to):
                harness, name = self._at(path)
                harness.link(name, to)
            case SetupHardlink(hardlink=path, to=to):
                assert isinstance(self._whole, DirectoryHarness)
                (self._whole.directory / path).hardlink_to(self._whole.directory / to)

    def change(self, step: External) -> None:
        """Make a change that no tool knows of."""
        [(verb, operands)] = step.external.items()
        path, operand = (operands, "") if isinstance(operands, str) else operands
        harness, name = self._at(path)
        match verb:
            case "write":
                harness.put(name, operand.encode())
            case "append":
                harness.put(name, _content(harness, name) + operand.encode())
            case "delete":
                harness.delete(name)
            case "mkdir":
                harness.mkdir(name)
            case "touch":
                _touch(harness, name)
            case "write_keep_mtime":
                _write_keeping_time(harness, name, operand.encode())
            case "relink":
                harness.delete(name)
                harness.link(name, operand)

    def look(self) -> Tree:
        """Return what is there now."""
        tree = dict(_walk(self._whole, "."))
        if self._below != ".":
            tree |= {f"{self._below}/{path}": stored for path, stored in _walk(self.workspace, ".")}
        return tree

    def _at(self, path: str) -> tuple[StoreHarness, str]:
        inner = path.removeprefix(f"{self._below}/")
        return (self._whole, path) if inner == path else (self.workspace, inner)


def _content(harness: StoreHarness, name: str) -> bytes:
    data = harness.get(name)
    assert data is not None
    return data


def _touch(harness: StoreHarness, name: str) -> None:
    """Give a file a new time; where nobody can set one, put the same bytes again."""
    if isinstance(harness, DirectoryHarness):
        (harness.directory / name).touch()
    else:
        harness.put(name, _content(harness, name))


def _write_keeping_time(harness: StoreHarness, name: str, data: bytes) -> None:
    """Replace a file's bytes and restore its time, where there is one to restore."""
    if isinstance(harness, DirectoryHarness):
        file = harness.directory / name
        status = file.stat()
        file.write_bytes(data)
        os.utime(file, ns=(status.st_atime_ns, status.st_mtime_ns))
    else:
        harness.put(name, data)


def _walk(harness: StoreHarness, directory: str) -> Iterator[tuple[str, Stored]]:
    for name in harness.names(directory):
        path = name if directory == "." else f"{directory}/{name}"
        stored = _stored(harness, path)
        yield path, stored
        if stored.kind == "directory":
            yield from _walk(harness, path)


def _stored(harness: StoreHarness, path: str) -> Stored:
    if isinstance(harness, DirectoryHarness) and (harness.directory / path).is_symlink():
        return Stored("link", os.fsencode(Path.readlink(harness.directory / path)))
    data = harness.get(path)
    return Stored(
        kind="directory" if data is None else "file", data=data, mode=harness.mode(path) if harness.has_modes else None
    )
