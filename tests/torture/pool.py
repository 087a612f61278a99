"""The worker processes: started, killed at random moments, replaced, and waited for in the end."""

import os
import random
import signal
import subprocess
import sys
import time
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Final

from pydantic import BaseModel

from tests.torture.plan import Layout, Plan
from tests.torture.stores import TorturedStore

__all__ = ["WorkerPool"]

_ROOT: Final = Path(__file__).parents[2]
_TICK_S: Final = 0.01
_START_TIMEOUT_S: Final = 120.0
_END_TIMEOUT_S: Final = 60.0
"""How long after the end of the run an operation may take to end; every limit of time in the stores is far below."""


@dataclass(frozen=True, slots=True)
class _Worker:
    process: subprocess.Popen[bytes]
    channel: IO[bytes]
    plan: Plan
    errors: IO[bytes]

    @property
    def is_ready(self) -> bool:
        """Whether it has opened the store."""
        return self.plan.journal.exists()

    def send(self, message: BaseModel) -> None:
        """Tell it something, as one line."""
        self.channel.write(message.model_dump_json(exclude_defaults=True).encode() + b"\n")
        self.channel.flush()

    def begin(self, layout: Layout) -> None:
        """Have its agents begin as soon as it is ready."""
        self.send(layout)
        self.channel.close()

    def told(self) -> str:
        """Return the end of what it wrote to standard error."""
        self.errors.seek(0)
        return self.errors.read()[-2000:].decode(errors="replace")

    def close(self) -> None:
        """Release the files and pipes to it."""
        self.channel.close()
        self.errors.close()


class WorkerPool:
    """`processes` workers on one store, and `spares` that have opened it and wait to take the place of a killed one.

    A worker is killed only while a spare is ready: however slowly a process starts, as many as wanted are at work. What
    goes wrong with a process is in `faults`.
    """

    def __init__(
        self,
        store: TorturedStore,
        directory: Path,
        *,
        processes: int,
        spares: int,
        agents: int,
        unguarded: int,
        seed: int,
        mutation: str | None,
    ) -> None:
        self._store = store
        self._directory = directory
        self._agents = agents
        self._unguarded = unguarded
        self._seed = seed
        self._mutation = mutation
        self._dice = random.Random(f"{seed}/killer")
        self._started = 0
        self._running = [self._start() for _ in range(processes)]
        self._spare = [self._start() for _ in range(spares)]
        self.kills = 0
        self.faults: list[str] = []

    def wait_until_ready(self) -> None:
        """Wait until all workers have opened the store.

        Raises:
            TimeoutError: one has not.
        """
        deadline_s = time.monotonic() + _START_TIMEOUT_S
        workers = self._running + self._spare
        while not all(worker.is_ready for worker in workers):
            if time.monotonic() > deadline_s:
                raise TimeoutError("\n".join(["not all workers are ready", *(worker.told() for worker in workers)]))
            time.sleep(_TICK_S)

    def run(self, layout: Layout, *, kill_every_s: float) -> None:
        """Let the workers begin; kill and replace one about every `kill_every_s` until the end of the run."""
        for worker in self._running:
            worker.begin(layout)
        while (left_s := (layout.end_ns - time.monotonic_ns()) / 1e9) > 0:
            wait_s = self._dice.uniform(0.5, 1.5) * kill_every_s
            time.sleep(min(wait_s, left_s))
            if wait_s < left_s:
                self._kill_one(layout)

    def finish(self) -> None:
        """Wait until all workers have ended by themselves."""
        deadline_s = time.monotonic() + _END_TIMEOUT_S
        for worker in self._running:
            try:
                status = worker.process.wait(max(0.1, deadline_s - time.monotonic()))
            except subprocess.TimeoutExpired:
                self.faults.append(f"a worker did not end; its journal is {worker.plan.journal}")
            else:
                if status:
                    self.faults.append(f"a worker ended with status {status}: {worker.told()}")
        self.close()

    def close(self) -> None:
        """Leave no process behind."""
        for worker in self._running + self._spare:
            worker.process.kill()
            worker.process.wait()
            worker.close()
        self._running.clear()
        self._spare.clear()

    def _kill_one(self, layout: Layout) -> None:
        """Kill one of those that are at work, and put a spare in its place."""
        candidates = [worker for worker in self._running if worker.process.poll() is None]
        successor = next((worker for worker in self._spare if worker.is_ready), None)
        if successor is None or not candidates:
            return
        victim = self._dice.choice(candidates)
        time.sleep(self._dice.uniform(0, _TICK_S))
        victim.process.kill()
        status = victim.process.wait()
        if status == -signal.SIGKILL:
            self.kills += 1
        elif status or time.monotonic_ns() < layout.end_ns:
            self.faults.append(f"a worker ended too early: {victim.told()}")
        victim.close()
        successor.begin(layout)
        self._running[self._running.index(victim)] = successor
        self._spare[self._spare.index(successor)] = self._start()

    def _start(self) -> _Worker:
        serial = self._started
        self._started += 1
        name = f"w{serial}"
        names = [f"{name}a{number}" for number in range(self._agents)]
        guarded = self._agents - self._unguarded
        loops = self._store.event_loops
        plan = Plan(
            url=self._store.url,
            options=self._store.options,
            event_loop=loops[serial % len(loops)],
            guarded=tuple(names[:guarded]),
            unguarded=tuple(names[guarded:]),
            seed=self._seed,
            journal=self._directory / f"{name}.journal",
            notes=self._directory / f"{name}.notes",
            mutation=self._mutation,
        )
        errors = (self._directory / f"{name}.stderr").open("w+b")
        process = subprocess.Popen(
            [sys.executable, "-m", "tests.torture.worker"],
            cwd=_ROOT,
            env={**os.environ, **self._store.environment},
            stdin=subprocess.PIPE,
            stderr=errors,
        )
        assert process.stdin is not None
        worker = _Worker(process, process.stdin, plan, errors)
        worker.send(plan)
        return worker
