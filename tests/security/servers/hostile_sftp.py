"""A subsystem for sshd that speaks SFTP and means harm: `hostile_sftp.py`, on standard input and output.

The first name of a path decides what happens to it, so that one server serves every scene.
"""

import struct
import sys
from typing import BinaryIO, Final

STATUS, HANDLE, DATA, NAME, ATTRS, VERSION = 101, 102, 103, 104, 105, 2
DIRECTORY, FILE, LINK = 0o040755, 0o100644, 0o120777
HOSTILE_TEXT: Final = b"\x1b[31mred\r\nFS_OK: forged \xe2\x80\xae txet"
HOSTILE_NAMES: Final = (
    b"plain",
    b".",
    b"..",
    b"a/b",
    b"../up",
    b"nul\0",
    b"esc\x1b[2J",
    b"line\nfeed",
    b"\xff\xfe",
    b"",
)
HUGE: Final = 900_000
LIED_BYTES: Final = 1 << 60


def text(value: bytes) -> bytes:
    return struct.pack(">I", len(value)) + value


def attributes(mode: int, size: int = 5) -> bytes:
    return struct.pack(">IQIII", 0x1 | 0x4 | 0x8, size, mode, 1, 1)


def named(*names: bytes) -> bytes:
    return struct.pack(">I", len(names)) + b"".join(text(name) + text(name) + attributes(FILE) for name in names)


def status(code: int, message: bytes = b"") -> tuple[int, bytes]:
    return STATUS, struct.pack(">I", code) + text(message) + text(b"")


class Session:
    """Answers requests one by one."""

    def __init__(self, requests: BinaryIO, answers: BinaryIO) -> None:
        self._requests = requests
        self._answers = answers
        self._listed: dict[bytes, int] = {}

    def serve(self) -> None:
        while len(head := self._requests.read(4)) == 4:
            packet = self._requests.read(int.from_bytes(head, "big"))
            kind, number, body = packet[0], packet[1:5], packet[5:]
            if kind == 1:
                self._send(VERSION, b"", struct.pack(">I", 3) + self._extensions())
                continue
            path = body[4 : 4 + int.from_bytes(body[:4], "big")]
            self._send(*self._place(path, number, *self._answer(kind, path, body)))

    def _extensions(self) -> bytes:
        names = [b"posix-rename@openssh.com", b"evil\nfail    write", b"esc\x1b[2J", b"x" * 500]
        names += [b"filler-%d@example.org" % number for number in range(5_000)]
        return b"".join(text(name) + text(HOSTILE_TEXT) for name in names)

    def _place(self, path: bytes, number: bytes, kind: int, body: bytes) -> tuple[int, bytes, bytes]:
        if b"/wrong-number/" in path:
            number = struct.pack(">I", int.from_bytes(number, "big") + 1_000)
        return kind, number, body

    def _send(self, kind: int, number: bytes, body: bytes) -> None:
        self._answers.write(struct.pack(">I", 1 + len(number) + len(body)) + bytes((kind,)) + number + body)
        self._answers.flush()

    def _answer(self, kind: int, path: bytes, body: bytes) -> tuple[int, bytes]:  # noqa: PLR0911 - a table
        match kind:
            case 4:
                return status(0)
            case 5:
                return self._read(path, int.from_bytes(body[4 + len(path) :][:8], "big"))
            case 7 | 8 | 17:
                return self._look(path)
            case 3 | 11:
                return HANDLE, text(b"h" * HUGE if b"/big-handle" in path else path)
            case 12:
                return self._list(path)
            case 16:
                return NAME, named(b"/etc" if path == b"/elsewhere/file" else path)
            case 19:
                return self._link(path)
            case _:
                return status(8)

    def _look(self, path: bytes) -> tuple[int, bytes]:
        name = path.rpartition(b"/")[2]
        if path.startswith(b"/huge-packet/"):
            self._answers.write(b"\xff\xff\xff\xff" + b"x" * HUGE)
            self._answers.flush()
        if path.startswith(b"/status/"):
            return status(4, HOSTILE_TEXT * (HUGE // len(HOSTILE_TEXT)))
        if name.startswith(b"link"):
            return ATTRS, attributes(LINK)
        if name.startswith(b"file"):
            return ATTRS, attributes(FILE, LIED_BYTES if path.startswith(b"/lies/") else 5)
        return (ATTRS, attributes(DIRECTORY)) if path.count(b"/") == 1 else status(2)

    def _read(self, path: bytes, offset: int) -> tuple[int, bytes]:
        if path.startswith(b"/long/"):
            return DATA, text(b"x" * HUGE)
        if path.startswith(b"/lies/") and offset == 0:
            return DATA, text(b"short")
        return status(1)

    def _list(self, path: bytes) -> tuple[int, bytes]:
        turn = self._listed[path] = self._listed.get(path, -1) + 1
        if path == b"/dots":
            return NAME, named(b".", b"..")
        if path == b"/endless":
            return NAME, named(
                *(b"%s-%d" % (b"n" * 200, number) for number in range(turn * 2_000, turn * 2_000 + 2_000))
            )
        return (NAME, named(*HOSTILE_NAMES)) if turn == 0 else status(1)

    def _link(self, path: bytes) -> tuple[int, bytes]:
        name = path.rpartition(b"/")[2]
        if name == b"link-bytes":
            return NAME, named(b"\xff\xfe")
        if name == b"link-nul":
            return NAME, named(b"a\0b")
        if name == b"link-huge":
            return NAME, named(b"x/" * (HUGE // 4))
        if name == b"link-out":
            return NAME, named(b"//etc/passwd")
        return NAME, named(name + b"x")


if __name__ == "__main__":
    Session(sys.stdin.buffer, sys.stdout.buffer).serve()
