"""A web server on loopback that means harm: the last name of a path decides how."""

import zlib
from http.server import BaseHTTPRequestHandler
from typing import ClassVar, Final

__all__ = ["HostileWeb"]

BODY: Final = b"0123456789" * 1_000
TERABYTE: Final = 1 << 40


def _bomb() -> bytes:
    packer = zlib.compressobj(wbits=31)
    return b"".join([*(packer.compress(bytes(1 << 20)) for _ in range(64)), packer.flush()])


BOMB: Final = _bomb()
"""64 MiB of zeros, compressed."""


class HostileWeb(BaseHTTPRequestHandler):
    """Answers of every bad kind. `inside` counts what came to it as a redirect's target."""

    protocol_version = "HTTP/1.1"
    redirect_to: ClassVar[str] = ""
    asked: ClassVar[list[str]] = []

    def do_HEAD(self) -> None:
        self._answer()

    def do_GET(self) -> None:
        self._answer()

    def _answer(self) -> None:
        type(self).asked.append(self.path)
        match self.path.rpartition("/")[2]:
            case "endless":
                self._endless(200, {})
            case "endless-range":
                status = 206 if "Range" in self.headers else 200
                self._endless(status, {"Content-Length": str(TERABYTE), "ETag": '"1"'})
            case "lying-length":
                self._reply(200, BODY, {"Content-Length": str(1 << 20), "Connection": "close"})
            case "squeezed":
                self._reply(200, BOMB, {"Content-Encoding": "gzip"})
            case "to-file":
                self._reply(302, b"", {"Location": "file:///etc/passwd"})
            case "to-inside":
                self._reply(302, b"", {"Location": self.redirect_to})
            case "to-itself":
                self._reply(302, b"", {"Location": self.path})
            case "near":
                self._reply(302, b"", {"Location": "plain"})
            case "plain":
                self._reply(200, BODY, {})
            case "":
                self._index(self.path.rstrip("/").rpartition("/")[2])
            case _:
                self._reply(404, b"", {})

    def _index(self, directory: str) -> None:
        page = {"Content-Type": "text/html"}
        match directory:
            case "spaces":
                self._reply(200, b"<a" + b" " * 200_000 + b"<a href='" * 50_000, page)
            case "links":
                self._reply(200, b"".join(b'<a href="%d">' % number for number in range(50_000)), page)
            case "forever":
                self._endless(200, page, piece=b'<a href="x">' * 5_000)
            case _:
                self._reply(200, b'<a href="esc%1b%5b2J%0a">x</a><a href="plain">x</a><a href="nul%00">x</a>', page)

    def _reply(self, status: int, body: bytes, headers: dict[str, str]) -> None:
        self._head(status, {"Content-Length": str(len(body)), **headers})
        if self.command == "GET":
            self.wfile.write(body)
        self.close_connection = headers.get("Connection") == "close"

    def _endless(self, status: int, headers: dict[str, str], *, piece: bytes = bytes(65_536)) -> None:
        self._head(status, {**headers, "Connection": "close"})
        while self.command == "GET":
            self.wfile.write(piece)

    def _head(self, status: int, headers: dict[str, str]) -> None:
        self.send_response_only(status)
        for name, value in headers.items():
            self.send_header(name, value)
        self.end_headers()

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - the name of the base class
        pass
