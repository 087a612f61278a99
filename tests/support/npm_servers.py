"""MCP servers of other authors, from npm, installed once for a session of tests.

With `SEAMFS_REQUIRE_REAL=1` a missing npm or a failed installation fails the test that wants a server; otherwise it is
skipped and said.
"""

import os
import shutil
import subprocess
from pathlib import Path
from typing import NoReturn

import pytest

__all__ = ["npm_servers"]

PACKAGES = (
    "@modelcontextprotocol/server-everything@2026.8.31",
    "@modelcontextprotocol/server-filesystem@2026.8.31",
)
INSTALL_TIMEOUT_S = 100


@pytest.fixture(scope="session")
def npm_servers(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The directory with the programs `mcp-server-everything` and `mcp-server-filesystem`."""
    npm = shutil.which("npm")
    if npm is None:
        _cannot_run("npm is not installed")
    home = tmp_path_factory.mktemp("npm")
    # What npm has fetched once comes from its own cache.
    flags = ["--no-audit", "--no-fund", "--ignore-scripts", "--prefer-offline", "--prefix", str(home)]
    done = subprocess.run(
        [npm, "install", *flags, *PACKAGES], capture_output=True, timeout=INSTALL_TIMEOUT_S, check=False
    )
    if done.returncode != 0:
        _cannot_run(f"the servers cannot be installed: {done.stderr.decode()[-300:]}")
    return home / "node_modules" / ".bin"


def _cannot_run(reason: str) -> NoReturn:
    if os.environ.get("SEAMFS_REQUIRE_REAL") == "1":
        pytest.fail(reason)
    pytest.skip(reason)
