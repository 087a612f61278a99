"""The part of fsspec that is used here, typed; the one module that imports it."""

from collections.abc import Callable, Iterable, Mapping
from typing import Final, NoReturn, Protocol, cast

# fsspec ships no types; everything of it is cast below.
# pyright: reportUnknownVariableType=false
from fsspec.asyn import sync
from fsspec.compression import compr, register_compression
from fsspec.core import url_to_fs
from fsspec.registry import available_protocols, get_filesystem_class, registry
from fsspec.utils import infer_compression

from backends.generic._archive_steps import ArchiveFile, BoundedSteps

__all__ = ["RawFile", "RawFileSystem", "connect", "disconnect", "install_hint", "known_protocols"]


class RawFile(Protocol):
    """An open file. A streaming one raises `ValueError` on `seek`."""

    def read(self, size: int, /) -> bytes:
        """Return up to `size` bytes, none at the end."""
        ...

    def seek(self, offset: int, /) -> object:
        """Go to a byte."""
        ...

    def close(self) -> None:
        """Release what it holds."""
        ...


class RawFileSystem(Protocol):
    """An fsspec file system. `async_impl` ones take calls from many threads: their work is on fsspec's own loop."""

    async_impl: bool

    def info(self, path: str, /) -> Mapping[str, object]:
        """Return `name`, `size`, `type` and whatever else the store tells."""
        ...

    def ls(self, path: str, /, *, detail: bool) -> Iterable[Mapping[str, object]]:
        """Return what `info` tells of each entry; of the file itself if `path` is one."""
        ...

    def open(self, path: str, mode: str, /, **options: object) -> RawFile:
        """Open a file."""
        ...

    def invalidate_cache(self) -> None:
        """Forget listings."""
        ...

    def _strip_protocol(self, path: str, /) -> str: ...


class _Web(Protocol):
    """`HTTPFileSystem`, which has no `close` of its own."""

    loop: object

    def set_session(self) -> object: ...
    def close_session(self, loop: object, session: object, /) -> None: ...


_connect = cast("Callable[..., tuple[RawFileSystem, str]]", url_to_fs)
_available = cast("Callable[[], list[str]]", available_protocols)
_load_class = cast("Callable[[str], object]", get_filesystem_class)
_sync = cast("Callable[[object, Callable[[], object]], object]", sync)
_loaded = cast("Mapping[str, object]", registry)
_infer = cast("Callable[[str], str | None]", infer_compression)
_inflaters = cast("Mapping[str | None, Callable[[ArchiveFile], ArchiveFile]]", compr)
_register = cast("Callable[[str, Callable[[ArchiveFile], BoundedSteps], list[str]], None]", register_compression)

_BOUNDED: Final = "seamfs-bounded"
"""Our name among fsspec's compressions: the only way to put something between a tar archive and its inflater."""


def _inflated(file: ArchiveFile) -> BoundedSteps:
    """Return what is in `file`, inflated as fsspec does by the end of its name, in bounded steps."""
    found = (getattr(file, attribute, None) for attribute in ("original", "path", "name"))
    name = next((one for one in found if isinstance(one, str)), "")
    compression = _infer(name)
    return BoundedSteps(file if compression is None else _inflaters[compression](file))


_register(_BOUNDED, _inflated, [])


class _ThisMachine:
    """Stands where a file of references would reach the disk of this machine."""

    def __getattr__(self, name: str) -> NoReturn:
        raise PermissionError("a reference to a file of this machine")


def connect(url: str, options: Mapping[str, object]) -> tuple[RawFileSystem, str]:
    """Return a new file system for `url`, which may be a chain, and the root's path in it.

    `reference://` may point anywhere but to this machine: that would be a link out of the root.
    A tar archive is read in bounded steps, but for one in another.
    """
    schemes = [link.partition("://")[0] for link in url.split("::")]
    # The options of a link inside are taken for those of opening its file, which knows no such compression.
    is_tar = schemes[0] == "tar" and schemes.count("tar") == 1
    bounds = (
        {"tar": {**cast("Mapping[str, object]", options.get("tar", {})), "compression": _BOUNDED}} if is_tar else {}
    )
    file_system, path = _connect(url, **{**options, **bounds})
    targets: object = getattr(file_system, "fss", None)
    if isinstance(targets, dict):
        by_protocol = cast("dict[object, object]", targets)
        local = [key for key, target in by_protocol.items() if "file" in cast("str", getattr(target, "protocol", ""))]
        by_protocol.update(dict.fromkeys([*local, "file", "local"], _ThisMachine()))
    return file_system, path


def disconnect(file_system: RawFileSystem) -> None:
    """Close the archive or the HTTP session of `file_system`; others let go when they are collected."""
    close = getattr(file_system, "close", None)
    if callable(close):
        close()
    elif hasattr(file_system, "close_session") and hasattr(file_system, "set_session"):
        web = cast("_Web", file_system)
        web.close_session(web.loop, _sync(web.loop, web.set_session))


def known_protocols() -> frozenset[str]:
    """Return the names of all protocols that fsspec knows, installed or not."""
    return frozenset((*_available(), *_loaded))


def install_hint(protocol: str) -> str | None:
    """Return `None` if the library behind a known `protocol` is there, else what fsspec says about it."""
    try:
        _load_class(protocol)
    except ImportError as error:
        return str(error) or f"the library for {protocol} is missing"
    return None
