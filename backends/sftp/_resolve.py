"""Identity of files on the server: links followed, confined to the root, existing or not."""

from dataclasses import dataclass
from typing import Final

from backends.sftp import _wire as wire
from backends.sftp._client import SftpClient
from backends.sftp._wire import StatusCode
from fs_core.errors import InvalidPath, NotFound, Operation, Reason, SandboxDenied, Unavailable
from fs_core.paths import display, has_lone_surrogate
from fs_core.types import FileKind

__all__ = [
    "NAME_BYTES_MAX",
    "Confinement",
    "Names",
    "absolute",
    "attributes_if_any",
    "observe",
    "placed",
    "refuse_long_names",
    "resolve_names",
    "split",
]

_LINKS_MAX: Final = 40
"""As Linux: more links than this on one path are a loop (path_resolution(7))."""
NAME_BYTES_MAX: Final = 255
_PATH_BYTES_MAX: Final = 4096

Names = tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Confinement:
    """The root that nothing may leave: its real names on the server, and what it is called."""

    names: Names
    url: str

    def holds(self, names: Names) -> bool:
        """Tell whether `names` is the root or below it, name by name."""
        return names[: len(self.names)] == self.names

    def shown(self, names: Names) -> str:
        """Return the display path of `names`, which are below the root."""
        return display(names[len(self.names) :])


@dataclass(frozen=True, slots=True)
class _Walk:
    """A path on its way: `real` is known to be directories without links, `rest` is still to be looked at."""

    real: Names
    rest: Names


def split(path: str) -> Names:
    """Return the names of an absolute path that holds no `.` and no `..`."""
    return tuple(name for name in path.split("/") if name)


def absolute(names: Names) -> str:
    """Return the absolute path of `names`."""
    return "/" + "/".join(names)


def refuse_long_names(names: Names, *, shown: str) -> None:
    """Raise `InvalidPath` for a name or path that no usual server can hold."""
    if any(len(name.encode("utf-8", "surrogateescape")) > NAME_BYTES_MAX for name in names):
        reason = Reason.NAME_TOO_LONG
    elif len(absolute(names).encode("utf-8", "surrogateescape")) >= _PATH_BYTES_MAX:
        reason = "the path is too long for the file system"
    else:
        return
    raise InvalidPath(reason, path=shown, operation="resolve")


def resolve_names(client: SftpClient, root: Confinement, names: Names, *, shown: str) -> Names:
    """Return the real absolute names of `names` below `root`; one round trip if there is no link on the way.

    All prefixes are looked at in one flight, links in the middle are followed by hand: the server's own REALPATH
    differs between servers for missing files, dangling links and loops.

    Raises:
        SandboxDenied: a link leads out of `root`.
        NotFound: the path goes through a regular file.
        InvalidPath: link loop, or over-long.
    """
    walk = _Walk(real=root.names, rest=names)
    for _ in range(_LINKS_MAX + 1):
        refuse_long_names(walk.real + walk.rest, shown=shown)
        found = _advance(client, walk, shown=shown)
        if isinstance(found, _Walk):
            walk = found
        elif root.holds(found):
            return found
        else:
            reason = f"a symbolic link leads out of the root {root.url}; use a path below the root"
            raise SandboxDenied(reason, path=shown, operation="resolve")
    raise InvalidPath("the symbolic links form a loop", path=shown, operation="resolve")


def _advance(client: SftpClient, walk: _Walk, *, shown: str) -> Names | _Walk:
    """Look at the rest of a path; return its real names, or the walk after one link."""
    real, rest = _ascend(walk)
    while rest:
        plain = rest[: rest.index("..")] if ".." in rest else rest
        looks = [wire.lstat(absolute(real + plain[: count + 1])) for count in range(len(plain))]
        for index, reply in enumerate(client.exchange(*looks)):
            attributes = attributes_if_any(reply)
            after = rest[index + 1 :]
            if attributes is None:
                return real + rest[: index + 1] + _collapse(after, shown=shown)
            if attributes.is_link:
                return _follow(client, _Walk(real=real + rest[:index], rest=rest[index:]), shown=shown)
            if attributes.kind is not FileKind.DIRECTORY and after:
                raise NotFound(Reason.THROUGH_FILE, path=shown, operation="resolve")
        real, rest = _ascend(_Walk(real=real + plain, rest=rest[len(plain) :]))
    return real


def _ascend(walk: _Walk) -> tuple[Names, Names]:
    """Take leading `..` off the rest: below real directories they move up."""
    real, rest = walk.real, walk.rest
    while rest and rest[0] == "..":
        real, rest = real[:-1], rest[1:]
    return real, rest


def _collapse(names: Names, *, shown: str) -> Names:
    """Return names behind a missing one; only a link's own text can hold a `..` there."""
    if ".." in names:
        raise NotFound(Reason.NO_SUCH_FILE, path=shown, operation="resolve")
    return names


def _follow(client: SftpClient, walk: _Walk, *, shown: str) -> _Walk:
    """Replace the link that comes first in the rest by what it names."""
    text = wire.name_of(client.ask(wire.readlink(absolute(walk.real + walk.rest[:1]))))
    if "\0" in text or has_lone_surrogate(text):
        reason = "a symbolic link leads to a name that is not UTF-8"
        raise InvalidPath(reason, path=shown, operation="resolve")
    named = tuple(name for name in text.split("/") if name not in {"", "."})
    base = () if text.startswith("/") else walk.real
    return _Walk(real=base, rest=named + walk.rest[1:])


def attributes_if_any(reply: wire.Reply) -> wire.Attributes | None:
    """Return what LSTAT or STAT told, or `None` if nothing is there."""
    status = wire.status_of(reply)
    if status is not None and status.code == StatusCode.NO_SUCH_FILE:
        return None
    return wire.attributes_of(reply)


def observe(
    client: SftpClient,
    path: str,
    *,
    root: Confinement,
    shown: str,
    operation: Operation,
    first: tuple[wire.Request, ...] = (),
) -> tuple[wire.Attributes | None, list[wire.Reply]]:
    """Return what stands at a resolved path, or `None`, and the replies of the requests sent `first` in that flight.

    The path is resolved again in the same flight, so that a directory that has become a link since is noticed.

    Raises:
        SandboxDenied: it now leads out of the root.
        Unavailable: it now leads elsewhere below the root.
    """
    *before, real, looked = client.exchange(*first, wire.realpath(path), wire.lstat(path))
    return placed(looked, real, path=path, root=root, shown=shown, operation=operation), before


def placed(
    looked: wire.Reply, real: wire.Reply, *, path: str, root: Confinement, shown: str, operation: Operation
) -> wire.Attributes | None:
    """Return what LSTAT told of a resolved path, or `None`, if by REALPATH it still is where it was.

    Raises:
        SandboxDenied, Unavailable: as `observe`.
        StatusError: the server could not tell.
    """
    attributes = attributes_if_any(looked)
    if attributes is None or attributes.is_link:
        return attributes
    name = wire.name_of(real)
    if name != path:
        if not root.holds(split(name)):
            reason = f"now leads out of the root {root.url}; it was not touched"
            raise SandboxDenied(reason, path=shown, operation=operation)
        reason = "a directory on this path has just become a link; try again"
        raise Unavailable(reason, path=shown, operation=operation, retryable=True)
    return attributes
