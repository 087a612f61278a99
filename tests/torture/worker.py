"""One worker process of the bench: `python -m tests.torture.worker`, with plan and layout on standard input.

It ends by itself at the end of the run, or is killed before.
"""

import sys
import traceback

import anyio
from anyio import to_thread

from backends.registry import open_backend
from fs_core.errors import FsError
from fs_core.filesystem import BackedFileSystem
from fs_core.policy import MemoryObservations, OwnerId, ReadBeforeWrite, Unguarded
from fs_core.protocol import Backend
from fs_core.session import FileSession
from tests.torture.agent import GuardedAgent, UnguardedAgent
from tests.torture.history import Journal
from tests.torture.mutations import MUTATIONS
from tests.torture.notes import NoteKind, Notes
from tests.torture.plan import Layout, Plan

__all__ = ["work"]

_OPEN_AGAIN_S = 0.1


async def work(plan: Plan) -> None:
    """Open the store and run all agents to the end of the run."""
    notes = Notes(plan.notes)
    try:
        backend = await _opened(plan, notes)
        try:
            await _run_agents(plan, BackedFileSystem(backend), notes)
        finally:
            await backend.aclose()
    except BaseException as error:
        notes.add(NoteKind.RAISED, ".", "".join(traceback.format_exception(error)))
        raise
    finally:
        notes.close()


async def _opened(plan: Plan, notes: Notes) -> Backend:
    """Open the store, again and again where a fault is in the way."""
    while True:
        try:
            return await open_backend(plan.url, plan.options)
        except FsError as refusal:
            notes.add(NoteKind.CODE, ".", refusal.code)
            await anyio.sleep(_OPEN_AGAIN_S)


async def _run_agents(plan: Plan, files: BackedFileSystem, notes: Notes) -> None:
    journal = Journal(plan.journal)
    observations = MemoryObservations()
    try:
        layout = Layout.model_validate_json(await to_thread.run_sync(sys.stdin.readline))
        async with anyio.create_task_group() as tasks:
            for name in plan.guarded:
                session = FileSession(files, policy=ReadBeforeWrite(owner=OwnerId(name), store=observations))
                agent = GuardedAgent(name, session, layout=layout, journal=journal, notes=notes, seed=plan.seed)
                tasks.start_soon(agent.run)
            for name in plan.unguarded:
                session = FileSession(files, policy=Unguarded())
                agent = UnguardedAgent(name, session, layout=layout, journal=journal, notes=notes, seed=plan.seed)
                tasks.start_soon(agent.run)
    finally:
        journal.close()


def main() -> None:
    """Run the plan that is the first line of standard input."""
    plan = Plan.model_validate_json(sys.stdin.readline())
    if plan.mutation is not None:
        MUTATIONS[plan.mutation].apply()
    anyio.run(work, plan, backend=plan.event_loop)


if __name__ == "__main__":
    main()
