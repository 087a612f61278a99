"""Web servers on loopback for the generic backend: a plain directory, a scene of resources, GitHub's API."""

import base64
import gzip
import hashlib
import json
import threading
from collections.abc import Generator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, SimpleHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, ClassVar
from urllib.parse import unquote


class QuietDirectory(SimpleHTTPRequestHandler):
    def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - the name of the base class
        pass


class Scene(BaseHTTPRequestHandler):
    """Resources by path; knows ranges, an ETag, and every way to misbehave."""

    protocol_version = "HTTP/1.1"
    body: ClassVar[bytes] = b"0123456789" * 1000
    tag: ClassVar[str] = '"1"'
    requests: ClassVar[list[tuple[str, str | None]]] = []
    hang: ClassVar[threading.Event] = threading.Event()

    def do_HEAD(self) -> None:
        self.answer()

    def do_GET(self) -> None:
        self.answer()

    def answer(self) -> None:
        asked = self.headers.get("Range")
        type(self).requests.append((self.command, asked))
        name = self.path.split("/")[-1]
        if name == "ranged":
            self.ranged(asked)
        elif name == "unsized":
            self.unsized()
        elif name == "squeezed":
            body = gzip.compress(bytes(4 << 20))
            self.reply(200, body, {"Content-Encoding": "gzip"})
        elif name == "hanging":
            self.hang.wait(30)
        elif name.isdigit():
            self.reply(int(name), b"")
        elif name == "":
            self.reply(200, b'<a href="a%20b">x</a><a href="../up">x</a><a href="?C=N">x</a><a href="%2e%2e">x</a>'
                       b'<a href="c%2fd">x</a><a href="http://other/e">x</a><a href="sub/">x</a>',
                       {"Content-Type": "text/html"})  # fmt: skip
        else:
            self.reply(404, b"")

    def ranged(self, asked: str | None) -> None:
        if asked is None:
            self.reply(200, self.body, {"ETag": self.tag})
            return
        start, end = (int(part) for part in asked.removeprefix("bytes=").split("-"))
        span = f"bytes {start}-{min(end, len(self.body) - 1)}/{len(self.body)}"
        self.reply(206, self.body[start : end + 1], {"ETag": self.tag, "Content-Range": span})

    def unsized(self) -> None:
        self.send_response(200)
        self.send_header("Transfer-Encoding", "chunked")
        self.end_headers()
        if self.command == "GET":
            for _ in range(4):
                self.wfile.write(b"5\r\nhello\r\n")
            self.wfile.write(b"0\r\n\r\n")

    def reply(self, status: int, body: bytes, headers: dict[str, str] | None = None) -> None:
        self.send_response(status)
        for name, value in (headers or {}).items():
            self.send_header(name, value)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        if self.command == "GET":
            self.wfile.write(body)

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - the name of the base class
        pass


class FakeGithub(BaseHTTPRequestHandler):
    """The two endpoints of GitHub's API that fsspec uses."""

    files: ClassVar[dict[str, bytes]] = {}

    def do_GET(self) -> None:
        if self.path.startswith("/tree/main"):
            entries = [
                {
                    "path": name,
                    "mode": "100644",
                    "type": "blob",
                    "size": len(data),
                    "sha": hashlib.sha1(data).hexdigest(),
                }
                for name, data in self.files.items()
            ]
            self.reply({"tree": entries})
        else:
            data = self.files[unquote(self.path.removeprefix("/contents/"))]
            self.reply({"content": base64.b64encode(data).decode()})

    def reply(self, answer: object) -> None:
        body = json.dumps(answer).encode()
        self.send_response(200)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - the name of the base class
        pass


class Server(ThreadingHTTPServer):
    daemon_threads = True
    request_queue_size = 128

    def handle_error(self, request: Any, client_address: Any) -> None:
        """A client that gives a response up is expected here."""


@contextmanager
def serving(handler: Any) -> Generator[str]:
    with Server(("127.0.0.1", 0), handler) as server:
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02})
        thread.start()
        try:
            yield f"http://127.0.0.1:{server.server_port}"
        finally:
            Scene.hang.set()
            server.shutdown()
            thread.join()
