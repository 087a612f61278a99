"""A line to a loopback server that is as slow as one to another town: the relay's process and what it counted."""

import json
import subprocess
import sys
from collections.abc import Generator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import IO, cast

from benchmarks.backends.latency_relay import Passed

__all__ = ["SlowLink", "slow_link"]


@dataclass(frozen=True, slots=True)
class SlowLink:
    """A relay that runs; connections to `port` go through it."""

    rtt_s: float
    port: int
    _process: subprocess.Popen[str]

    def reset(self) -> None:
        """Count from zero, once nothing is under way any more. Blocks for two round trips or so."""
        self._ask("reset")

    def count(self) -> Passed:
        """Return what passed since `reset`."""
        return self._ask("count")

    def _ask(self, command: str) -> Passed:
        requests, answers = cast("tuple[IO[str], IO[str]]", (self._process.stdin, self._process.stdout))
        requests.write(f"{command}\n")
        requests.flush()
        return Passed(**json.loads(answers.readline()))


@contextmanager
def slow_link(port: int, *, rtt_s: float) -> Generator[SlowLink]:
    """Run a relay to a loopback port until the block ends."""
    command = [sys.executable, "-m", "benchmarks.backends.latency_relay", str(port), str(rtt_s)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        try:
            first = cast("IO[str]", process.stdout).readline()
            yield SlowLink(rtt_s, int(json.loads(first)["port"]), process)
        finally:
            process.kill()
