"""Shared fixtures."""

from collections.abc import Generator
from typing import Any

import pytest

pytest_plugins = ["tests.support.s3_servers", "tests.support.sftp_servers"]

pytest.register_assert_rewrite("fs_core.testing.conformance")


@pytest.fixture(params=["asyncio", "trio"])
def anyio_backend(request: pytest.FixtureRequest) -> str:
    """Run async tests under both event loops; a test of an asyncio-only library overrides this."""
    return str(request.param)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport() -> Generator[None, Any, Any]:
    """Escape lone surrogates in what a test printed or logged: a worker cannot send them to its controller."""
    report = yield
    report.sections = [(name, text.encode("utf-8", "backslashreplace").decode()) for name, text in report.sections]
    return report
