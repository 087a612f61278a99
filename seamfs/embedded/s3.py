"""An S3 service inside this process, for the demonstration and for quick tests. Needs the `demo` extra."""

import logging
from collections.abc import Generator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Final, Protocol, cast

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


class _MotoServer(Protocol):
    """What is used of `moto.server.ThreadedMotoServer`."""

    def start(self) -> None: ...

    def stop(self) -> None: ...

    def get_host_and_port(self) -> tuple[str, int]: ...


class _Client(Protocol):
    """What is used of a boto3 S3 client."""

    def create_bucket(self, *, Bucket: str) -> object: ...  # noqa: N803 - the service's own name

    def close(self) -> None: ...


@contextmanager
def embedded_s3(*, bucket: str = "demo") -> Generator[EmbeddedS3]:
    """Run the service on a free loopback port with one empty bucket until the block ends.

    It keeps everything in memory, knows no authentication and checks conditions without a lock: good for a
    demonstration, never the only proof of a guard.
    """
    from moto.server import ThreadedMotoServer

    logging.getLogger("werkzeug").setLevel(logging.ERROR)  # else one line per request on standard error
    server = cast("_MotoServer", ThreadedMotoServer(ip_address=_HOST, port=0, verbose=False))
    server.start()
    try:
        _, port = server.get_host_and_port()
        service = EmbeddedS3(endpoint_url=f"http://{_HOST}:{port}", bucket=bucket)
        _create_bucket(service)
        yield service
    finally:
        server.stop()


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
