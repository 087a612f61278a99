"""What sessions do in a soak: they come, read, change, are refused in every way, are cancelled, and go."""

import random
import time
from collections import Counter
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from itertools import count
from typing import Final

import anyio
from anyio import to_thread
from pydantic import JsonValue

from backends.options import BackendOptions
from backends.registry import open_backend
from fs_core.paths import parse_path
from fs_core.policy import OWNERS_MAX
from fs_core.session import FileSession
from fs_core.types import Always
from seamfs.workspace import Workspace
from tests.torture.insisting import insisted
from tool_runtime import ToolFailure

__all__ = ["Visit", "fill_caches", "prepare", "visit"]

Visit = Callable[[Workspace, random.Random, Counter[str]], Awaitable[None]]
"""One session from its beginning to its end; what it was answered is counted by code."""

_SMALL: Final = 8
_SMALL_LINES: Final = 13_000
"""195 kB: so large that a few hundred changes fill the contents that are kept with the mix that stays."""

_NEW: Final = 40
_KEPT: Final = 34
"""Files of just under 1 MiB: more than the contents that are kept for explanations (32 MiB)."""

_WORKER_THREADS: Final = 16
"""More than run at the same time; anyio ends those that have been idle for ten seconds."""

_LARGE_LINES: Final = 60_000
_CANCELLED_AFTER_S_MAX: Final = 0.03
_FILLERS: Final = 8

_numbers = count()


async def prepare(url: str, options: BackendOptions) -> None:
    """Write the files of a soak, again and again where a fault is in the way."""
    files = {
        f"small-{number}.txt": b"count: 0\na a a\n" + b"a line of text\n" * _SMALL_LINES for number in range(_SMALL)
    }
    files |= {f"kept-{number}.txt": _line(number) * 11_000 for number in range(_KEPT)}
    files |= {
        "large.txt": b"".join(_line(number) for number in range(_LARGE_LINES)),
        "sub/binary.bin": bytes(range(256)) * 4096,
    }
    backend = await insisted(lambda: open_backend(url, options))
    try:
        for path, data in files.items():
            target = await insisted(lambda path=path: backend.resolve(parse_path(path, backend.root)))
            await insisted(lambda target=target, data=data: backend.write(target, data, condition=Always()))
    finally:
        await backend.aclose()


def _line(number: int) -> bytes:
    return (
        f"line {number:09} of a file that is read in a soak, with some text behind it, 95 bytes long in all\n".encode()
    )


async def fill_caches(workspace: Workspace, dice: random.Random, answers: Counter[str], *, changes: int) -> None:
    """Bring to its bound what is bounded: kept contents, owners, worker threads, and what `changes` leave behind."""

    async def each(numbers: range, act: Callable[[int], Awaitable[None]]) -> None:
        for number in numbers:
            await act(number)

    async def keep(number: int) -> None:
        await _Agent(workspace, None, dice, answers).call("read", f"kept-{number}.txt")

    async def own(number: int) -> None:
        await _Agent(workspace, f"filler-{number}", dice, answers).call("read", "small-0.txt", limit=1)

    async def change(number: int) -> None:
        await _Agent(workspace, None, dice, answers).count_up(number % _SMALL)

    async with anyio.create_task_group() as tasks:
        for _ in range(_WORKER_THREADS):
            tasks.start_soon(to_thread.run_sync, time.sleep, 0.05)
    for total, act in ((_KEPT, keep), (OWNERS_MAX, own), (changes, change)):
        async with anyio.create_task_group() as tasks:
            for first in range(_FILLERS):
                tasks.start_soon(each, range(first, total, _FILLERS), act)


async def visit(workspace: Workspace, dice: random.Random, answers: Counter[str]) -> None:
    """Do a few things as one session, which nobody uses afterwards."""
    number = next(_numbers)
    agent = _Agent(workspace, f"owner-{number}" if number % 2 else None, dice, answers)
    for act in dice.choices(_ACTS, k=dice.randint(1, 6)):
        if dice.random() < 0.15:
            with anyio.move_on_after(dice.uniform(0, _CANCELLED_AFTER_S_MAX)) as scope:
                await act(agent)
            answers["cancelled"] += scope.cancelled_caught
        else:
            await act(agent)


@dataclass(frozen=True, slots=True)
class _Agent:
    """One session and its dice."""

    workspace: Workspace
    owner: str | None
    dice: random.Random
    answers: Counter[str]

    def session(self) -> FileSession:
        return self.workspace.session(self.owner)

    async def call(self, tool: str, path: str, session: FileSession | None = None, **arguments: JsonValue) -> str:
        """Call a tool and return the text of its answer."""
        given: Mapping[str, JsonValue] = {"file_path": path, **arguments}
        result = await self.workspace.call(self.session() if session is None else session, tool, given)
        self.answers[result.code if isinstance(result, ToolFailure) else "done"] += 1
        return result.text

    async def count_up(self, number: int) -> None:
        """Read a small file and edit it."""
        path, session = f"small-{number}.txt", self.session()
        seen = await self.call("read", path, session, limit=1)
        line = next((part for part in seen.splitlines() if "count: " in part), "count: 0")
        old = line[line.index("count: ") :]
        new = f"count: {next(_numbers)}"
        await self.call("edit", path, session, old_string=f"{old}\n", new_string=f"{new}\n")

    async def read_small(self) -> None:
        await self.call("read", f"small-{self.dice.randrange(_SMALL)}.txt", limit=100)

    async def edit_small(self) -> None:
        await self.count_up(self.dice.randrange(_SMALL))

    async def read_large(self) -> None:
        await self.call("read", "large.txt", offset=self.dice.randrange(1, _LARGE_LINES), limit=200)

    async def edit_large(self) -> None:
        path, session = f"kept-{self.dice.randrange(_KEPT)}.txt", self.session()
        await self.call("read", path, session, limit=1)
        await self.call("edit", path, session, old_string="such text is not there", new_string="x")

    async def write_new(self) -> None:
        path, session = f"new/file-{self.dice.randrange(_NEW)}.txt", self.session()
        await self.call("read", path, session, limit=1)
        await self.call("write", path, session, content=f"{next(_numbers):07}\n" * self.dice.randrange(1, 40_000))

    async def become_stale(self) -> None:
        """Change a file after another session has changed it."""
        number = self.dice.randrange(_SMALL)
        session = self.workspace.session()
        await self.call("read", f"small-{number}.txt", session, limit=1)
        await self.count_up(number)
        await self.call("edit", f"small-{number}.txt", session, old_string="count", new_string="COUNT")

    async def be_refused(self) -> None:
        """Ask for what cannot be had."""
        tool, path, arguments = self.dice.choice(_REFUSED)
        await self.call(tool, path, self.workspace.session(), **arguments)

    async def be_refused_after_reading(self) -> None:
        session = self.workspace.session()
        await self.call("read", "small-0.txt", session, limit=1)
        old = self.dice.choice(("a", "no such text", "line of  text"))
        await self.call("edit", "small-0.txt", session, old_string=old, new_string="b")


_REFUSED: Final[tuple[tuple[str, str, Mapping[str, JsonValue]], ...]] = (
    ("edit", "small-1.txt", {"old_string": "a line", "new_string": "b"}),
    ("write", "small-1.txt", {"content": "not seen\n"}),
    ("write", "new/nul.txt", {"content": "\0"}),
    ("edit", "missing.txt", {"old_string": "a", "new_string": "b"}),
    ("read", "no/such/file.txt", {}),
    ("read", "smal-0.txt", {}),
    ("read", "small-0.txt/below", {}),
    ("read", "sub", {}),
    ("read", "sub/binary.bin", {}),
    ("read", "../outside.txt", {}),
    ("read", "nul\0.txt", {}),
    ("read", "n" * 2000, {}),
    ("read", "small-0.txt", {"offset": 100_000}),
    ("read", "small-0.txt", {"offset": "first"}),
    ("remove", "small-0.txt", {}),
)

_ACTS: Final = (
    _Agent.read_small,
    _Agent.edit_small,
    _Agent.edit_small,
    _Agent.read_large,
    _Agent.edit_large,
    _Agent.write_new,
    _Agent.become_stale,
    _Agent.be_refused,
    _Agent.be_refused,
    _Agent.be_refused_after_reading,
)
