"""The embedded S3 service: conditions hold, and a body that breaks off is no object."""

import secrets
import socket
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any
from urllib.parse import urlsplit

import pytest
from moto.s3.models import S3Backend

from seamfs.embedded.s3 import EmbeddedS3, embedded_s3

_CREATORS = 4
_SIGNED = (  # the service checks no signature, but takes an unsigned request for a stranger's
    "Authorization: AWS4-HMAC-SHA256 Credential=embedded/20260101/us-east-1/s3/aws4_request, "
    "SignedHeaders=host, Signature=00"
)


@pytest.fixture
def service() -> Iterator[EmbeddedS3]:
    with embedded_s3(bucket=f"t-{secrets.token_hex(6)}") as service:  # what moto holds outlives its server
        yield service


def _send(service: EmbeddedS3, method: str, headers: str = "", body: bytes = b"") -> bytes:
    """Send a request for one key, end the sending side and return the whole answer."""
    address = urlsplit(service.endpoint_url)
    assert address.hostname is not None
    assert address.port is not None
    head = (
        f"{method} /{service.bucket}/key HTTP/1.1\r\nHost: 127.0.0.1\r\nConnection: close\r\n{_SIGNED}\r\n{headers}\r\n"
    )
    with socket.create_connection((address.hostname, address.port), timeout=20) as connection:
        connection.sendall(head.encode() + body)
        connection.shutdown(socket.SHUT_WR)
        with connection.makefile("rb") as answer:
            return answer.read()


def _status(answer: bytes) -> int:
    return int(answer.split(b" ", 2)[1])


def test_of_many_creators_at_once_one_wins(service: EmbeddedS3, monkeypatch: pytest.MonkeyPatch) -> None:
    put = S3Backend.put_object

    def slow(*arguments: Any, **parameters: Any) -> Any:
        time.sleep(0.05)  # between the look at the condition and the write
        return put(*arguments, **parameters)

    monkeypatch.setattr(S3Backend, "put_object", slow)

    def create(number: int) -> int:
        return _status(_send(service, "PUT", "If-None-Match: *\r\nContent-Length: 1\r\n", str(number).encode()))

    with ThreadPoolExecutor(_CREATORS) as creators:
        statuses = list(creators.map(create, range(_CREATORS)))
    assert sorted(statuses) == [200, *[412] * (_CREATORS - 1)]


def test_a_body_that_breaks_off_is_no_object(service: EmbeddedS3) -> None:
    assert _status(_send(service, "PUT", "Content-Length: 10\r\n", b"half")) == 400
    assert _status(_send(service, "HEAD")) == 404


def test_a_body_in_chunks_is_stored(service: EmbeddedS3) -> None:
    chunks = b"4\r\nhalf\r\n4\r\nmore\r\n0\r\n\r\n"
    assert _status(_send(service, "PUT", "Transfer-Encoding: chunked\r\n", chunks)) == 200
    assert _send(service, "GET").endswith(b"\r\n\r\nhalfmore")
