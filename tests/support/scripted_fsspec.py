"""The generic backend opened for a test, and an fsspec store that answers whatever a test wants."""

from collections.abc import AsyncGenerator, Callable, Generator
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass, field
from io import BytesIO
from typing import Any, ClassVar

import fsspec
import pytest
from fsspec.spec import AbstractFileSystem

from backends.generic import GenericBackend, open_generic
from backends.options import FsspecOptions
from fs_core.paths import parse_path
from fs_core.types import Target

OPTIONS = FsspecOptions(request_timeout_s=30)


@asynccontextmanager
async def opened(url: str, options: FsspecOptions = OPTIONS) -> AsyncGenerator[GenericBackend]:
    backend = await open_generic(url, options)
    try:
        yield backend
    finally:
        await backend.aclose()


@contextmanager
def impatient(backend: GenericBackend, *, timeout_s: float) -> Generator[None]:
    """Have a backend wait no longer than this for a store that hangs; what has to go well may take its time."""
    options = backend._options  # pyright: ignore[reportPrivateUsage] - the limits of one that is open are nowhere else
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(backend, "_options", options.model_copy(update={"request_timeout_s": timeout_s}))
        yield


def ignore(data: bytes | bytearray) -> None:
    del data


async def at(backend: GenericBackend, path: str) -> Target:
    return await backend.resolve(parse_path(path, backend.root))


class Endless(BytesIO):
    def read(self, size: int | None = -1, /) -> bytes:
        return bytes(size or 0)


@dataclass
class Scripted:
    entries: list[dict[str, Any]] = field(default_factory=list[dict[str, Any]])
    files: dict[str, bytes] = field(default_factory=dict[str, bytes])
    details: dict[str, dict[str, Any]] = field(default_factory=dict[str, dict[str, Any]])
    info_hook: Callable[[str], object] = str
    open: Callable[[bytes], BytesIO] = BytesIO
    file_types: dict[str, str] = field(default_factory=dict[str, str])


class ScriptedFileSystem(AbstractFileSystem):
    protocol = "scripted"
    script: ClassVar[Scripted] = Scripted()
    made: ClassVar[int] = 0

    def __init__(self, **options: Any) -> None:
        super().__init__(**options)  # pyright: ignore[reportUnknownMemberType] - fsspec ships no types
        type(self).made += 1

    def info(self, path: str, **_: Any) -> dict[str, Any]:
        self.script.info_hook(path)
        if path in self.script.files:
            size = len(self.script.files[path])
            kind = self.script.file_types.get(path, "file")
            return {"name": path, "type": kind, "size": size} | self.script.details.get(path, {})
        raise FileNotFoundError(path)

    def ls(self, path: str, detail: bool = True, **_: Any) -> list[dict[str, Any]]:
        del path, detail
        return self.script.entries

    def open(self, path: str, mode: str = "rb", **_: Any) -> BytesIO:  # pyright: ignore[reportIncompatibleMethodOverride]
        del mode
        return self.script.open(self.script.files[path])


@contextmanager
def scripted_store() -> Generator[Scripted]:
    fsspec.register_implementation("scripted", ScriptedFileSystem, clobber=True)  # pyright: ignore[reportUnknownMemberType]
    ScriptedFileSystem.script = Scripted()
    ScriptedFileSystem.made = 0
    yield ScriptedFileSystem.script
    ScriptedFileSystem.script = Scripted()
