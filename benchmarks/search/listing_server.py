"""An S3 endpoint that has many keys and nothing behind them, in a process of its own.

`python -m benchmarks.search.listing_server COUNT` writes one JSON line with its port and answers until standard input
ends. Pages of keys come in the order of Amazon S3 and at once, so that what is measured is what a client makes of them.
There are no contents: any key that is asked for does not exist.
"""

import json
import subprocess
import sys
import threading
from bisect import bisect_left, bisect_right
from collections.abc import Generator
from contextlib import contextmanager
from functools import cache
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import IO, Final, cast
from urllib.parse import parse_qs, quote, urlsplit

from benchmarks.backends.access import S3Access
from benchmarks.backends.stores import S3Store
from benchmarks.search.source_tree import SourceTree
from tests.support.s3_servers import S3Server

__all__ = ["listing_store", "listing_tree"]

_BUCKET: Final = "seam"
_PREFIX: Final = "bench"
_KEYS_PER_DIRECTORY: Final = 16
_SUFFIXES: Final = (".py", ".c", ".h", ".md")
_DIRECTORIES_PER_LEVEL: Final = 20

_PAGE: Final = (
    '<?xml version="1.0" encoding="UTF-8"?><ListBucketResult xmlns="http://s3.amazonaws.com/doc/2006-03-01/">'
    "<Name>{bucket}</Name><Prefix>{prefix}</Prefix><KeyCount>{count}</KeyCount><MaxKeys>{size}</MaxKeys>"
    "<EncodingType>url</EncodingType><IsTruncated>{is_truncated}</IsTruncated>{token}{contents}</ListBucketResult>"
)
_OBJECT: Final = (
    "<Contents><Key>{key}</Key><LastModified>2026-11-30T12:00:00.000Z</LastModified>"
    "<ETag>&quot;d41d8cd98f00b204e9800998ecf8427e&quot;</ETag><Size>{size}</Size>"
    "<StorageClass>STANDARD</StorageClass></Contents>"
)
_MISSING: Final = b'<?xml version="1.0" encoding="UTF-8"?><Error><Code>NoSuchKey</Code></Error>'


def listing_tree(count: int) -> SourceTree:
    """Return what there is of `count` keys."""
    return SourceTree(
        root=Path(),
        files=count,
        python_files=-(-count // len(_SUFFIXES)),
        directories=-(-count // _KEYS_PER_DIRECTORY),
        size_bytes=0,
        needles=0,
    )


@contextmanager
def listing_store(count: int) -> Generator[S3Store]:
    """Run an endpoint with `count` keys until the block ends."""
    command = [sys.executable, "-m", "benchmarks.search.listing_server", str(count)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        try:
            port = int(json.loads(cast("IO[str]", process.stdout).readline())["port"])
            endpoint_url = f"http://127.0.0.1:{port}"
            server = S3Server(
                name="pages alone", endpoint_url=endpoint_url, access_key_id="nobody", secret_access_key="nothing"
            )
            yield S3Store(
                server,
                S3Access(
                    endpoint_url=endpoint_url,
                    access_key_id="nobody",
                    secret_access_key="nothing",
                    bucket=_BUCKET,
                    prefix=_PREFIX,
                ),
            )
        finally:
            process.kill()


def _keys(count: int) -> list[str]:
    keys = [
        f"{_PREFIX}/{_directory(number // _KEYS_PER_DIRECTORY)}/f{number % _KEYS_PER_DIRECTORY:02d}"
        f"{_SUFFIXES[number % len(_SUFFIXES)]}"
        for number in range(count)
    ]
    return sorted(keys)


def _directory(number: int) -> str:
    above, here = divmod(number, _DIRECTORIES_PER_LEVEL)
    return f"{_directory(above - 1)}/d{here:02d}" if above else f"d{here:02d}"


def _handler(keys: list[str]) -> type[BaseHTTPRequestHandler]:
    @cache
    def page(prefix: str, start: int, size: int) -> bytes:
        end = min(start + size, bisect_left(keys, f"{prefix}\U0010ffff"))
        is_truncated = end < len(keys) and keys[end].startswith(prefix)
        return _PAGE.format(
            bucket=_BUCKET,
            prefix=quote(prefix),
            count=end - start,
            size=size,
            is_truncated=str(is_truncated).lower(),
            token=f"<NextContinuationToken>{end}</NextContinuationToken>" if is_truncated else "",
            contents="".join(_OBJECT.format(key=quote(key), size=len(key)) for key in keys[start:end]),
        ).encode()

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_GET(self) -> None:
            asked = {name: values[0] for name, values in parse_qs(urlsplit(self.path).query).items()}
            if "list-type" not in asked:
                self._answer(404, _MISSING)
                return
            prefix = asked.get("prefix", "")
            start = bisect_left(keys, prefix)
            if "start-after" in asked:
                start = max(start, bisect_right(keys, asked["start-after"]))
            if "continuation-token" in asked:
                start = int(asked["continuation-token"])
            self._answer(200, page(prefix, start, int(asked.get("max-keys", "1000"))))

        def do_HEAD(self) -> None:
            self._answer(404, b"")

        def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - its name there
            """Write nothing."""

        def _answer(self, status: int, body: bytes) -> None:
            self.send_response(status)
            self.send_header("Content-Type", "application/xml")
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

    return Handler


def main() -> None:
    """Answer until standard input ends."""
    server = ThreadingHTTPServer(("127.0.0.1", 0), _handler(_keys(int(sys.argv[1]))))
    threading.Thread(target=server.serve_forever, daemon=True).start()
    print(json.dumps({"port": server.server_address[1]}), flush=True)
    sys.stdin.read()


if __name__ == "__main__":
    main()
