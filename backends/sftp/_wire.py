"""SFTP version 3 on the wire: requests, replies and attributes. Pure.

Source: draft-ietf-secsh-filexfer-02 and OpenSSH's PROTOCOL file for the `@openssh.com` extensions. Section 3 of the
draft obliges a server to process requests that relate to one file in the order in which they were sent, which is what
makes sending several of them in one flight safe.
"""

import stat
import struct
from dataclasses import dataclass
from enum import IntEnum
from typing import Final

from fs_core.types import FileKind

__all__ = [
    "PROTOCOL_VERSION",
    "Attributes",
    "Kind",
    "NamedAttributes",
    "OpenFlag",
    "Reply",
    "Request",
    "StatusCode",
    "StatusError",
    "attributes_of",
    "close",
    "data_of",
    "extended",
    "fields_of",
    "frame",
    "fstat",
    "fsync",
    "handle_of",
    "hardlink",
    "lstat",
    "mkdir",
    "name_of",
    "names_of",
    "open_file",
    "opendir",
    "parse_version",
    "posix_rename",
    "raise_for_status",
    "read",
    "readdir",
    "readlink",
    "realpath",
    "remove",
    "rename",
    "rmdir",
    "set_mode",
    "set_mode_by_handle",
    "set_owner",
    "shown_text",
    "stat_followed",
    "status_of",
    "statvfs",
    "write",
]

PROTOCOL_VERSION: Final = 3


class Kind(IntEnum):
    """Types of packets."""

    INIT = 1
    VERSION = 2
    OPEN = 3
    CLOSE = 4
    READ = 5
    WRITE = 6
    LSTAT = 7
    FSTAT = 8
    SETSTAT = 9
    FSETSTAT = 10
    OPENDIR = 11
    READDIR = 12
    REMOVE = 13
    MKDIR = 14
    RMDIR = 15
    REALPATH = 16
    STAT = 17
    RENAME = 18
    READLINK = 19
    STATUS = 101
    HANDLE = 102
    DATA = 103
    NAME = 104
    ATTRS = 105
    EXTENDED = 200
    EXTENDED_REPLY = 201


class StatusCode(IntEnum):
    """Codes of a STATUS reply that are acted upon; a server may send others."""

    OK = 0
    EOF = 1
    NO_SUCH_FILE = 2
    PERMISSION_DENIED = 3
    FAILURE = 4
    BAD_MESSAGE = 5
    NO_CONNECTION = 6
    CONNECTION_LOST = 7
    OP_UNSUPPORTED = 8


class OpenFlag(IntEnum):
    """Flags of OPEN."""

    READ = 0x01
    WRITE = 0x02
    CREATE = 0x08
    EXCLUSIVE = 0x20


_SIZE, _OWNER, _MODE, _TIMES, _EXTENDED = 0x1, 0x2, 0x4, 0x8, 0x80000000

_TEXT_CHARS_SHOWN_MAX: Final = 200
_HANDLE_BYTES_MAX: Final = 256
"""Longest handle that a server may give out (draft-ietf-secsh-filexfer-02, section 6.3)."""

_EXTENSION_CHARS_MAX: Final = 64
_EXTENSIONS_MAX: Final = 64


def shown_text(text: str) -> str:
    """Return a text of the server for one line that people and models read: printable, and cut."""
    cut = text[:_TEXT_CHARS_SHOWN_MAX]
    return "".join(character if character.isprintable() else "?" for character in cut)


class StatusError(Exception):
    """Raised when the server refuses a request. `text` is the server's own, made printable and short."""

    def __init__(self, code: int, text: str = "") -> None:
        self.code = code
        self.text = shown_text(text)
        super().__init__(f"status {code}: {self.text}")


@dataclass(frozen=True, slots=True)
class Attributes:
    """What a server tells about a file. Times are whole seconds by the server's clock; `None` is not told."""

    size_bytes: int | None = None
    uid: int | None = None
    gid: int | None = None
    mode: int | None = None
    mtime_s: int | None = None

    @property
    def kind(self) -> FileKind:
        """Return what this is; a link, and anything whose mode is not told, is `OTHER`."""
        if self.mode is None:
            return FileKind.OTHER
        if stat.S_ISREG(self.mode):
            return FileKind.FILE
        return FileKind.DIRECTORY if stat.S_ISDIR(self.mode) else FileKind.OTHER

    @property
    def is_link(self) -> bool:
        """Tell whether this is a symbolic link."""
        return self.mode is not None and stat.S_ISLNK(self.mode)

    @property
    def permissions(self) -> int | None:
        """Return the permission bits with the special bits."""
        return None if self.mode is None else stat.S_IMODE(self.mode)

    @property
    def token(self) -> str:
        """Return what a version of this file is called."""
        return f"{self.size_bytes}-{self.mtime_s}"


@dataclass(frozen=True, slots=True)
class NamedAttributes:
    """One name of a NAME reply, as the bytes that the server sent."""

    name: bytes
    attributes: Attributes


@dataclass(frozen=True, slots=True)
class Request:
    """One request without its number. `data` is what it carries behind its other fields, wherever that is."""

    kind: Kind
    body: bytes
    data: bytes | memoryview = b""


@dataclass(frozen=True, slots=True)
class Reply:
    """One reply without its number."""

    kind: int
    body: memoryview


def _u32(value: int) -> bytes:
    return struct.pack(">I", value)


def _string(value: bytes) -> bytes:
    return struct.pack(">I", len(value)) + value


def _path(path: str) -> bytes:
    return _string(path.encode("utf-8", "surrogateescape"))


def frame(request: Request, number: int) -> bytes:
    """Return the packet of `request`."""
    size = 5 + len(request.body) + len(request.data)
    return b"".join((struct.pack(">IBI", size, request.kind, number), request.body, request.data))


def open_file(path: str, *flags: OpenFlag, permissions: int | None = None) -> Request:
    """Open a file; without `permissions` the server's umask alone decides about a new one."""
    attributes = _u32(0) if permissions is None else _u32(_MODE) + _u32(permissions)
    return Request(Kind.OPEN, _path(path) + _u32(sum(flags)) + attributes)


def close(handle: bytes) -> Request:
    """Close a file or directory."""
    return Request(Kind.CLOSE, _string(handle))


def read(handle: bytes, offset: int, length: int) -> Request:
    """Read up to `length` bytes."""
    return Request(Kind.READ, _string(handle) + struct.pack(">QI", offset, length))


def write(handle: bytes, offset: int, data: bytes | memoryview) -> Request:
    """Write `data`."""
    return Request(Kind.WRITE, _string(handle) + struct.pack(">QI", offset, len(data)), data)


def lstat(path: str) -> Request:
    """Ask about a name, links not followed."""
    return Request(Kind.LSTAT, _path(path))


def stat_followed(path: str) -> Request:
    """Ask about a name, links followed."""
    return Request(Kind.STAT, _path(path))


def fstat(handle: bytes) -> Request:
    """Ask about an open file."""
    return Request(Kind.FSTAT, _string(handle))


def set_mode(path: str, permissions: int) -> Request:
    """Set the permission bits of a name."""
    return Request(Kind.SETSTAT, _path(path) + _u32(_MODE) + _u32(permissions))


def set_mode_by_handle(handle: bytes, permissions: int) -> Request:
    """Set the permission bits of an open file."""
    return Request(Kind.FSETSTAT, _string(handle) + _u32(_MODE) + _u32(permissions))


def set_owner(path: str, uid: int, gid: int) -> Request:
    """Set owner and group of a name."""
    return Request(Kind.SETSTAT, _path(path) + struct.pack(">III", _OWNER, uid, gid))


def opendir(path: str) -> Request:
    """Open a directory for listing."""
    return Request(Kind.OPENDIR, _path(path))


def readdir(handle: bytes) -> Request:
    """Ask for the next names of an open directory."""
    return Request(Kind.READDIR, _string(handle))


def remove(path: str) -> Request:
    """Unlink a file."""
    return Request(Kind.REMOVE, _path(path))


def mkdir(path: str) -> Request:
    """Make a directory; the server's umask decides about its mode."""
    return Request(Kind.MKDIR, _path(path) + _u32(0))


def rmdir(path: str) -> Request:
    """Remove an empty directory."""
    return Request(Kind.RMDIR, _path(path))


def realpath(path: str) -> Request:
    """Ask for the absolute name with links resolved."""
    return Request(Kind.REALPATH, _path(path))


def rename(old: str, new: str) -> Request:
    """Rename; an existing `new` is refused."""
    return Request(Kind.RENAME, _path(old) + _path(new))


def readlink(path: str) -> Request:
    """Ask for the text of a symbolic link."""
    return Request(Kind.READLINK, _path(path))


def extended(name: str, body: bytes) -> Request:
    """Return a request of an extension."""
    return Request(Kind.EXTENDED, _string(name.encode()) + body)


def posix_rename(old: str, new: str) -> Request:
    """Rename as rename(2) does: an existing file or empty directory `new` is replaced atomically."""
    return extended("posix-rename@openssh.com", _path(old) + _path(new))


def hardlink(old: str, new: str) -> Request:
    """Make a hard link; an existing `new` is refused."""
    return extended("hardlink@openssh.com", _path(old) + _path(new))


def fsync(handle: bytes) -> Request:
    """Flush an open file to its disk."""
    return extended("fsync@openssh.com", _string(handle))


def statvfs(path: str) -> Request:
    """Ask about the file system that holds `path`."""
    return extended("statvfs@openssh.com", _path(path))


_U32: Final = struct.Struct(">I")
_U64: Final = struct.Struct(">Q")
_USUAL: Final = _SIZE | _OWNER | _MODE | _TIMES
_USUAL_FIELDS: Final = struct.Struct(">QIII4xI")
"""What goes with the flags that servers usually set: size, owner, group, mode, and of the times the second."""


class _Cursor:
    """Reads the fields of a packet one after another; a packet that ends early raises `StatusError`."""

    def __init__(self, body: memoryview) -> None:
        self._body = body
        self._at = 0

    def _take(self, length: int) -> memoryview:
        piece = self._body[self._at : self._at + length]
        if len(piece) < length:
            raise _cut_short()
        self._at += length
        return piece

    def _unpack(self, fields: struct.Struct) -> tuple[int, ...]:
        at = self._at
        self._at += fields.size
        try:
            return fields.unpack_from(self._body, at)
        except struct.error as error:
            raise _cut_short() from error

    @property
    def is_at_end(self) -> bool:
        return self._at >= len(self._body)

    def u32(self) -> int:
        return self._unpack(_U32)[0]

    def u64(self) -> int:
        return self._unpack(_U64)[0]

    def view(self) -> memoryview:
        return self._take(self.u32())

    def string(self) -> bytes:
        return bytes(self.view())

    def skip_string(self) -> None:
        length = self.u32()
        self._at += length

    def named(self) -> NamedAttributes:
        name = self.string()
        self.skip_string()  # the same for people to read
        return NamedAttributes(name, self.attributes())

    def attributes(self) -> Attributes:
        flags = self.u32()
        if flags == _USUAL:
            return Attributes(*self._unpack(_USUAL_FIELDS))
        size = self.u64() if flags & _SIZE else None
        uid, gid = (self.u32(), self.u32()) if flags & _OWNER else (None, None)
        mode = self.u32() if flags & _MODE else None
        mtime = (self.u32(), self.u32())[1] if flags & _TIMES else None
        if flags & _EXTENDED:
            for _ in range(self.u32()):
                self.string()
                self.string()
        return Attributes(size_bytes=size, uid=uid, gid=gid, mode=mode, mtime_s=mtime)


def _cut_short() -> StatusError:
    return StatusError(StatusCode.FAILURE, "the server's answer is cut short")


def parse_version(body: memoryview) -> tuple[int, dict[str, str]]:
    """Return version and extensions of a VERSION packet.

    Names that are no plain short words are left out, and so are those beyond the first 64: the list is shown.
    """
    cursor = _Cursor(body)
    version = cursor.u32()
    extensions: dict[str, str] = {}
    while not cursor.is_at_end:
        name, value = cursor.string().decode("utf-8", "replace"), cursor.string().decode("utf-8", "replace")
        is_word = len(name) <= _EXTENSION_CHARS_MAX and name.isascii() and name.isprintable() and " " not in name
        if name and is_word and len(extensions) < _EXTENSIONS_MAX:
            extensions[name] = shown_text(value)
    return version, extensions


def status_of(reply: Reply) -> StatusError | None:
    """Return the refusal that `reply` is, or `None` when it is none."""
    if reply.kind != Kind.STATUS:
        return None
    cursor = _Cursor(reply.body)
    code = cursor.u32()
    if code == StatusCode.OK:
        return None
    return StatusError(code, "" if cursor.is_at_end else cursor.string().decode("utf-8", "replace"))


def raise_for_status(reply: Reply) -> None:
    """Raise `StatusError` if `reply` is a refusal."""
    status = status_of(reply)
    if status is not None:
        raise status


def _fields(reply: Reply, kind: Kind) -> _Cursor:
    raise_for_status(reply)
    if reply.kind != kind:
        raise StatusError(StatusCode.FAILURE, f"the server answered with packet type {reply.kind}, not {kind.name}")
    return _Cursor(reply.body)


def handle_of(reply: Reply) -> bytes:
    """Return the handle of an opened file or directory."""
    handle = _fields(reply, Kind.HANDLE).string()
    if len(handle) > _HANDLE_BYTES_MAX:
        # It would be sent back with every request.
        raise StatusError(StatusCode.FAILURE, f"the server gave a handle of {len(handle)} bytes")
    return handle


def data_of(reply: Reply) -> memoryview:
    """Return the bytes that were read, where they are; none at the end of the file."""
    status = status_of(reply)
    if status is not None and status.code == StatusCode.EOF:
        return memoryview(b"")
    return _fields(reply, Kind.DATA).view()


def attributes_of(reply: Reply) -> Attributes:
    """Return the attributes that were asked for."""
    return _fields(reply, Kind.ATTRS).attributes()


def names_of(reply: Reply) -> list[NamedAttributes]:
    """Return the names of a directory's part or of a link; none at the end of the directory."""
    status = status_of(reply)
    if status is not None and status.code == StatusCode.EOF:
        return []
    cursor = _fields(reply, Kind.NAME)
    return [cursor.named() for _ in range(cursor.u32())]


def name_of(reply: Reply) -> str:
    """Return the single name of a REALPATH or READLINK reply."""
    names = names_of(reply)
    if len(names) != 1:
        raise StatusError(StatusCode.FAILURE, f"the server answered with {len(names)} names, not one")
    return names[0].name.decode("utf-8", "surrogateescape")


def fields_of(reply: Reply, count: int) -> tuple[int, ...]:
    """Return `count` 64-bit numbers of an extension's reply."""
    cursor = _fields(reply, Kind.EXTENDED_REPLY)
    return tuple(cursor.u64() for _ in range(count))
