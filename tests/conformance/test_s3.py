"""S3 keeps every promise of the seam: on a fast double and on a real server."""

import pytest

from fs_core.testing.conformance import BackendConformance
from fs_core.testing.harness import StoreHarness
from tests.support.s3_servers import S3Server


class _OnAsyncio(BackendConformance):
    @pytest.fixture
    def anyio_backend(self) -> str:
        return "asyncio"


class TestMoto(_OnAsyncio):
    @pytest.fixture
    def harness(self, moto_server: S3Server) -> StoreHarness:
        return moto_server.harness()


class TestSeaweedFs(_OnAsyncio):
    @pytest.fixture
    def harness(self, seaweedfs_server: S3Server) -> StoreHarness:
        return seaweedfs_server.harness()
