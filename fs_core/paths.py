"""One rule for how a path may be written, the same on every backend. Pure."""

import re
from dataclasses import dataclass

from fs_core.errors import InvalidPath, SandboxDenied

__all__ = ["Root", "RootedPath", "display", "has_lone_surrogate", "is_staged_name", "parse_path", "staged_name"]

_DRIVE = re.compile(r"[A-Za-z]:[\\/]")
_SCHEME = re.compile(r"([A-Za-z][A-Za-z0-9+.-]*)://?")
_STAGED = re.compile(r"\.seamfs-[0-9a-f]{16}\.(tmp|lock)")


@dataclass(frozen=True, slots=True)
class Root:
    """Where a workspace begins.

    `url` names it to people and models and holds no secret. `prefixes` are the absolute spellings that a path may
    start with instead of being relative (`/srv/repo`, `sftp://host/srv/repo`), without a trailing `/`.
    """

    url: str
    prefixes: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class RootedPath:
    """A path below a root: plain names only, no `.`, no `..`.

    `is_directory` tells that it was written as one, with a `/`, `.` or `..` at its end.
    """

    names: tuple[str, ...]
    is_directory: bool = False


def display(names: tuple[str, ...]) -> str:
    """Return the display path of `names`; the root itself is `.`."""
    return "/".join(names) or "."


def staged_name(token: str, *, suffix: str = "tmp") -> str:
    """Return the name of a file that a write uses on its way; `token` is 16 hexadecimal digits.

    Such names are hidden from listings, refused as paths and cleaned up when their writer has died.
    """
    return f".seamfs-{token}.{suffix}"


def is_staged_name(name: str) -> bool:
    """Tell whether `name` has the form of `staged_name`."""
    return _STAGED.fullmatch(name) is not None


def parse_path(path: str, root: Root) -> RootedPath:
    """Return `path` below `root`.

    Accepted: a path relative to the root, or one of the root's own absolute spellings followed by one. Nothing is
    expanded, decoded or trimmed: `~`, `$HOME`, `a%20b` and ` a ` are plain names, only a whole `..` moves up.

    Raises:
        InvalidPath: blank, NUL, lone surrogate, Windows drive, `file:` URI, or a name reserved for staged files.
        SandboxDenied: the path leads out of the root, or is absolute and not below it.
    """
    _refuse_unusable(path)
    relative = _strip_root(path, root)
    names: list[str] = []
    for name in relative.split("/"):
        if name in {"", "."}:
            continue
        if name != "..":
            names.append(name)
        elif names:
            names.pop()
        else:
            reason = f"leads out of the root {root.url}; use a path below the root"
            raise SandboxDenied(reason, path=path, operation="resolve")
    if any(is_staged_name(name) for name in names):
        raise InvalidPath("names of this form are reserved for unfinished writes", path=path, operation="resolve")
    last = relative.rpartition("/")[2]
    return RootedPath(names=tuple(names), is_directory=last in {"", ".", ".."})


def _refuse_unusable(path: str) -> None:
    """Raise `InvalidPath` for what can be no name on any backend."""
    if not path.strip():
        reason = "the path is blank; give the path of a file relative to the root"
    elif "\0" in path:
        reason = "a path cannot hold a NUL character"
    elif has_lone_surrogate(path):
        reason = "a path cannot hold a lone surrogate"
    elif _DRIVE.match(path) or path.startswith("\\\\"):
        reason = "Windows paths are not accepted; use a path relative to the root with /"
    elif path[:5].lower() == "file:":
        reason = "file: URIs are not accepted; use a path relative to the root"
    else:
        return
    raise InvalidPath(reason, path=path, operation="resolve")


def has_lone_surrogate(name: str) -> bool:
    """Whether a name, or a path, holds half a surrogate pair, which no UTF-8 can store."""
    try:
        name.encode()
    except UnicodeEncodeError:
        return True
    return False


def _strip_root(path: str, root: Root) -> str:
    """Return `path` without the root's own absolute spelling, if it starts with one."""
    for prefix in root.prefixes:
        if path == prefix:
            return ""
        if path.startswith(f"{prefix}/"):
            return path[len(prefix) + 1 :]
    if not path.startswith("/") and _SCHEME.match(path) is None:
        return path
    reason = f"is outside the root {root.url}; use a path relative to the root{_suggestion(path)}"
    raise SandboxDenied(reason, path=path, operation="resolve")


def _suggestion(path: str) -> str:
    """Return the relative form of an absolute path as a question, where that form would be accepted."""
    relative = path.lstrip("/")
    if relative in {"", path} or not relative.isprintable() or ".." in relative.split("/"):
        return ""
    return f'; did you mean "{relative}"?'
