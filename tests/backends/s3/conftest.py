"""Services, roots and proxies for the tests of the S3 backend, which runs under asyncio only."""

from collections.abc import AsyncGenerator, Generator
from dataclasses import replace

import pytest

from backends.s3 import S3Backend
from tests.support.s3_limits import TimeLimits
from tests.support.s3_proxy import FaultProxy, fault_proxy
from tests.support.s3_servers import S3Harness, S3Server


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


@pytest.fixture(params=["moto_server", "seaweedfs_server"])
def server(request: pytest.FixtureRequest) -> S3Server:
    return request.getfixturevalue(request.param)


@pytest.fixture
def harness(server: S3Server) -> S3Harness:
    return server.harness()


@pytest.fixture
async def backend(harness: S3Harness) -> AsyncGenerator[S3Backend]:
    opened = await harness.open()
    yield opened
    await opened.aclose()


@pytest.fixture
def proxy(server: S3Server) -> Generator[FaultProxy]:
    with fault_proxy(server.endpoint_url) as running:
        yield running


@pytest.fixture
async def proxied(harness: S3Harness, proxy: FaultProxy) -> AsyncGenerator[S3Backend]:
    """A backend behind `proxy`, after its probe, so that only the operation under test is counted."""
    through = S3Harness(replace(harness.server, endpoint_url=proxy.endpoint_url), harness.bucket, harness.prefix)
    opened = await through.open()
    await opened.probe()
    proxy.counts()
    yield opened
    await opened.aclose()


@pytest.fixture
def limits(monkeypatch: pytest.MonkeyPatch) -> TimeLimits:
    return TimeLimits(monkeypatch)
