"""One opened fsspec file system, blocking. Everything it raises is an `FsError`."""

from collections.abc import Generator, Iterable, Mapping
from contextlib import closing, contextmanager, suppress
from dataclasses import dataclass
from typing import Final

from backends._urls import HTTP_SCHEMES, RootUrl
from backends.generic._detached import Attempt
from backends.generic._dialects import Dialect, HttpDialect, PathDialect
from backends.generic._faults import store_faults
from backends.generic._fsspec import RawFile, RawFileSystem, connect, disconnect
from backends.generic._index_page import INDEX_PAGE_BYTES_MAX, linked_urls
from backends.generic._versions import Stamp, stamp
from backends.options import FsspecOptions
from fs_core.errors import InvalidPath, NotDirectory, NotFound, Operation, PermissionDenied, TooLarge, Unsupported
from fs_core.paths import display, is_staged_name
from fs_core.types import Entry, FileKind

__all__ = ["FsspecStore", "Look"]

_INEXPRESSIBLE: Final = {"github": ("?", "#", "%")}
"""Characters that a file system puts into a URL as they are, so that another file would be read."""

STREAM_STEP_BYTES: Final = 1 << 16
"""What has to arrive within the time limit, again and again, when a file is read from its start."""

RANGE_STEP_BYTES: Final = 1 << 20
"""What is asked for in one request when a part of a file is read."""

_ANSWER_BYTES_MAX: Final = 4 * RANGE_STEP_BYTES


@dataclass(frozen=True, slots=True)
class Look:
    """One look at something that exists. `size_bytes` is what the store announces, `None` if it does not."""

    kind: FileKind
    size_bytes: int | None
    stamp: Stamp


@dataclass(frozen=True, slots=True)
class _Container:
    """The file that an archive is in: an open archive goes on showing it as it was when it was opened."""

    file_system: RawFileSystem
    path: str
    seen: Stamp

    def is_replaced(self) -> bool:
        self.file_system.invalidate_cache()
        return stamp(self.file_system.info(self.path)) != self.seen


class FsspecStore:
    """A file system and the spelling of its names. Not for concurrent use unless `is_shared`."""

    def __init__(self, root: RootUrl, options: FsspecOptions) -> None:
        """Connect; for an archive this reads its table of contents.

        Raises:
            NotFound, Unavailable, PermissionDenied, Unsupported, IoFault: as the store answers.
        """
        self._public = root.public
        with store_faults(root.public, "open"):
            self._container = _container(root, options)
            try:
                self._raw, path = connect(root.text, _constructor_options(root, options))
            except (TypeError, ValueError) as error:
                # What constructors raise names their arguments; a URL or path in it is cut.
                text = " ".join(word for word in str(error).split() if not any(mark in word for mark in "/@"))
                reason = f"fsspec cannot open this URL: {text or type(error).__name__}"
                raise Unsupported(reason, path=root.public, operation="open") from error
        self.is_shared = self._raw.async_impl
        self._is_http = root.scheme in HTTP_SCHEMES
        self._dialect: Dialect = HttpDialect(path.rstrip("/")) if self._is_http else PathDialect(path)
        self._has_given_root = self._is_http or not path.strip("/")
        self._inexpressible = _INEXPRESSIBLE.get(root.scheme, ())
        self._check_root(path)

    def is_outdated(self) -> bool:
        """Whether this is an archive whose file was replaced since it was opened."""
        if self._container is None:
            return False
        with store_faults(self._public, "open"):
            return self._container.is_replaced()

    def refuse_inexpressible(self, names: tuple[str, ...], operation: Operation) -> None:
        """Raise `InvalidPath` for names that mean something else to fsspec, which reads more into some paths."""
        if names and not self._can_express(names):
            reason = "fsspec would read something else into this path; no file of this name can be reached"
            raise InvalidPath(reason, path=display(names), operation=operation)

    def look(self, names: tuple[str, ...], operation: Operation) -> Look:
        """Return fresh metadata.

        Raises:
            NotFound: nothing is there.
            InvalidPath: see `refuse_inexpressible`.
        """
        if not names and self._has_given_root:
            return Look(FileKind.DIRECTORY, None, stamp({}))
        self.refuse_inexpressible(names, operation)
        with store_faults(display(names), operation):
            return self._look(self._dialect.path(names))

    def list(self, names: tuple[str, ...], attempt: Attempt) -> list[Entry]:
        """Return all entries of a directory, sorted, without staged files. What no path can express is marked."""
        entries: dict[str, Entry] = {}
        listed = self._linked(names, attempt) if self._is_http else self._listed(names)
        for info in listed:
            name = self._dialect.child(str(info["name"]), names)
            if name is None or is_staged_name(name):
                continue
            kind = self._dialect.kind(info)
            size_bytes = _size(info) if kind is FileKind.FILE else None
            is_addressable = _is_plain(name) and self._can_express((*names, name))
            entries.setdefault(name, Entry(name, kind, size_bytes, addressable=is_addressable, is_link=_is_link(info)))
        return [entries[name] for name in sorted(entries)]

    def _listed(self, names: tuple[str, ...]) -> Iterable[Mapping[str, object]]:
        with store_faults(display(names), "list"):
            self._raw.invalidate_cache()
            return list(self._raw.ls(self._dialect.directory(names), detail=True))

    def _linked(self, names: tuple[str, ...], attempt: Attempt) -> Iterable[Mapping[str, object]]:
        """Return what the index page of a web server links to, a name with `/` at its end being a directory."""
        url = self._dialect.directory(names)
        page = b"".join(self._pieces(url, display(names), "list", attempt, size_bytes_max=INDEX_PAGE_BYTES_MAX))
        return (
            {"name": link, "type": "directory" if link.endswith("/") else "file"} for link in linked_urls(page, url)
        )

    def stream(self, names: tuple[str, ...], attempt: Attempt, *, size_bytes_max: int) -> Generator[bytes]:
        """Yield the whole file in one pass, in pieces of bounded size.

        Raises:
            TooLarge: more than `size_bytes_max` arrive, whatever was announced.
        """
        url = self._dialect.path(names)
        yield from self._pieces(url, display(names), "read", attempt, size_bytes_max=size_bytes_max)

    def _pieces(
        self, raw_path: str, path: str, operation: Operation, attempt: Attempt, *, size_bytes_max: int
    ) -> Generator[bytes]:
        total = 0
        with self._opened(raw_path, path, self._dialect.stream_options()) as file:
            while True:
                with store_faults(path, operation):
                    piece = _read_step(file, STREAM_STEP_BYTES)
                if not piece:
                    return
                total += len(piece)
                if total > size_bytes_max:
                    reason = f"has more than {size_bytes_max} bytes, the most that is read from this store"
                    raise TooLarge(reason, path=path, operation=operation)
                attempt.progress()
                yield piece

    def read_range(
        self, names: tuple[str, ...], attempt: Attempt, *, offset: int, limit: int, size_bytes: int
    ) -> bytes:
        """Return up to `limit` bytes from `offset`. A store that cannot start there is read from the start."""
        with store_faults(display(names), "read"):
            try:
                options = self._dialect.range_options(size_bytes)
                with self._opened(self._dialect.path(names), display(names), options) as file:
                    file.seek(offset)
                    return _read_fully(file, limit, attempt)
            except ValueError:
                # `io.UnsupportedOperation` is one too.
                return self._skim(names, attempt, offset=offset, limit=limit)

    def close(self) -> None:
        """Release what the file system holds, as far as it can be told to."""
        with store_faults(self._public, "open"):
            disconnect(self._raw)

    def _can_express(self, names: tuple[str, ...]) -> bool:
        path = self._dialect.path(names)
        if self._is_http:
            return True
        if "::" in path or any(mark in path for mark in self._inexpressible):
            return False
        # The extension point that every fsspec file system defines; it has no public name.
        raw = self._raw._strip_protocol(path)  # noqa: SLF001  # pyright: ignore[reportPrivateUsage]
        return raw.strip("/") == path.strip("/")

    def _check_root(self, path: str) -> None:
        """Raise unless the root can be a directory."""
        if self._is_http:
            # A server that is there may refuse or lack the index page and have files below it all the same.
            with suppress(NotFound, PermissionDenied), store_faults(self._public, "open"):
                self._look(path)
            return
        if self._has_given_root:
            return
        with store_faults(self._public, "open"):
            root = self._look(path)
        if root.kind is not FileKind.DIRECTORY:
            raise NotDirectory("the root is a file; open the directory it is in", path=self._public, operation="open")

    def _look(self, path: str) -> Look:
        self._raw.invalidate_cache()
        info = self._raw.info(path)
        kind = self._dialect.kind(info)
        return Look(kind, _size(info) if kind is FileKind.FILE else None, stamp(info))

    @contextmanager
    def _opened(self, raw_path: str, path: str, options: Mapping[str, object]) -> Generator[RawFile]:
        """Open a file and close it. What the block raises passes unchanged."""
        with store_faults(path, "read"):
            file = self._raw.open(raw_path, "rb", **options)
        try:
            yield file
        finally:
            with store_faults(path, "read"):
                file.close()

    def _skim(self, names: tuple[str, ...], attempt: Attempt, *, offset: int, limit: int) -> bytes:
        """Return the same as `read_range`, in one pass from the start."""
        wanted, position = bytearray(), 0
        with closing(self.stream(names, attempt, size_bytes_max=offset + limit + STREAM_STEP_BYTES)) as pieces:
            for piece in pieces:
                wanted += piece[max(0, offset - position) :]
                position += len(piece)
                if len(wanted) >= limit:
                    break
        return bytes(wanted[:limit])


def _read_step(file: RawFile, size_bytes: int) -> bytes:
    """Return `size_bytes` bytes, or fewer at the end of the file."""
    piece = file.read(size_bytes)
    if not piece or len(piece) == size_bytes:
        return piece
    parts, length = [piece], len(piece)
    while length < size_bytes and (piece := file.read(size_bytes - length)):
        parts.append(piece)
        length += len(piece)
    return b"".join(parts)


def _read_fully(file: RawFile, size_bytes: int, attempt: Attempt) -> bytes:
    parts: list[bytes] = []
    while size_bytes > 0 and (piece := _read_step(file, min(size_bytes, RANGE_STEP_BYTES))):
        attempt.progress()
        parts.append(piece)
        size_bytes -= len(piece)
    return b"".join(parts)


def _size(info: Mapping[str, object]) -> int | None:
    size = info.get("size")
    return int(size) if isinstance(size, int | float) and size >= 0 else None


def _is_link(info: Mapping[str, object]) -> bool:
    """Whether a link is told of: by its type, or beside that of what it leads to."""
    return info.get("type") == "link" or info.get("islink") is True


def _is_plain(name: str) -> bool:
    """Whether a path can hold `name` as one of its names."""
    with suppress(UnicodeEncodeError):
        name.encode()
        return name not in {".", ".."} and "/" not in name and "\0" not in name
    return False


def _container(root: RootUrl, options: FsspecOptions) -> _Container | None:
    if len(root.links) == 1:
        return None
    inner = _link_options(root.links[1:], options)
    outermost = inner.pop(_scheme(root.links[1]), {"skip_instance_cache": True})
    file_system, path = connect("::".join(root.links[1:]), {**inner, **outermost})
    info = file_system.info(path)
    if info.get("type") == "directory" and _is_local(root.links[-1]):
        reason = "a local directory is opened by itself, where links that lead out of it are refused"
        raise Unsupported(reason, path=root.public, operation="open")
    return _Container(file_system, path, stamp(info))


def _is_local(link: str) -> bool:
    scheme, separator, _ = link.partition("://")
    return not separator or scheme in {"file", "local", "asynclocal"}


def _constructor_options(root: RootUrl, options: FsspecOptions) -> dict[str, object]:
    """Return the options for every file system of a chain: none is shared with other users of fsspec."""
    outer: dict[str, object] = {"skip_instance_cache": True, **options.storage}
    if root.scheme in HTTP_SCHEMES:
        outer |= _http_options(options, answer_bytes_max=_ANSWER_BYTES_MAX)
    return {**_link_options(root.links[1:], options), **outer}


def _link_options(links: tuple[str, ...], options: FsspecOptions) -> dict[str, dict[str, object]]:
    """Return the options of the links of a chain by their scheme."""
    found: dict[str, dict[str, object]] = {}
    for scheme in (_scheme(link) for link in links if "://" in link):
        found[scheme] = {"skip_instance_cache": True}
        if scheme in HTTP_SCHEMES:
            # An archive's table of contents is read in one answer.
            found[scheme] |= _http_options(options, answer_bytes_max=options.write_size_bytes_max)
    return found


def _scheme(link: str) -> str:
    return link.partition("://")[0]


def _http_options(options: FsspecOptions, *, answer_bytes_max: int) -> dict[str, object]:
    from aiohttp import ClientTimeout

    from backends._answers import bounded_answers
    from backends.generic._redirects import redirect_guard

    limit_s = options.request_timeout_s
    client = {
        "timeout": ClientTimeout(total=None, sock_connect=limit_s, sock_read=limit_s),
        "response_class": bounded_answers(answer_bytes_max),
        "trace_configs": [redirect_guard()],
    }
    return {"use_listings_cache": False, "client_kwargs": client}
