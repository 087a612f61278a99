"""The tools of a shell: `sed -n` with `wc -l` for a page, and `perl -pi` for an edit. `apt-get install perl sed`.

A process is started for each, as an agent's shell tool would have to.
"""

import shutil
import subprocess
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path

import anyio

from benchmarks.peers.files import Peer, RefusedError, Span

__all__ = ["PERL", "SED"]

_PERL_VERSION = ("perl", "-e", 'printf "%vd", $^V')


class _SedFiles:
    def __init__(self, root: Path) -> None:
        self._root = root

    async def read(self, name: str, span: Span) -> object:
        last = span.first_line + span.lines - 1
        await _run("wc", "-l", str(self._root / name))
        return await _run("sed", "-n", f"{span.first_line},{last}p;{last}q", str(self._root / name))

    async def edit(self, name: str, old: str, new: str, *, everywhere: bool = False) -> object:
        raise NotImplementedError("pages only")


class _PerlFiles:
    def __init__(self, root: Path) -> None:
        self._root = root

    async def read(self, name: str, span: Span) -> object:
        raise NotImplementedError("edits only")

    async def edit(self, name: str, old: str, new: str, *, everywhere: bool = False) -> object:
        # The exit status tells whether anything was replaced: without that the edit could not be refused.
        program = f"$n += s/\\Q{old}\\E/{new}/{'g' if everywhere else ''}; END {{ exit($n ? 0 : 9) }}"
        try:
            return await _run("perl", "-pi", "-e", program, str(self._root / name))
        except subprocess.CalledProcessError as error:
            raise RefusedError("nothing was replaced") from error


async def _run(*command: str) -> bytes:
    return (await anyio.run_process(command)).stdout


@asynccontextmanager
async def _sed_opened(root: Path) -> AsyncGenerator[_SedFiles]:
    yield _SedFiles(root)


@asynccontextmanager
async def _perl_opened(root: Path) -> AsyncGenerator[_PerlFiles]:
    yield _PerlFiles(root)


def _sed_version() -> str | None:
    return None if shutil.which("sed") is None else _said("sed", "--version").split()[-1]


def _perl_version() -> str | None:
    return None if shutil.which("perl") is None else _said(*_PERL_VERSION)


def _said(*command: str) -> str:
    """Return the first line of what a program prints."""
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout.splitlines()[0]


SED = Peer(
    name="sed and wc",
    install="apt-get install sed",
    version=_sed_version,
    opened=_sed_opened,
    read_note="two processes; no check of the text",
    edit_note="",
)
PERL = Peer(
    name="perl -pi",
    install="apt-get install perl",
    version=_perl_version,
    opened=_perl_opened,
    read_note="",
    edit_note="a process; replaces once a line; not atomic, no fsync; within a line only",
    refuses_ambiguous=False,
)
