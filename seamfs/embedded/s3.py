"""An S3 service inside this process, for the demonstration and for quick tests. Needs the `demo` extra."""

import logging
from collections.abc import Generator, Iterable
from contextlib import contextmanager
from dataclasses import dataclass
from io import BytesIO
from threading import Lock, Thread
from typing import TYPE_CHECKING, Final, Protocol, cast

if TYPE_CHECKING:
    from _typeshed.wsgi import StartResponse, WSGIApplication, WSGIEnvironment

__all__ = ["EmbeddedS3", "embedded_s3"]

_HOST: Final = "127.0.0.1"


@dataclass(frozen=True, slots=True)
class EmbeddedS3:
    """Where the service answers. It checks no credentials, but clients need some to sign with."""

    endpoint_url: str
    bucket: str
    access_key_id: str = "embedded"
    secret_access_key: str = "embedded-secret"  # noqa: S105 - the service accepts any
    region: str = "us-east-1"


class _Client(Protocol):
    """What is used of a boto3 S3 client."""

    def create_bucket(self, *, Bucket: str) -> object: ...  # noqa: N803 - the service's own name

    def close(self) -> None: ...


@contextmanager
def embedded_s3(*, bucket: str = "demo") -> Generator[EmbeddedS3]:
    """Run the service on a free loopback port with one empty bucket until the block ends.

    It keeps everything in memory and knows no authentication: good for a demonstration, never the only proof of a
    guard.
    """
    from moto.moto_server.werkzeug_app import (
        DomainDispatcherApplication,
        MotoRequestHandler,
        create_backend_app,
    )
    from werkzeug.serving import make_server

    logging.getLogger("werkzeug").setLevel(logging.ERROR)  # else one line per request on standard error
    application = _InTurn(DomainDispatcherApplication(create_backend_app))
    server = make_server(_HOST, 0, application, threaded=True, request_handler=MotoRequestHandler)
    thread = Thread(target=server.serve_forever, name="embedded-s3", daemon=True)
    thread.start()
    try:
        service = EmbeddedS3(endpoint_url=f"http://{_HOST}:{server.server_port}", bucket=bucket)
        _create_bucket(service)
        yield service
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


class _InTurn:
    """Answers one request after another, each when all of it is there.

    moto looks at a condition and then writes, and writes an object and then its metadata, without a lock: of two
    requests at once both can meet a condition that only one may meet.
    """

    def __init__(self, application: "WSGIApplication") -> None:
        self._application = application
        self._turn = Lock()

    def __call__(self, environ: "WSGIEnvironment", start_response: "StartResponse") -> Iterable[bytes]:
        from werkzeug.exceptions import ClientDisconnected
        from werkzeug.wsgi import get_input_stream

        try:
            environ["wsgi.input"] = BytesIO(get_input_stream(environ).read())
        except ClientDisconnected as gone:
            return gone(environ, start_response)
        with self._turn:
            return self._application(environ, start_response)


def _create_bucket(service: EmbeddedS3) -> None:
    import boto3

    client = cast(
        "_Client",
        boto3.client(  # pyright: ignore[reportUnknownMemberType] - boto3 ships no types
            "s3",
            endpoint_url=service.endpoint_url,
            aws_access_key_id=service.access_key_id,
            aws_secret_access_key=service.secret_access_key,
            region_name=service.region,
        ),
    )
    try:
        client.create_bucket(Bucket=service.bucket)
    finally:
        client.close()
