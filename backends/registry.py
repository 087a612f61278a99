"""Which backend serves a URL. A store's library is loaded when a URL asks for it, not before."""

from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING, Final

from backends._urls import RootUrl, local_path, parse_root_url
from fs_core.errors import Unsupported
from fs_core.protocol import Backend

if TYPE_CHECKING:
    from backends.local_options import LocalOptions
    from backends.options import BackendOptions
    from fs_core.testing.memory import MemoryStore

__all__ = ["open_backend", "open_local_disk"]

_OWN: Final = ("file", "memory", "s3", "sftp")
_SAME: Final = {"asynclocal": "file", "local": "file", "s3a": "s3", "ssh": "sftp"}
"""Names that fsspec has for a scheme of ours."""

_NO_STORE: Final = frozenset({"async_wrapper", "asyncwrapper", "dask", "generic"})
"""Names in fsspec's list that open whatever a path asks for, files of this machine included."""

_memory_stores: "dict[str, MemoryStore]" = {}
"""Named stores of this process, for as long as it lives."""


async def open_backend(url: str, options: "BackendOptions") -> Backend:
    """Open the store that `url` names; the caller closes it.

    A plain path, `file://`, `s3://bucket/prefix`, `sftp://host/directory` and `memory://NAME` (one store per name and
    process) can be written. Whatever else fsspec knows, chains such as `zip://::https://host/a.zip` included, is
    open for reading.

    Raises:
        Unsupported: unknown scheme, missing library, password in the URL, or nothing this kind of store can do.
        InvalidPath: blank, NUL, or a `file:` URL that names no path of this machine.
        NotFound, NotDirectory, PermissionDenied, Unavailable, IoFault: as the store answers.
    """
    if (local := await open_local_disk(url, options.local)) is not None:
        return local
    root = parse_root_url(url)
    match root.scheme:
        case "memory":
            from fs_core.testing.memory import MemoryBackend, MemoryStore

            name = root.public.removeprefix("memory://")
            return MemoryBackend(_memory_stores.setdefault(name, MemoryStore()), name=name)
        case "s3":
            return await _with_extra(root, lambda: _open_s3(root, options))
        case "sftp":
            return await _with_extra(root, lambda: _open_sftp(root, options))
        case _:
            return await _open_other(root, options)


async def open_local_disk(url: str, options: "LocalOptions") -> Backend | None:
    """Open the directory of this machine that `url` names, as `open_backend` does; None if it names another store."""
    root = parse_root_url(url)
    if root.scheme not in {"", "file"}:
        return None
    from backends.local import open_local

    return await open_local(local_path(root), options)


async def _open_s3(root: RootUrl, options: "BackendOptions") -> Backend:
    from backends.s3 import open_s3

    return await open_s3(root.text, options.s3)


async def _open_sftp(root: RootUrl, options: "BackendOptions") -> Backend:
    from backends.sftp import open_sftp

    return await open_sftp(root.text, options.sftp)


async def _with_extra(root: RootUrl, opening: Callable[[], Awaitable[Backend]]) -> Backend:
    """Open, or tell which extra of this distribution brings the library that is missing."""
    try:
        return await opening()
    except ImportError as error:
        missing = error.name or "a library"
        if missing.partition(".")[0] in {"backends", "fs_core"}:
            raise
        reason = f"needs {missing}, which is not installed; run: pip install 'seamfs[{root.scheme}]'"
        raise Unsupported(reason, path=root.public, operation="open") from error


async def _open_other(root: RootUrl, options: "BackendOptions") -> Backend:
    """Open what fsspec knows, read only."""
    from backends.generic import install_hint, known_protocols, open_generic

    known = known_protocols() - _NO_STORE
    if root.scheme in _SAME or root.scheme not in known:
        raise Unsupported(_unknown(root.scheme, known), path=root.public, operation="open")
    for scheme in root.chain_schemes:
        if scheme in {"sftp", "ssh"}:
            # fsspec's own client accepts any host key; ours is registered there under another name.
            reason = f"{scheme}:// in a chain would trust any host; write seamsftp:// instead"
            raise Unsupported(reason, path=root.public, operation="open")
        if scheme in _NO_STORE:
            raise Unsupported(f"{scheme}:// is no store of its own", path=root.public, operation="open")
        hint = install_hint(scheme) if scheme in known else None
        if hint is not None:
            reason = f"needs a library that is not installed: {' '.join(hint.split())}"
            raise Unsupported(reason, path=root.public, operation="open")
    return await open_generic(root.text, options.fsspec)


def _unknown(scheme: str, known: frozenset[str]) -> str:
    """Return the advice for a scheme that is not taken."""
    if scheme in _SAME:
        return f"{scheme}:// is not accepted; write {_SAME[scheme]}:// instead"
    others = ", ".join(sorted(known - {*_OWN, *_SAME}))
    return f"unknown scheme {scheme}://; use {', '.join(_OWN)} or, read only, one of fsspec's: {others}"
