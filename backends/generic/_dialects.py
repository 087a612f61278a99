"""How names of the seam are spelled for a file system behind fsspec, and back. Pure.

There are two dialects: paths, and URLs of a web server. The latter percent-encode names, have no type of their own and
list a directory by the links on its index page.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final, Protocol
from urllib.parse import quote, unquote

from fs_core.types import FileKind

__all__ = ["Dialect", "HttpDialect", "PathDialect"]

_KINDS: Final = {"file": FileKind.FILE, "directory": FileKind.DIRECTORY}
_UNCOMPRESSED: Final = {"Accept-Encoding": "identity"}


class Dialect(Protocol):
    """Spelling of one kind of file system, below one root."""

    def path(self, names: tuple[str, ...]) -> str:
        """Return the path of a file."""
        ...

    def directory(self, names: tuple[str, ...]) -> str:
        """Return the path to list."""
        ...

    def child(self, listed: str, names: tuple[str, ...]) -> str | None:
        """Return the name of an entry listed in a directory; `None` for what is no entry of it."""
        ...

    def kind(self, info: Mapping[str, object]) -> FileKind:
        """Return what `info` tells of."""
        ...

    def stream_options(self) -> Mapping[str, object]:
        """Return the options of `open` for one pass from the start."""
        ...

    def range_options(self, size_bytes: int) -> Mapping[str, object]:
        """Return the options of `open` for a part of a file of known size."""
        ...


@dataclass(frozen=True, slots=True)
class PathDialect:
    """Plain paths. `root` is as fsspec returned it: `""`, `/`, `dir`, `/dir`."""

    root: str

    def path(self, names: tuple[str, ...]) -> str:
        """Join below the root."""
        if not names:
            return self.root
        return "/".join((self.root.rstrip("/"), *names)) if self.root else "/".join(names)

    def directory(self, names: tuple[str, ...]) -> str:
        """Return the same as `path`."""
        return self.path(names)

    def child(self, listed: str, names: tuple[str, ...]) -> str | None:
        """Return what follows the directory's path; a name from elsewhere comes back whole, with its slashes."""
        above = self.path(names).strip("/")
        below = listed.lstrip("/").removesuffix("/")
        if above and below.startswith(f"{above}/"):
            return below[len(above) + 1 :] or None
        if below == above:
            return None
        return listed.removesuffix("/") if above else below

    def kind(self, info: Mapping[str, object]) -> FileKind:
        """Return the type as told."""
        return _KINDS.get(str(info.get("type")), FileKind.OTHER)

    def stream_options(self) -> Mapping[str, object]:
        """No option is common to all."""
        return {}

    def range_options(self, size_bytes: int) -> Mapping[str, object]:
        """No option is common to all."""
        del size_bytes
        return {}


@dataclass(frozen=True, slots=True)
class HttpDialect:
    """URLs of a web server. `root` has no trailing `/`, no query and no fragment."""

    root: str

    def path(self, names: tuple[str, ...]) -> str:
        """Percent-encode every name whole: `a%20b` is a name of its own."""
        return "/".join((self.root, *(quote(name, safe="") for name in names)))

    def directory(self, names: tuple[str, ...]) -> str:
        """Return the URL of the index page."""
        return f"{self.path(names)}/"

    def child(self, listed: str, names: tuple[str, ...]) -> str | None:
        """Return the decoded last segment of a link to something directly below; other links are no entries."""
        above = self.directory(names)
        segment = listed[len(above) :].removesuffix("/")
        if not listed.startswith(above) or not segment or any(mark in segment for mark in "/?#"):
            return None
        return unquote(segment, errors="surrogateescape")

    def kind(self, info: Mapping[str, object]) -> FileKind:
        """Tell by the URL that answered in the end: servers redirect a directory's URL to one with a `/`.

        In a listing there is a type instead, told from the link in the same way.
        """
        is_index = str(info.get("url", "")).split("?")[0].endswith("/") or info.get("type") == "directory"
        return FileKind.DIRECTORY if is_index else FileKind.FILE

    def stream_options(self) -> Mapping[str, object]:
        """Ask for one response, never compressed.

        `size` only keeps fsspec from asking for it once more; a stream ends where the response ends.
        """
        return {"block_size": 0, "size": 1, "headers": _UNCOMPRESSED}

    def range_options(self, size_bytes: int) -> Mapping[str, object]:
        """Ask for just the bytes that are read."""
        return {"cache_type": "none", "size": size_bytes, "headers": _UNCOMPRESSED}
