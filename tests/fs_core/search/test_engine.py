"""Searches through a session."""

import subprocess
import sys
from collections.abc import Awaitable, Callable

import pytest

from fs_core.errors import InvalidPath, NotFound, SandboxDenied
from fs_core.search.bounds import SearchBounds
from fs_core.search.grepping import LineQuery
from fs_core.session import FileSession
from tests.fs_core.seam import Seam

pytestmark = pytest.mark.anyio

BOUNDS = SearchBounds()
Search = Callable[[FileSession, str], Awaitable[None]]


@pytest.fixture
def seam() -> Seam:
    seam = Seam()
    seam.put("src/a.py", b"one\n")
    seam.put("src/b.txt", b"one\ntwo\n")
    return seam


async def test_a_session_searches_by_path_and_notes_nothing_as_seen(seam: Seam) -> None:
    session = seam.session()
    tree = await session.list_tree("src/../src/", depth=1, bounds=BOUNDS)
    paths = await session.glob("src", "*.py", bounds=BOUNDS)
    lines = await session.grep("memory://src", LineQuery("one", include="*.txt"), bounds=BOUNDS)
    assert [entry.path for entry in tree.entries] == ["src/a.py", "src/b.txt"]
    assert paths.paths == ("src/a.py",)
    assert [file.path for file in lines.files] == ["src/b.txt"]
    assert [found.start.display_path for found in (tree, paths, lines)] == ["src"] * 3
    assert [await seam.seen(path) for path in ("src/a.py", "src/b.txt")] == [None, None]


async def _list(session: FileSession, path: str) -> None:
    await session.list_tree(path, depth=1, bounds=BOUNDS)


async def _glob(session: FileSession, path: str) -> None:
    await session.glob(path, "*", bounds=BOUNDS)


async def _grep(session: FileSession, path: str) -> None:
    await session.grep(path, LineQuery("one"), bounds=BOUNDS)


@pytest.mark.parametrize("search", [_list, _glob, _grep])
async def test_paths_are_refused_as_everywhere(seam: Seam, search: Search) -> None:
    for path, refusal in (("/etc", SandboxDenied), ("..", SandboxDenied), (" ", InvalidPath), ("nope", NotFound)):
        with pytest.raises(refusal):
            await search(seam.session(), path)


def test_the_libraries_of_a_search_load_with_the_first_search() -> None:
    program = "import sys, fs_core.session; print(sorted({'re2', 'pathspec'} & sys.modules.keys()))"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True, timeout=60)
    assert done.stdout == "[]\n"
