"""Those who list, find and search in a tree of this machine.

`find`, `grep`: `apt-get install findutils grep`. `rg`: `apt-get install ripgrep`. deepagents: `pip install deepagents`;
its grep runs `rg` if there is one, and its glob and grep see no hidden names. fsspec: `pip install fsspec`.

All are asked for the same: they leave `.git` out where they can, and programs print what they find into a pipe.
"""

import os
import platform
import re
import shutil
import subprocess
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fnmatch import fnmatch
from importlib import import_module
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any, Final, Protocol, cast
from unittest import mock

__all__ = ["FIND", "RIPGREP", "TREE_PEERS", "TreePeer"]

_RG: Final = ("rg", "--hidden", "--no-require-git", "--glob", "!.git")


@dataclass(frozen=True, slots=True, kw_only=True)
class TreePeer:
    """How one takes part; what it cannot do is `None`.

    Attributes:
        name: The column of the table.
        install: The line that installs it.
        version: Returns what is installed, `None` if nothing is.
        top: Returns how many entries there are in the first two levels.
        files: Returns how many files there are.
        glob: Returns how many files have a name that a pattern without `/` means.
        grep: Returns how many lines have a text.
        note: What it leaves out.
    """

    name: str
    install: str
    version: Callable[[], str | None]
    top: Callable[[Path], int] | None = None
    files: Callable[[Path], int] | None = None
    glob: Callable[[Path, str], int] | None = None
    grep: Callable[[Path, str], int] | None = None
    note: str = ""


class _Deepagents(Protocol):
    """What is used of the backend, which may not be installed."""

    def glob(self, pattern: str) -> Any: ...  # noqa: ANN401 - loaded by name

    def grep(self, pattern: str) -> Any: ...  # noqa: ANN401


class _FileSystem(Protocol):
    """What is used of the file system of fsspec."""

    def find(self, path: str) -> Sequence[str]: ...

    def glob(self, path: str) -> Sequence[str]: ...


def _lines(root: Path, *command: str) -> int:
    """Run a program in the tree and return how many lines it prints."""
    done = subprocess.run(command, cwd=root, stdout=subprocess.PIPE, check=True)
    return done.stdout.count(b"\n")


def _find(root: Path, *what: str) -> int:
    return _lines(root, "find", ".", "-path", "./.git", "-prune", "-o", "-type", "f", *what, "-print")


def _find_top(root: Path) -> int:
    return _lines(root, "find", ".", "-mindepth", "1", "-maxdepth", "2", "-path", "./.git", "-prune", "-o", "-print")


def _walk(root: Path, pattern: str | None = None) -> int:
    count = 0
    for directory, below, names in os.walk(root):
        if directory == str(root):
            below.remove(".git")
        count += len(names) if pattern is None else sum(fnmatch(name, pattern) for name in names)
    return count


def _deepagents(root: Path) -> _Deepagents:
    library = import_module("deepagents.backends.filesystem")
    return cast("_Deepagents", library.FilesystemBackend(root_dir=root, virtual_mode=True))


def _deepagents_glob(root: Path, pattern: str) -> int:
    found = _deepagents(root).glob(pattern)
    if found.error is not None:
        raise RuntimeError(found.error)
    return len(found.matches)


def _deepagents_grep(root: Path, text: str) -> int:
    found = _deepagents(root).grep(text)
    if found.matches is None:
        raise RuntimeError(found.error)
    return len(found.matches)  # beside an error for every file that is no text


def _deepagents_own_grep(root: Path, text: str) -> int:
    with mock.patch("deepagents.backends.filesystem._resolve_ripgrep_path", return_value=None):
        return _deepagents_grep(root, text)


def _fsspec() -> _FileSystem:
    return cast("_FileSystem", import_module("fsspec").filesystem("file"))


def _of_program(name: str) -> Callable[[], str | None]:
    def found() -> str | None:
        if shutil.which(name) is None:
            return None
        said = subprocess.run([name, "--version"], capture_output=True, text=True, check=True).stdout
        number = re.search(r"\d+(\.\d+)+", said)
        return said.splitlines()[0] if number is None else number.group()

    return found


def _of_package(name: str) -> Callable[[], str | None]:
    def found() -> str | None:
        try:
            return version(name)
        except PackageNotFoundError:
            return None

    return found


FIND: Final = TreePeer(
    name="find",
    install="apt-get install findutils",
    version=_of_program("find"),
    top=_find_top,
    files=_find,
    glob=lambda root, pattern: _find(root, "-name", pattern),
    note="a process; no order, no `.gitignore`",
)
RIPGREP: Final = TreePeer(
    name="rg",
    install="apt-get install ripgrep",
    version=_of_program("rg"),
    files=lambda root: _lines(root, *_RG, "--files"),
    glob=lambda root, pattern: _lines(root, *_RG, "--files", "--glob", pattern),
    grep=lambda root, text: _lines(root, *_RG, "--line-number", "--fixed-strings", text),
    note="a process with two threads; no order",
)
TREE_PEERS: Final = (
    FIND,
    RIPGREP,
    TreePeer(
        name="grep -r",
        install="apt-get install grep",
        version=_of_program("grep"),
        grep=lambda root, text: _lines(root, "grep", "-rIn", "--exclude-dir=.git", "-F", text),
        note="a process; no order, no `.gitignore`",
    ),
    TreePeer(
        name="deepagents",
        install="pip install deepagents",
        version=_of_package("deepagents"),
        glob=_deepagents_glob,
        grep=_deepagents_grep,
        note="no hidden names, no `.gitignore` in glob; literal texts alone, by the program `rg`",
    ),
    TreePeer(
        name="deepagents without rg",
        install="pip install deepagents",
        version=_of_package("deepagents"),
        grep=_deepagents_own_grep,
        note="what it does where the program is not installed",
    ),
    TreePeer(
        name="fsspec",
        install="pip install fsspec",
        version=_of_package("fsspec"),
        files=lambda root: len([path for path in _fsspec().find(str(root)) if "/.git/" not in path]),
        glob=lambda root, pattern: len(_fsspec().glob(f"{root}/**/{pattern}")),
        note="a stat for every name; no `.gitignore`",
    ),
    TreePeer(
        name="os.walk",
        install="part of Python",
        version=platform.python_version,
        files=_walk,
        glob=_walk,
        note="in process, in one thread; no order, no `.gitignore`",
    ),
)
