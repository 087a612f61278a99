"""One run: workers are set on a store and killed, then everything is calmed, looked at from behind, and judged."""

import platform
import time
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Final

import anyio
from anyio import CapacityLimiter, to_thread

from backends.s3 import S3Backend
from fs_core.filesystem import BackedFileSystem
from fs_core.paths import is_staged_name
from fs_core.policy import Unguarded
from fs_core.session import FileSession
from fs_core.testing.harness import StoreHarness
from tests.torture.bystander import watching
from tests.torture.history import load
from tests.torture.insisting import insisted
from tests.torture.notes import load_notes
from tests.torture.plan import Layout
from tests.torture.pool import WorkerPool
from tests.torture.report import Report, found_by_fault, refusals_by_code, told_by_operation
from tests.torture.stores import TorturedStore
from tests.torture.verdict import Fault, Finding, Tree, judge

__all__ = ["Load", "torture"]

_CALM: Final = "calm.txt"
_CALM_ROUNDS_MAX: Final = 4
"""One finds what is left, one finds it expired, and the others are for what came later."""

_CALM_WRITES_AT_A_TIME: Final = 4
_NS: Final = 1_000_000_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Load:
    """How hard a store is tortured. Of each worker's agents one is unguarded, if there are several."""

    duration_s: float
    processes: int
    agents: int
    seed: int
    kill_every_s: float | None = None
    generation_s: float = 10.0
    watch_every_s: float = 0.005
    mutation: str | None = None


def torture(store: TorturedStore, load_: Load, directory: Path, *, command: str) -> Report:
    """Run the whole of it; the journals stay in `directory`, which must be empty."""
    started = datetime.now(UTC)
    kill_every_s = load_.kill_every_s or store.kill_every_s
    pool = WorkerPool(
        store,
        directory,
        processes=load_.processes,
        spares=1 if kill_every_s < load_.duration_s else 0,
        agents=load_.agents,
        unguarded=1 if load_.agents > 1 else 0,
        seed=load_.seed,
        mutation=load_.mutation,
    )
    try:
        pool.wait_until_ready()
        start_ns = time.monotonic_ns()
        end_ns = start_ns + int(load_.duration_s * _NS)
        layout = Layout(start_ns=start_ns, end_ns=end_ns, generation_s=load_.generation_s)
        with watching(store.harness, layout, directory, pause_s=load_.watch_every_s):
            pool.run(layout, kill_every_s=kill_every_s)
            pool.finish()
    finally:
        pool.close()
    injected = store.injected
    if store.proxy is not None:
        store.proxy.calm()
    events = load(directory.glob("*.journal"))
    tree, calmed = anyio.run(_calm, store, frozenset(event.key for event in events))
    notes = load_notes(directory.glob("*.notes"))
    findings = judge(events, tree, notes, asked_for=calmed)
    findings += [Finding(Fault.CRASHED, ".", fault) for fault in pool.faults]
    return Report(
        store=store.name,
        command=command,
        started=started.isoformat(timespec="seconds"),
        elapsed_s=load_.duration_s,
        seed=load_.seed,
        processes=load_.processes,
        agents=load_.agents,
        mutation=load_.mutation,
        versions={"python": platform.python_version(), "system": platform.platform(), **store.versions},
        settings=_settings(store),
        operations=told_by_operation(events),
        refusals=refusals_by_code(notes),
        kills=pool.kills,
        kills_within_a_change=sum(event.end_ns is None for event in events),
        injected=injected,
        files=len({event.key for event in events}),
        found=found_by_fault(findings),
        findings=tuple(f"{finding.fault}: {finding.key}: {finding.text}" for finding in findings),
    )


async def _calm(store: TorturedStore, keys: frozenset[str]) -> tuple[Tree, frozenset[str]]:
    """Write into every directory until nothing is left of dead writers; return what stands there, and what was written.

    What they left goes with a write after it has expired, and something of them may still be under way.
    """
    directories = {key.rpartition("/")[0] for key in keys}
    directories |= {"/".join(one.split("/")[:count]) for one in directories for count in range(one.count("/") + 1)}
    paths = frozenset(f"{directory}/{_CALM}".lstrip("/") for directory in directories)
    await _write_everywhere(store, paths)
    for _ in range(_CALM_ROUNDS_MAX - 1):
        tree = await to_thread.run_sync(_tree, store.harness)
        if not _has_leftovers(tree):
            return tree, paths
        await anyio.sleep(store.expiry_s)
        await _write_everywhere(store, paths)
    return await to_thread.run_sync(_tree, store.harness), paths


async def _write_everywhere(store: TorturedStore, paths: frozenset[str]) -> None:
    """Write as a new backend: one that has looked through a directory does not do so again for a while."""
    backend = await insisted(store.harness.open)
    session = FileSession(BackedFileSystem(backend), policy=Unguarded())
    limiter = CapacityLimiter(_CALM_WRITES_AT_A_TIME)

    async def write(path: str) -> None:
        async with limiter:
            await insisted(lambda: session.write(path, "calm\n"))

    try:
        if isinstance(backend, S3Backend):
            await insisted(backend.probe)  # which removes what is left of the probes of dead workers
        async with anyio.create_task_group() as tasks:
            for path in paths:
                tasks.start_soon(write, path)
    finally:
        await backend.aclose()


def _has_leftovers(tree: Tree) -> bool:
    return any(is_staged_name(name) for path in (*tree.files, *tree.directories) for name in path.split("/"))


def _tree(harness: StoreHarness) -> Tree:
    files: dict[str, bytes] = {}
    directories: set[str] = set()
    pending = ["."]
    while pending:
        directory = pending.pop()
        for name in harness.names(directory):
            path = name if directory == "." else f"{directory}/{name}"
            data = harness.get(path)
            if data is not None:
                files[path] = data
                continue
            directories.add(path)
            pending.append(path)
    return Tree(files, frozenset(directories))


def _settings(store: TorturedStore) -> Mapping[str, float]:
    options: object = getattr(store.options, store.name)
    return {name: value for name, value in vars(options).items() if isinstance(value, float)}
