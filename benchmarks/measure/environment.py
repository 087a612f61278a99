"""Where and with what a run was made, without names of hosts or places in the file system."""

import os
import platform
import re
import subprocess
from dataclasses import dataclass
from datetime import UTC, datetime
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

__all__ = ["Environment", "environment", "package_version"]

_KERNEL = re.compile(r"\d+(\.\d+)*")


@dataclass(frozen=True, slots=True)
class Environment:
    """What figures depend on. `disk` is the file system that holds the files."""

    date: str
    command: str
    seamfs: str
    python: str
    kernel: str
    cpus: int
    memory_bytes: int
    disk: str


def environment(command: str, *, scratch: Path) -> Environment:
    """Return the present one."""
    numbers = _KERNEL.match(platform.release())
    return Environment(
        date=datetime.now(UTC).strftime("%Y-%m-%d %H:%M UTC"),
        command=command,
        seamfs=package_version("seamfs"),
        python=platform.python_version(),
        kernel=f"{platform.system()} {numbers.group() if numbers else ''}".strip(),
        cpus=len(os.sched_getaffinity(0)),
        memory_bytes=os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES"),
        disk=_disk(scratch),
    )


def package_version(name: str) -> str:
    """Return the version of an installed distribution, or that it is not installed."""
    try:
        return version(name)
    except PackageNotFoundError:
        return "not installed"


def _disk(scratch: Path) -> str:
    done = subprocess.run(["stat", "-f", "-c", "%T", str(scratch)], capture_output=True, text=True, check=True)
    return done.stdout.strip()
