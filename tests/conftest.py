"""Shared fixtures."""

import pytest

pytest_plugins = ["tests.support.s3_servers", "tests.support.sftp_servers"]

pytest.register_assert_rewrite("fs_core.testing.conformance")


@pytest.fixture(params=["asyncio", "trio"])
def anyio_backend(request: pytest.FixtureRequest) -> str:
    """Run async tests under both event loops; a test of an asyncio-only library overrides this."""
    return str(request.param)
