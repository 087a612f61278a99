"""What can be done with a store, each cancelled wherever a test says, and the judgement over what is left."""

from collections.abc import Awaitable, Callable, Coroutine
from functools import partial
from itertools import count
from typing import Any, Final

import anyio

from backends.local import LocalBackend
from backends.s3 import S3Backend
from backends.sftp import SftpBackend
from fs_core.edit import Edit
from fs_core.errors import NotFound
from fs_core.page import Window
from fs_core.protocol import Guard
from fs_core.testing.conformance import target_of
from fs_core.types import Always, IfAbsent, IfVersion, Level
from tests.support.nth_await import Ending
from tests.support.store_stage import FILE, OLD, PROMPT_S, Stage

__all__ = ["READING", "WRITING", "Cancelled", "cancelled_everywhere", "names_for"]

_NEW_FILE: Final = "new/deep/c.txt"
_NEW: Final = b"new content, and longer\n" * 3
_NEXT: Final = b"what the next one writes\n"
_MOMENTS_MAX: Final = 400

_Operation = Callable[[Stage], Coroutine[Any, Any, object]]

Cancelled = Callable[[Callable[[], Coroutine[Any, Any, object]], int], Awaitable[Ending[object]]]
"""Runs an operation and cancels it at its n-th moment."""


async def _open(stage: Stage) -> object:
    stage.opened.append(await stage.harness.open())
    return stage.opened[-1].root == stage.other.root


async def _resolve(stage: Stage) -> object:
    return (await target_of(stage.backend, FILE)).display_path


async def _stat(stage: Stage) -> object:
    found = await stage.backend.stat(await target_of(stage.backend, FILE))
    return found and found.size_bytes


async def _read(stage: Stage) -> object:
    return (await stage.backend.read(await target_of(stage.backend, FILE))).data


async def _read_pinned(stage: Stage) -> object:
    target = await target_of(stage.backend, FILE)
    first = await stage.backend.read(target, limit=4)
    second = await stage.backend.read(target, offset=4, limit=4, pinned=first.version)
    return first.data + second.data


async def _scan(stage: Stage) -> object:
    pieces = bytearray()
    await stage.backend.scan(await target_of(stage.backend, FILE), pieces.extend)
    return bytes(pieces)


async def _list(stage: Stage) -> object:
    listing = await stage.backend.list(await target_of(stage.backend, "d"), limit=10)
    return tuple(entry.name for entry in listing.entries)


async def _list_many(stage: Stage) -> object:
    directories = [await target_of(stage.backend, path) for path in (".", "d")]
    levels = await stage.backend.list_many(directories, entries_max=10, with_sizes=True)
    return [(level.files, level.directories) for level in levels if isinstance(level, Level)]


async def _read_many(stage: Stage) -> object:
    contents: list[bytes] = []
    target = await target_of(stage.backend, FILE)
    refusals = await stage.backend.read_many(
        [target, target], lambda _, data: contents.append(data), size_bytes_max=1 << 20
    )
    return contents, refusals


async def _session_read(stage: Stage) -> object:
    return (await stage.session().read(FILE, Window(lines_max=2))).page.total_lines


async def _read_missing(stage: Stage) -> object:
    try:
        await stage.session().read("d/b.txt", Window())
    except NotFound as error:
        return error.near_names
    return None


async def _probe(stage: Stage) -> object:
    assert isinstance(stage.backend, LocalBackend | S3Backend | SftpBackend)
    await stage.backend.probe()
    return stage.backend.capabilities.create


READING: Final[dict[str, tuple[_Operation, object]]] = {
    "open": (_open, True),
    "resolve": (_resolve, FILE),
    "stat": (_stat, len(OLD)),
    "read": (_read, OLD),
    "read pinned": (_read_pinned, OLD[:8]),
    "scan": (_scan, OLD),
    "list": (_list, ("a.txt",)),
    "list many": (_list_many, [([], ["d"]), (["a.txt"], [])]),
    "read many": (_read_many, ([OLD, OLD], [None, None])),
    "session read": (_session_read, 3),
    "session read of a missing file": (_read_missing, ("a.txt",)),
    "probe": (_probe, Guard.NATIVE),
}
"""Operations that change nothing, and what they return."""


async def _create(stage: Stage) -> None:
    await stage.backend.write(await target_of(stage.backend, _NEW_FILE), _NEW, condition=IfAbsent())


async def _session_create(stage: Stage) -> None:
    await stage.session().write(_NEW_FILE, _NEW.decode())


async def _replace(stage: Stage) -> None:
    target = await target_of(stage.backend, FILE)
    seen = await stage.backend.read(target)
    await stage.backend.write(target, _NEW, condition=IfVersion(seen.version))


async def _overwrite(stage: Stage) -> None:
    await stage.backend.write(await target_of(stage.backend, FILE), _NEW, condition=Always())


async def _session_write(stage: Stage) -> None:
    session = stage.session()
    await session.read(FILE, Window())
    await session.write(FILE, _NEW.decode())


async def _session_edit(stage: Stage) -> None:
    session = stage.session()
    await session.read(FILE, Window())
    await session.edit(FILE, Edit(OLD.decode(), _NEW.decode()))


WRITING: Final[dict[str, tuple[_Operation, str]]] = {
    "create": (_create, _NEW_FILE),
    "replace": (_replace, FILE),
    "overwrite": (_overwrite, FILE),
    "session create": (_session_create, _NEW_FILE),
    "session write": (_session_write, FILE),
    "session edit": (_session_edit, FILE),
}
"""Operations that write, and which file."""


def names_for(store: str) -> tuple[str, ...]:
    """Return what can be done with a store."""
    reading = [name for name in READING if name != "probe" or store not in {"memory", "generic"}]
    return (*reading, *(() if store == "generic" else WRITING))


async def cancelled_everywhere(stage: Stage, name: str, cancelled: Cancelled, *, stride: int = 1) -> int:
    """Cancel an operation at every moment, or every `stride`-th, until it runs through; return the last moment.

    After each one the file is as was reported, beside it is nothing, and the next write succeeds at once, by the same
    backend and by another one in turn.
    """
    for turn in count():
        moment = 1 + turn * stride
        assert moment < _MOMENTS_MAX, f"{name} never runs through"
        if name in READING:
            operation, expected = READING[name]
            ending = await cancelled(partial(operation, stage), moment)
            assert ending.was_cancelled or ending.value == (expected,), (name, moment, ending)
            _expect(stage, FILE, OLD, note=(name, moment, ending))
        else:
            writing, path = WRITING[name]
            ending = await cancelled(partial(writing, stage), moment)
            assert ending.error is None, (name, moment, ending)
            before = OLD if path == FILE else None
            _expect(stage, path, before if ending.was_cancelled else _NEW, note=(name, moment, ending))
            await _write_next(stage, path, turn)
        while stage.opened:
            await stage.opened.pop().aclose()
        assert ending.went_on is not ending.was_reached, (name, moment, ending)
        assert len(stage.files._locks) == 0, (name, moment)  # pyright: ignore[reportPrivateUsage] - nothing else tells
        if not ending.was_reached:
            return moment
    raise AssertionError("counting never ends")


def _expect(stage: Stage, path: str, content: bytes | None, *, note: object) -> None:
    """Look behind the library's back: that content, and not a name more."""
    assert stage.harness.get(path) == content, note
    has_new = path == _NEW_FILE and content is not None
    assert stage.harness.names() == (["d", "new"] if has_new else ["d"]), note
    assert stage.harness.names("d") == ["a.txt"], note
    if has_new:
        assert (stage.harness.names("new"), stage.harness.names("new/deep")) == (["deep"], ["c.txt"]), note


async def _write_next(stage: Stage, path: str, turn: int) -> None:
    """Write the file as the next one to come, then have everything as it was."""
    backend = (stage.backend, stage.other)[turn % 2]
    with anyio.fail_after(PROMPT_S):
        await backend.write(await target_of(backend, path), _NEXT, condition=Always())
    _expect(stage, path, _NEXT, note="next")
    if path == FILE:
        stage.harness.put(FILE, OLD)
        return
    stage.harness.delete(path)
    for parent, name in (("new", "deep"), (".", "new")):
        if name in stage.harness.names(parent):
            stage.harness.delete(name if parent == "." else f"{parent}/{name}")
