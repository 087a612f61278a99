"""A hostile process swaps names for links while the workspace is used: nothing outside is seen, changed or removed."""

import subprocess
import sys
from collections import Counter
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path

import anyio
import pytest

from backends.local import LocalBackend, _staging, open_local
from backends.options import LocalOptions
from fs_core.edit import Edit
from fs_core.errors import ErrorCode, FsError, NotFound, Unavailable
from fs_core.filesystem import BackedFileSystem
from fs_core.page import Window
from fs_core.paths import parse_path
from fs_core.policy import Unguarded
from fs_core.session import FileSession
from fs_core.types import IfAbsent, IfVersion, Version

pytestmark = pytest.mark.anyio

SECRET = "SECRET of outside\n"
OURS = "inside\n"
ROUNDS_MAX = 4_000
_SWAPPER = Path(__file__).parent / "servers" / "link_swapper.py"


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


@contextmanager
def swapping(root: Path, outside: Path) -> Generator[None]:
    with subprocess.Popen([sys.executable, "-S", "-E", str(_SWAPPER), str(root), str(outside)]) as process:
        try:
            yield
            assert process.poll() is None, "the hostile process ended by itself"
        finally:
            process.kill()


def picture(directory: Path) -> dict[str, tuple[int, int, str]]:
    """Return everything below a directory: size, time of change and content."""
    return {
        str(path.relative_to(directory)): (
            path.lstat().st_size,
            path.lstat().st_mtime_ns,
            path.read_text() if path.is_file() else "",
        )
        for path in (directory, *directory.rglob("*"))
    }


class Agent:
    """Uses the workspace in every way there is, and keeps what it was shown."""

    def __init__(self, backend: LocalBackend) -> None:
        self._backend = backend
        self._session = FileSession(BackedFileSystem(backend), policy=Unguarded())
        self.codes: Counter[str] = Counter()
        self.shown: set[str] = set()

    async def round(self, number: int) -> None:
        for step in (self._read, self._write, self._near_names, self._list, self._made_parents):
            try:
                await step(f"{number}")
            except NotFound as error:
                self.codes[error.code] += 1
                self.shown.update(error.near_names)
            except FsError as error:
                self.codes[error.code] += 1
                self.shown.add(str(error))
            else:
                self.codes["done"] += 1

    async def _read(self, name: str) -> None:
        for path in ("d/f", "f", f"d/new-{name}"):
            page = (await self._session.read(path, Window())).page
            self.shown.update(line.text for line in page.lines)

    async def _write(self, name: str) -> None:
        await self._session.write(f"d/new-{name}", OURS)
        await self._session.edit("d/f", Edit(old_string="inside", new_string="inside"[:5] + "e", replace_all=True))
        await self._session.write("f", OURS)

    async def _near_names(self, name: str) -> None:
        await self._session.read(f"d/secret-nam{name}", Window())

    async def _list(self, name: str) -> None:
        self.shown.add(name)
        target = await self._backend.resolve(parse_path("d", self._backend.root))
        self.shown.update(entry.name for entry in (await self._backend.list(target, limit=1_000)).entries)

    async def _made_parents(self, name: str) -> None:
        target = await self._backend.resolve(parse_path(f"d/made/{name}/x", self._backend.root))
        # Refused after its parents were made, which are removed again.
        await self._backend.write(target, b"x", condition=IfVersion(Version("none", settled=False)))


async def test_links_swapped_in_a_tight_loop_never_lead_outside(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(_staging, "_SWEEP_AGAIN_S", 0.0)
    root, outside = tmp_path / "root", tmp_path / "outside"
    for directory, text in ((root / "d", OURS), (outside, SECRET)):
        directory.mkdir(parents=True)
        (directory / "f").write_text(text)
    (root / "f").write_text(OURS)
    (outside / "secret-name").write_text(SECRET)
    (outside / "made").mkdir()
    (outside / "made" / "1").mkdir()
    before = picture(outside)
    backend = await open_local(root, LocalOptions(fsync=False))
    agent = Agent(backend)
    try:
        with swapping(root, outside), anyio.fail_after(60):
            for number in range(ROUNDS_MAX):
                await agent.round(number)
                if agent.codes["done"] >= 100 and agent.codes[ErrorCode.SANDBOX_DENIED] >= 50:
                    break
    finally:
        await backend.aclose()
    # The race was run in earnest: both were seen often, and nothing but errors of the seam.
    assert agent.codes["done"] >= 100
    assert agent.codes[ErrorCode.SANDBOX_DENIED] >= 50
    assert picture(outside) == before
    assert not any("SECRET" in text for text in agent.shown)
    assert "secret-name" not in agent.shown


@pytest.mark.parametrize("planted", ["file", "link to nowhere", "link to a directory"])
async def test_a_lock_directory_that_somebody_planted_is_refused_and_named(tmp_path: Path, planted: str) -> None:
    locks, root, elsewhere = tmp_path / "locks", tmp_path / "root", tmp_path / "elsewhere"
    root.mkdir()
    elsewhere.mkdir()
    match planted:
        case "file":
            locks.touch()
        case "link to nowhere":
            locks.symlink_to(tmp_path / "nowhere")
        case _:
            locks.symlink_to(elsewhere)
    backend = await open_local(root, LocalOptions(lock_directory=locks))
    try:
        target = await backend.resolve(parse_path("a", backend.root))
        with pytest.raises(Unavailable, match=f"the lock directory {locks} "):
            await backend.write(target, b"x", condition=IfAbsent())
    finally:
        await backend.aclose()
    assert list(root.iterdir()) == list(elsewhere.iterdir()) == []
    assert not (tmp_path / "nowhere").exists()
