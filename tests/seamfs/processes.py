"""The command as a process of its own."""

import json
import os
import subprocess
import sys
from collections.abc import Generator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

__all__ = ["HttpServer", "command", "environment", "http_server", "run"]

TIMEOUT_S = 60
"""No more than a test may take; on a busy machine a start alone takes ten seconds."""
_PROJECT = Path(__file__).parents[2]


def command(*arguments: str) -> list[str]:
    """Return the command line of `seamfs`."""
    return [sys.executable, "-m", "seamfs", *arguments]


def environment(**variables: str) -> dict[str, str]:
    """Return this process's environment with more variables, in which the packages are found from any directory."""
    return {**os.environ, "PYTHONPATH": str(_PROJECT), **variables}


def run(
    *arguments: str, given: bytes = b"", variables: dict[str, str] | None = None
) -> subprocess.CompletedProcess[bytes]:
    """Run a command to its end."""
    return subprocess.run(
        command(*arguments),
        input=given,
        capture_output=True,
        env=environment(**(variables or {})),
        timeout=TIMEOUT_S,
        check=False,
    )


@dataclass(frozen=True, slots=True)
class HttpServer:
    """A server that listens. `process` may be signalled; it is ended with the block anyway."""

    url: str
    log: dict[str, Any]
    process: subprocess.Popen[str]


@contextmanager
def http_server(root: str, *arguments: str, variables: dict[str, str] | None = None) -> Generator[HttpServer]:
    """Serve a root on a free loopback port until the block ends."""
    with subprocess.Popen(
        command("serve", root, "--http", "127.0.0.1:0", *arguments),
        stderr=subprocess.PIPE,
        text=True,
        env=environment(**(variables or {})),
    ) as process:
        try:
            assert process.stderr is not None
            log: dict[str, Any] = {}
            while log.get("event") != "serving":
                log = json.loads(process.stderr.readline())
            yield HttpServer(log["url"], log, process)
        finally:
            if process.poll() is None:
                process.kill()
