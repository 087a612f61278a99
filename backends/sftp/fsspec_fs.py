"""The pooled connections as an fsspec file system: `fsspec.filesystem("seamsftp", host="example.org")`.

Unlike fsspec's own `sftp` it verifies host keys, reconnects, uses several connections and writes through staging, so
that a reader never sees half a file.
"""

# fsspec is untyped, and narrower in its overrides than in its documentation.
# pyright: reportUnknownMemberType=false, reportUnknownArgumentType=false, reportIncompatibleMethodOverride=false

import errno
import io
import weakref
from collections.abc import Callable, Generator
from contextlib import contextmanager
from datetime import UTC, datetime
from types import TracebackType
from typing import Any, Final, TypeVar, cast

from fsspec.spec import AbstractBufferedFile, AbstractFileSystem
from fsspec.utils import infer_storage_options

from backends._workers import WorkerCall
from backends.options import SftpOptions
from backends.sftp import _wire as wire
from backends.sftp._client import SftpClient
from backends.sftp._config import Address, find_route
from backends.sftp._content import Content
from backends.sftp._errors import store_errors
from backends.sftp._leftovers import Sweeper
from backends.sftp._pool import ConnectionPool
from backends.sftp._publish import Publication, write_file
from backends.sftp._read import read_snapshot
from backends.sftp._resolve import Confinement, absolute, resolve_names, split
from fs_core import errors
from fs_core.errors import FsError, Operation
from fs_core.types import Always, FileKind, IfAbsent, WriteCondition

__all__ = ["PooledSFTPFileSystem"]

T = TypeVar("T")

_OS_ERRORS: Final[dict[type[FsError], type[OSError]]] = {
    errors.NotFound: FileNotFoundError,
    errors.NotDirectory: NotADirectoryError,
    errors.NotRegularFile: IsADirectoryError,
    errors.PermissionDenied: PermissionError,
    errors.StaleVersion: FileExistsError,
    errors.Unavailable: ConnectionError,
}


class PooledSFTPFileSystem(AbstractFileSystem):
    """Files of an SFTP server by absolute path, without a root that confines them. Blocking and thread-safe.

    `options` are the fields of `backends.options.SftpOptions`. Faults are raised as `OSError` and its subclasses.
    """

    protocol = "seamsftp"
    root_marker = "/"

    def __init__(
        self,
        host: str,
        *,
        port: int | None = None,
        username: str | None = None,
        **options: Any,  # noqa: ANN401 - fields of a model that checks them
    ) -> None:
        super().__init__()
        settings = SftpOptions(**options)
        self.host = host
        self.write_size_bytes_max = settings.write_size_bytes_max
        self._lease_s = settings.lock_lease_s
        self._root = Confinement((), f"seamsftp://{host}/")
        self._sweeper = Sweeper(lease_s=settings.lock_lease_s)
        with _os_errors(host):
            route = find_route(Address(host, username, port), settings)
        self._pool = ConnectionPool(route, settings)
        # fsspec keeps instances for as long as they are wanted and never says that it is done with one.
        self._finalizer = weakref.finalize(self, self._pool.close)

    def close(self) -> None:
        """Close all connections; idempotent."""
        self._finalizer()

    @classmethod
    def _strip_protocol(cls, path: Any) -> Any:  # noqa: ANN401 - one path or a list, as fsspec has it
        if isinstance(path, list):
            return [cls._strip_protocol(one) for one in cast("list[str]", path)]
        text = str(path)
        if "://" in text:
            text = str(infer_storage_options(text)["path"])
        return absolute(split(text))

    @staticmethod
    def _get_kwargs_from_urls(path: str) -> dict[str, Any]:
        found = infer_storage_options(path)
        return {name: found[name] for name in ("host", "port", "username") if name in found}

    def ls(self, path: str, detail: bool = True, **kwargs: object) -> list[Any]:  # noqa: ARG002, FBT001, FBT002 - fsspec
        """List a directory, or name the file at `path`."""
        stripped = self._strip_protocol(path)

        def work(client: SftpClient) -> list[dict[str, Any]]:
            own = wire.attributes_of(client.ask(wire.stat_followed(stripped)))
            if own.kind is not FileKind.DIRECTORY:
                return [_described(stripped, own)]
            base = stripped.rstrip("/")
            entries = client.read_directory(stripped)
            return [_described(f"{base}/{entry.name.decode(errors='replace')}", entry.attributes) for entry in entries]

        found = sorted(self._run(stripped, "list", work), key=lambda entry: entry["name"])
        return found if detail else [entry["name"] for entry in found]

    def info(self, path: str, **kwargs: object) -> dict[str, Any]:  # noqa: ARG002 - fsspec
        """Describe what is at `path`, links followed, fresh from the server."""
        stripped = self._strip_protocol(path)
        ask = wire.stat_followed(stripped)
        return _described(stripped, self._run(stripped, "stat", lambda client: wire.attributes_of(client.ask(ask))))

    def exists(self, path: str, **kwargs: object) -> bool:
        """Tell whether something is at `path`; a fault of the server is raised, not taken for absence."""
        try:
            self.info(path, **kwargs)
        except FileNotFoundError:
            return False
        return True

    def modified(self, path: str) -> datetime:
        """Return when the file was modified, by the server's clock, in whole seconds."""
        mtime = self.info(path)["mtime"]
        if mtime is None:
            raise OSError(errno.ENOTSUP, "the server tells no modification time", path)
        return cast("datetime", mtime)

    def created(self, path: str) -> datetime:
        """Return when the file was modified: the protocol knows no time of creation."""
        return self.modified(path)

    def cat_file(self, path: str, start: int | None = None, end: int | None = None, **kwargs: object) -> bytes:
        """Return the bytes from `start` to `end`, all of one version; negative numbers count from the end."""
        stripped = self._strip_protocol(path)
        if (start or 0) < 0 or (end or 0) < 0:
            size = int(self.info(stripped, **kwargs)["size"])
            start, end = (max(size + at, 0) if at is not None and at < 0 else at for at in (start, end))
        offset = start or 0
        limit = None if end is None else max(end - offset, 0)

        def work(client: SftpClient) -> bytes:
            real = absolute(resolve_names(client, self._root, split(stripped), shown=stripped))
            return read_snapshot(client, real, root=self._root, shown=stripped, offset=offset, limit=limit).data

        return self._run(stripped, "read", work)

    def pipe_file(self, path: str, value: bytes, mode: str = "overwrite", **kwargs: object) -> None:  # noqa: ARG002 - fsspec
        """Create or replace a file atomically; with `mode="create"` an existing one is refused."""
        stripped = self._strip_protocol(path)
        condition: WriteCondition = IfAbsent() if mode == "create" else Always()
        call = WorkerCall()
        with _os_errors(stripped), store_errors(stripped, "write", call=call):
            with self._pool.lease() as client:
                target = resolve_names(client, self._root, split(stripped), shown=stripped)
            content = Content.of_bytes(bytes(value))
            publication = Publication(target, self._root, stripped, content, condition, self._lease_s)
            write_file(self._pool, self._sweeper, publication, call)

    def _open(
        self,
        path: str,
        mode: str = "rb",
        block_size: int | None = None,
        autocommit: bool = True,  # noqa: FBT001, FBT002
        cache_options: dict[str, Any] | None = None,
        **kwargs: Any,  # noqa: ANN401
    ) -> "_Reader | _Writer":
        if mode == "rb":
            size = cast("str", block_size or "default")  # a number or that word; annotated as a word alone
            return _Reader(self, path, mode, size, autocommit, cache_options=cache_options, **kwargs)
        if mode in {"wb", "xb"}:
            return _Writer(self, path, is_exclusive=mode == "xb", autocommit=autocommit)
        raise NotImplementedError(f"mode {mode} is not offered; use rb, wb or xb")

    def mkdir(self, path: str, create_parents: bool = True, **kwargs: object) -> None:  # noqa: ARG002, FBT001, FBT002 - fsspec
        """Make a directory, which must not exist."""
        stripped = self._strip_protocol(path)
        if self.exists(stripped):
            raise FileExistsError(errno.EEXIST, "exists already", stripped)
        if create_parents:
            self.makedirs(stripped)
        else:
            self._run(stripped, "write", lambda client: client.ask(wire.mkdir(stripped)))

    def makedirs(self, path: str, exist_ok: bool = False) -> None:  # noqa: FBT001, FBT002 - fsspec
        """Make a directory and its parents."""
        stripped = self._strip_protocol(path)
        names = split(stripped)

        def work(client: SftpClient) -> bool:
            made = False
            for count in range(1, len(names) + 1):
                (reply,) = client.exchange(wire.mkdir(absolute(names[:count])))
                refusal = wire.status_of(reply)
                made = refusal is None
                if refusal is not None:
                    # Most likely it exists: that is the only refusal which does not count.
                    client.ask(wire.stat_followed(absolute(names[:count])))
            return made

        if not self._run(stripped, "write", work) and not exist_ok:
            raise FileExistsError(errno.EEXIST, "exists already", stripped)

    def rmdir(self, path: str) -> None:
        """Remove an empty directory."""
        stripped = self._strip_protocol(path)
        self._run(stripped, "write", lambda client: client.ask(wire.rmdir(stripped)))

    def rm_file(self, path: str) -> None:
        """Remove a file or link, or, because fsspec's recursive `rm` asks for it so, an empty directory."""
        stripped = self._strip_protocol(path)

        def work(client: SftpClient) -> None:
            found = wire.attributes_of(client.ask(wire.lstat(stripped)))
            is_directory = found.kind is FileKind.DIRECTORY
            client.ask(wire.rmdir(stripped) if is_directory else wire.remove(stripped))

        self._run(stripped, "write", work)

    def mv(self, path1: str, path2: str, **kwargs: object) -> None:  # noqa: ARG002 - fsspec
        """Rename on the server; an existing file `path2` is replaced where the server can do that atomically."""
        old, new = self._strip_protocol(path1), self._strip_protocol(path2)

        def work(client: SftpClient) -> None:
            client.ask(wire.posix_rename(old, new) if client.has_posix_rename else wire.rename(old, new))

        self._run(old, "write", work)

    def _run(self, path: str, operation: Operation, work: Callable[[SftpClient], T]) -> T:
        with (
            _os_errors(path),
            store_errors(path, operation, call=WorkerCall()),
            self._pool.lease() as client,
        ):
            return work(client)


class _Reader(AbstractBufferedFile):
    """A file open for reading; every block is fetched from the server when it is wanted."""

    def _fetch_range(self, start: int, end: int) -> bytes:
        return cast("PooledSFTPFileSystem", self.fs).cat_file(str(self.path), start, end)


class _Writer(io.BytesIO):
    """Content that is published in one step when the file is closed, or not at all if the block fails.

    It is held in memory, within `write_size_bytes_max`.
    """

    def __init__(self, fs: PooledSFTPFileSystem, path: str, *, is_exclusive: bool, autocommit: bool) -> None:
        super().__init__()
        self.fs = fs
        self.path = path
        self._mode = "create" if is_exclusive else "overwrite"
        self._autocommit = autocommit
        self._content: bytes | None = None

    def write(self, data: Any, /) -> int:  # noqa: ANN401 - any buffer
        """Append to the content."""
        limit = self.fs.write_size_bytes_max
        if self.tell() + memoryview(data).nbytes > limit:
            raise OSError(errno.EFBIG, f"more than {limit} bytes are not written", self.path)
        return super().write(data)

    def close(self) -> None:
        """Publish the content; in a transaction that is left to `commit`."""
        if self.closed:
            return
        self._content = self.getvalue()
        super().close()
        if self._autocommit:
            self.commit()

    def commit(self) -> None:
        """Publish what was written."""
        if self._content is not None:
            self.fs.pipe_file(self.path, self._content, mode=self._mode)
            self._content = None

    def discard(self) -> None:
        """Forget what was written."""
        self._content = None
        super().close()

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if error is not None:
            self.discard()
        else:
            self.close()


def _described(path: str, attributes: wire.Attributes) -> dict[str, Any]:
    """Return an entry as fsspec has it."""
    kind = "link" if attributes.is_link else str(attributes.kind)
    mtime = None if attributes.mtime_s is None else datetime.fromtimestamp(attributes.mtime_s, tz=UTC)
    return {
        "name": path,
        "size": attributes.size_bytes,
        "type": kind,
        "uid": attributes.uid,
        "gid": attributes.gid,
        "mode": attributes.mode,
        "mtime": mtime,
    }


@contextmanager
def _os_errors(path: str) -> Generator[None]:
    """Raise an `FsError` as what callers of fsspec expect."""
    try:
        yield
    except errors.NoSpace as error:
        raise OSError(errno.ENOSPC, error.reason, path) from error
    except FsError as error:
        kind = _OS_ERRORS.get(type(error), OSError)
        raise kind(f"{path}: {error.reason}") from error
