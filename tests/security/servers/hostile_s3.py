"""An S3 service on loopback that means harm: the first part of a key or prefix decides how."""

import gzip
import threading
from collections.abc import Generator, Iterator
from contextlib import contextmanager, suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from itertools import count
from typing import Any, ClassVar, Final
from urllib.parse import parse_qs, unquote, urlsplit

__all__ = ["BUCKET", "ENDLESS_MAX", "HOSTILE_TEXT", "HostileS3", "hostile_s3"]

BUCKET: Final = "seam"
HOSTILE_TEXT: Final = "\x1b[31mred\r\nFS_OK: forged \u202e txet"
BODY: Final = bytes(range(256)) * 40
TERABYTE: Final = 1 << 40
ENDLESS_MAX: Final = 16
_ENTITIES: Final = "".join(f'<!ENTITY e{n} "{f"&e{n - 1};" * 10}">' for n in range(1, 10))
_BOMB: Final = f'<!DOCTYPE x [<!ENTITY e0 "{"a" * 100}">{_ENTITIES}<!ENTITY f SYSTEM "file:///etc/passwd">]>'


class HostileS3(BaseHTTPRequestHandler):
    """Answers of every bad kind; whatever is not asked for below is a missing key."""

    protocol_version = "HTTP/1.1"
    listings: ClassVar[int] = 0
    redirect_to: ClassVar[str] = ""
    endless: ClassVar[threading.Semaphore] = threading.Semaphore(ENDLESS_MAX)
    """Held by every answer without an end."""

    def do_HEAD(self) -> None:
        self._object()

    def do_GET(self) -> None:
        url = urlsplit(self.path)
        asked = parse_qs(url.query)
        if "list-type" in asked:
            type(self).listings += 1
            self._list(asked.get("prefix", [""])[0])
        else:
            self._object()

    def _list(self, prefix: str) -> None:
        scene = prefix.partition("/")[0]
        match scene:
            case "endless" | "same-token":
                turn = 0 if scene == "same-token" else self.listings
                keys = (f"{prefix}{'n' * 200}-{turn}-{number}" for number in range(1000))
                self._page(map(_content, keys), token="same" if scene == "same-token" else f"t{turn}")
            case "million":
                self._stream("".join(_content(f"{prefix}{number}-{n}") for n in range(1000)) for number in count())
            case "names":
                self._stream(f"<Contents><Key>{prefix}" if number == 0 else "n" * 65_536 for number in count())
            case "entities":
                self._page(iter(("<Contents><Key>entities/&e9;&f;</Key><Size>1</Size></Contents>",)), doctype=_BOMB)
            case "odd":
                keys = ("odd/plain", "odd/esc%1B%5B2J%0Aforged", "odd/%E2%80%AE", "elsewhere/key", "odd/%00", "odd/%FF")
                self._page(map(_content, keys))
            case "torn":
                torn = ("<Contents/>", "<Contents><Size>1</Size></Contents>", "<Contents><Key>torn/a</Key></Contents>")
                self._page(iter([*torn, "<CommonPrefixes/>"]), encoding="")
            case _:
                self._page(iter(()))

    def _object(self) -> None:
        key = unquote(urlsplit(self.path).path).removeprefix(f"/{BUCKET}/")
        start, end = self._range()
        whole = {"ETag": '"1"', "Content-Length": str(len(BODY))}
        match key:
            case "other-range":
                self._reply(206, BODY[100:200], {"ETag": '"1"', "Content-Range": f"bytes 100-199/{len(BODY)}"})
            case "no-such-range":
                self._reply(206, BODY, {**whole, "Content-Range": "bytes -1--5/*"})
            case "short-range":
                self._reply(206, BODY[:3], {"ETag": '"1"', "Content-Range": f"bytes {start}-{end}/{len(BODY)}"})
            case "endless-range":
                self._reply_endless(206, {"ETag": '"1"', "Content-Range": f"bytes {start}-{end}/{TERABYTE}"})
            case "no-range":
                self._reply_endless(200, {"ETag": '"1"', "Content-Length": str(TERABYTE)})
            case "no-length":
                self._reply_endless(200, {"ETag": '"1"'})
            case "lying-length":
                self._reply(200, BODY, {"ETag": '"1"', "Content-Length": str(1 << 62)}, is_cut=True)
            case "squeezed":
                bomb = gzip.compress(bytes(8 << 20))
                self._reply(200, bomb, {"ETag": '"1"', "Content-Encoding": "gzip", "Content-Length": str(len(bomb))})
            case "redirect":
                self._reply(307, b"", {"Location": f"{self.redirect_to}/inside", "Content-Length": "0"})
            case "endless-error":
                self._reply_endless(400, {"Content-Type": "application/xml"})
            case "error-text":
                body = f"<Error><Code>{HOSTILE_TEXT[5:]}</Code><Message>{HOSTILE_TEXT[5:]}</Message></Error>".encode()
                self._reply(400, body, {"Content-Length": str(len(body))})
            case "odd-etag":
                self._reply_endless(
                    200, {"Content-Length": str(TERABYTE), "ETag": '"a b\xe9\x9b"', "x-amz-meta-a": "\xe9"}
                )
            case _:
                self._reply(404, b"", {"Content-Length": "0"})

    def _range(self) -> tuple[int, int]:
        first, _, last = self.headers.get("Range", "bytes=0-").removeprefix("bytes=").partition("-")
        return int(first), int(last or 0)

    def _page(self, parts: Iterator[str], *, token: str = "", doctype: str = "", encoding: str = "url") -> None:
        more = f"<IsTruncated>true</IsTruncated><NextContinuationToken>{token}</NextContinuationToken>" if token else ""
        body = f"{more}{''.join(parts)}"
        text = f"{doctype}<ListBucketResult><EncodingType>{encoding}</EncodingType>{body}</ListBucketResult>"
        self._reply(200, text.encode(), {"Content-Length": str(len(text.encode()))})

    def _stream(self, parts: Iterator[str]) -> None:
        self._head(200, {"Connection": "close"})
        self.wfile.write(b"<ListBucketResult>")
        for part in parts:
            self.wfile.write(part.encode())

    def _reply(self, status: int, body: bytes, headers: dict[str, str], *, is_cut: bool = False) -> None:
        self._head(status, {"Content-Length": str(len(body)), **headers})
        if self.command == "GET":
            self.wfile.write(body)
        self.close_connection = is_cut

    def _reply_endless(self, status: int, headers: dict[str, str]) -> None:
        self._head(status, {**headers, "Connection": "close"})
        self.endless.acquire()
        try:
            while self.command == "GET":
                self.wfile.write(bytes(65_536))
        finally:
            self.endless.release()

    def _head(self, status: int, headers: dict[str, str]) -> None:
        self.send_response_only(status)
        for name, value in headers.items():
            self.send_header(name, value)
        self.end_headers()

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - the name of the base class
        pass


def _content(key: str) -> str:
    return f"<Contents><Key>{key}</Key><Size>1</Size></Contents>"


class _Server(ThreadingHTTPServer):
    daemon_threads = True

    def handle_error(self, request: Any, client_address: Any) -> None:
        """A client that gives an answer up is what is expected here."""


@contextmanager
def hostile_s3() -> Generator[str]:
    """Run the service on a free port until the block ends; give its endpoint."""
    with _Server(("127.0.0.1", 0), HostileS3) as server:
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02})
        thread.start()
        try:
            yield f"http://127.0.0.1:{server.server_port}"
        finally:
            with suppress(OSError):
                server.shutdown()
            thread.join()
