"""Shared fixtures."""

import os
from collections.abc import Generator
from typing import Any

import pytest
from hypothesis import HealthCheck, settings
from hypothesis.internal.constants_ast import Constants

pytest_plugins = [
    "tests.support.collecting",
    "tests.support.grouping",
    "tests.support.npm_servers",
    "tests.support.s3_servers",
    "tests.support.sftp_servers",
]

pytest.register_assert_rewrite("fs_core.testing.conformance", "fs_core.testing.observations")

# The same examples in every run: what a change is told shall be about the change. `make fuzz` looks for new ones, many
# times as many, so a property test sets no number of examples of its own.
settings.register_profile("ci", max_examples=100, deadline=None, derandomize=True, print_blob=True)
settings.register_profile(
    "nightly",
    parent=settings.get_profile("ci"),
    max_examples=10_000,
    derandomize=False,
    suppress_health_check=[HealthCheck.too_slow],
)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "ci"))


def _draw_no_constants_of_ours() -> None:
    """Keep examples from depending on the modules that happen to be loaded, whose constants Hypothesis draws from."""
    nothing = Constants()
    pytest.MonkeyPatch().setattr("hypothesis.internal.conjecture.providers._get_local_constants", lambda: nothing)


if settings.get_current_profile_name() == "ci":
    _draw_no_constants_of_ours()


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
