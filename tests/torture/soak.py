"""`python -m tests.torture.soak`: sessions that come and go in one process; what it holds stays level.

Before anything is measured the caches are brought to their bounds and a part of the time passes. Before each sample
garbage is collected and the allocator gives free pages back, and it has two arenas only: what is left of its noise is
within the growth that is allowed (`flatness.RSS_GROWTH_BYTES_MAX`). On S3 and SFTP faults happen at a low rate; the
proxy runs in the same process, so its connections and buffers are in the figures too.

After the workspace is closed there are no more descriptors and threads than before it was opened.

Exit status: 0 all level, 1 something grew, or a call ended in a way that none may.
"""

import argparse
import ctypes
import gc
import random
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Generator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Final, Literal, get_args

import anyio
from pydantic import BaseModel, SecretStr

from backends.options import BackendOptions
from seamfs.config import Settings
from seamfs.workspace import Workspace, open_workspace
from tests.support.s3_servers import seaweedfs
from tests.support.sftp_servers import real_server
from tests.torture.faults import FaultPlan, Proxy
from tests.torture.flatness import SAMPLES_MIN, Sample, findings, growths
from tests.torture.soak_load import Visit, fill_caches, prepare, visit
from tests.torture.stores import local_store, s3_store, sftp_store

__all__ = ["Report", "main", "soak"]

SoakedStore = Literal["memory", "local", "s3", "sftp"]

_AGENTS: Final = 6
_S3_FAULT_PROBABILITY: Final = 0.002
"""Of each of six kinds, per request."""

_SFTP_FAULT_PROBABILITY: Final = 0.00003
"""Of each of five kinds, per 4 KiB in one direction: a scan of the largest file (6 MB) meets one in five times."""

_CHANGES_FIRST: Final = 250
_CHANGES_FIRST_ON_S3: Final = 1_100
"""More than the heads of objects that the S3 backend remembers."""

_SESSIONS_MIN: Final = 40
"""Fewer say nothing, however slow the machine is."""

_WARM_UP_SHARE: Final = 0.15
_CLOSED_WAIT_S: Final = 30.0
_UNEXPECTED: Final = frozenset({"TOOL_FAILED", "INVALID_TOOL_OUTPUT", "FS_IO_ERROR"})
_M_ARENA_MAX: Final = -8
"""Of `mallopt` (malloc.h of glibc)."""


class Report(BaseModel):
    """What a soak saw."""

    store: SoakedStore
    duration_s: float
    samples: int
    answers: dict[str, int]
    faults: dict[str, int]
    levels: tuple[str, ...]
    findings: tuple[str, ...]
    command: str


@dataclass(frozen=True, slots=True)
class _Place:
    """Where a soak takes place."""

    url: str
    settings: Settings
    proxy: Proxy | None = None

    @property
    def options(self) -> BackendOptions:
        return self.settings.backends


def soak(
    store: SoakedStore, *, duration_s: float, interval_s: float = 2.0, seed: int = 1, visiting: Visit = visit
) -> Report:
    """Soak one store and judge what the process held."""
    _limit_arenas()
    answers: Counter[str] = Counter()
    samples: list[Sample] = []
    with tempfile.TemporaryDirectory(prefix="seamfs-soak-") as directory, _place(store, Path(directory), seed) as place:
        anyio.run(prepare, place.url, place.options)
        before = sample()

        async def run() -> None:
            async with open_workspace(place.url, settings=place.settings) as workspace:
                changes = _CHANGES_FIRST_ON_S3 if store == "s3" else _CHANGES_FIRST
                await fill_caches(workspace, random.Random(seed), answers, changes=changes)
                await _measure(workspace, samples, answers, visiting, duration_s=duration_s, interval_s=interval_s)

        anyio.run(run)
        if place.proxy is not None:
            place.proxy.calm()
        left = _left_over(before)
        faults = {} if place.proxy is None else dict(sorted(place.proxy.injected.items()))
    unexpected = [f"{answers[code]} calls ended in {code}" for code in sorted(_UNEXPECTED) if answers[code]]
    return Report(
        store=store,
        duration_s=duration_s,
        samples=len(samples),
        answers=dict(sorted(answers.items())),
        faults=faults,
        levels=tuple(map(str, growths(samples))),
        findings=(*findings(samples), *left, *unexpected),
        command=f"python -m tests.torture.soak --store {store} --duration-s {duration_s:g} --seed {seed}",
    )


async def _measure(
    workspace: Workspace,
    samples: list[Sample],
    answers: Counter[str],
    visiting: Visit,
    *,
    duration_s: float,
    interval_s: float,
) -> None:
    """Let sessions come and go for a while; keep what the process held after the warm-up."""
    end_s = time.monotonic() + duration_s

    def is_over() -> bool:
        is_enough = len(samples) >= SAMPLES_MIN and answers["sessions"] >= _SESSIONS_MIN
        return is_enough and time.monotonic() >= end_s

    async def come_and_go(number: int) -> None:
        dice = random.Random(number)
        while not is_over():
            await visiting(workspace, dice, answers)
            answers["sessions"] += 1

    async with anyio.create_task_group() as agents:
        for number in range(_AGENTS):
            agents.start_soon(come_and_go, number)
        await anyio.sleep(duration_s * _WARM_UP_SHARE)
        while not is_over():
            samples.append(sample())
            await anyio.sleep(interval_s)


def sample() -> Sample:
    """Return what this process holds, after it has given back what it does not need."""
    gc.collect()
    libc = ctypes.CDLL(None)
    libc.malloc_trim(0)
    resident_pages = int(Path("/proc/self/statm").read_text().split()[1])
    return Sample(
        at_s=time.monotonic(),
        rss_bytes=resident_pages * 4096,
        descriptors=len(list(Path("/proc/self/fd").iterdir())),
        threads=len(list(Path("/proc/self/task").iterdir())),
    )


def _limit_arenas() -> None:
    """Have the allocator of glibc share two arenas among all threads: each of more would keep a reserve of its own."""
    ctypes.CDLL(None).mallopt(_M_ARENA_MAX, 2)


def _left_over(before: Sample) -> tuple[str, ...]:
    """Return what is still held soon after the end that was not before the beginning."""
    deadline_s = time.monotonic() + _CLOSED_WAIT_S
    while True:
        after = sample()
        left = {
            "descriptors": after.descriptors - before.descriptors,
            "threads": after.threads - before.threads,
        }
        if all(count <= 0 for count in left.values()) or time.monotonic() > deadline_s:
            return tuple(f"{count} {what} are left after closing" for what, count in left.items() if count > 0)
        time.sleep(0.1)


@contextmanager
def _place(store: SoakedStore, directory: Path, seed: int) -> Generator[_Place]:
    """Start what the store needs, with few faults on the way to it, until the block ends."""
    match store:
        case "memory":
            yield _Place(f"memory://soak-{directory.name}", Settings())
        case "local":
            place = local_store(directory)
            yield _Place(place.url, Settings(local=place.options.local))
        case "s3":
            with (
                seaweedfs(directory) as server,
                s3_store(server, FaultPlan.even(_S3_FAULT_PROBABILITY, seed=seed)) as place,
            ):
                secrets = {
                    "access_key_id": server.access_key_id,
                    "secret_access_key": SecretStr(server.secret_access_key),
                }
                yield _Place(place.url, Settings(s3=place.options.s3.model_copy(update=secrets)), place.proxy)
        case "sftp":
            with (
                real_server(directory) as server,
                sftp_store(server, FaultPlan.even(_SFTP_FAULT_PROBABILITY, seed=seed)) as place,
            ):
                yield _Place(place.url, Settings(sftp=place.options.sftp), place.proxy)


def main(arguments: Sequence[str] | None = None) -> int:
    """Soak one store in this process, or all at the same time in a process each, and print what came of it."""
    parser = argparse.ArgumentParser(prog="python -m tests.torture.soak", description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--store", choices=(*get_args(SoakedStore), "all"), default="all")
    parser.add_argument("--duration-s", type=float, default=1800.0)
    parser.add_argument("--interval-s", type=float, default=2.0)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--json", type=Path, default=None)
    options = parser.parse_args(arguments)
    if options.store == "all":
        reports = _soak_all(options)
    else:
        reports = [soak(options.store, duration_s=options.duration_s, interval_s=options.interval_s, seed=options.seed)]
        _say(reports[0])
    if options.json is not None:
        options.json.write_text("[" + ",\n".join(report.model_dump_json(indent=2) for report in reports) + "]\n")
    return 1 if any(report.findings for report in reports) else 0


def _soak_all(options: argparse.Namespace) -> list[Report]:
    """Soak each store in a process of its own."""
    with tempfile.TemporaryDirectory() as directory:
        files = {store: Path(directory) / f"{store}.json" for store in get_args(SoakedStore)}
        given = ["--duration-s", str(options.duration_s), "--interval-s", str(options.interval_s)]
        given += ["--seed", str(options.seed)]
        command = [sys.executable, "-m", "tests.torture.soak", *given]
        processes = [
            subprocess.Popen([*command, "--store", store, "--json", str(file)]) for store, file in files.items()
        ]
        for process in processes:
            process.wait()
        texts = [file.read_text().strip().removeprefix("[").removesuffix("]") for file in files.values()]
        return [Report.model_validate_json(text) for text in texts]


def _say(report: Report) -> None:
    lines = [
        f"{report.store}: {report.duration_s:g} s, {report.samples} samples, "
        f"{report.answers.get('sessions', 0)} sessions, {sum(report.faults.values())} faults",
        *(f"  {level}" for level in report.levels),
        f"  answers: {report.answers}",
        *(f"  FOUND: {finding}" for finding in report.findings),
    ]
    sys.stdout.write("\n".join(lines) + "\n")
    sys.stdout.flush()


if __name__ == "__main__":
    sys.exit(main())
