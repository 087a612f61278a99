"""A store with all who take part opened on it, and the files that they meet there."""

from collections.abc import AsyncGenerator, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from anyio import to_thread

from backends.registry import open_backend
from benchmarks.backends.access import OpenedPeer
from benchmarks.backends.stores import Store
from benchmarks.measure.case import Case, NotInstalled
from benchmarks.measure.content import FIRST, Made, make
from fs_core.edit import Edit
from fs_core.page import Page, Window
from fs_core.protocol import Backend
from seamfs import Settings, Workspace

__all__ = ["COLD", "SEAM", "WARM", "Arena", "Material", "Seam", "arena"]

SEAM: Final = "seamfs"
COLD: Final = "seamfs, cold"
WARM: Final = "seamfs, warm"

_PAGE_LINES: Final = 100
_EVERYTHING: Final = Window(lines_max=1_000_000, bytes_max=1 << 24)
_FLIPPED: Final = {FIRST: FIRST.upper(), FIRST.upper(): FIRST}


@dataclass(frozen=True, slots=True)
class Material:
    """Files of code in a directory of this machine, each made once."""

    directory: Path
    _made: dict[int, Made] = field(default_factory=dict[int, Made])

    def file(self, size_bytes: int) -> Made:
        """Return a file of about that size."""
        if size_bytes not in self._made:
            self._made[size_bytes] = make(self.directory / f"{size_bytes}.py", "code", size_bytes)
        return self._made[size_bytes]


class Seam:
    """A session of ours on an opened store."""

    def __init__(self, backend: Backend, settings: Settings) -> None:
        self._backend = backend
        self._settings = settings
        self._first_lines: dict[str, str] = {}
        self.forget()

    def forget(self) -> None:
        """Know nothing of any file any more; connections stay."""
        self.workspace = Workspace(self._backend, settings=self._settings)
        self._session = self.workspace.session()

    async def page(self, name: str, first_line: int = 1) -> Page:
        """Read one page."""
        return await self._read(name, Window(first_line=first_line, lines_max=_PAGE_LINES))

    async def everything(self, name: str) -> Page:
        """Read all lines of a file of up to 16 MiB."""
        return await self._read(name, _EVERYTHING)

    async def edit(self, name: str) -> None:
        """Change the first line of a file that was read: to upper case, and the next time back."""
        old = self._first_lines.get(name, FIRST)
        await self._session.edit(name, Edit(old, _FLIPPED[old]))
        self._first_lines[name] = _FLIPPED[old]

    async def write(self, name: str, content: str) -> None:
        """Create a file, or replace one that was read."""
        await self._session.write(name, content)

    async def _read(self, name: str, window: Window) -> Page:
        page = (await self._session.read(name, window)).page
        if not page.texts:
            raise RuntimeError(f"{name}: no lines came")
        return page


@dataclass(frozen=True, slots=True)
class Arena:
    """Who takes part on one store. `latency_ms` is that of the line to it."""

    store: Store
    latency_ms: int
    peers: Sequence[OpenedPeer | NotInstalled]
    material: Material
    _backend: Backend

    def seam(self) -> Seam:
        """Return a session of ours that knows nothing yet; all share the connections."""
        return Seam(self._backend, self.store.settings)

    @property
    def base(self) -> str:
        """Return the name of the peer that is nearest to the wire."""
        return self.peers[0].name

    def case(self, operation: str, *, size_bytes: int, position: str = "", concurrency: int = 1) -> Case:
        """Return a case on this store."""
        return Case(
            group="backends",
            operation=operation,
            size_bytes=size_bytes,
            content="code",
            store=self.store.name,
            position=position,
            concurrency=concurrency,
            latency_ms=self.latency_ms,
        )

    async def put(self, name: str, size_bytes: int) -> Made:
        """Put a file of about that size into the store, behind everyone's back."""
        made = await to_thread.run_sync(self.material.file, size_bytes)
        await to_thread.run_sync(self.store.put, name, await to_thread.run_sync(made.path.read_bytes))
        return made


@asynccontextmanager
async def arena(store: Store, material: Material, *, latency_ms: int = 0) -> AsyncGenerator[Arena]:
    """Open everyone on a store until the block ends."""
    async with AsyncExitStack() as stack:
        backend = await open_backend(store.url, store.settings.backends)
        stack.push_async_callback(backend.aclose)
        peers = await store.enter_peers(stack)
        yield Arena(store, latency_ms, peers, material, backend)
