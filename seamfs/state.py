"""Observations in an SQLite file, so that a restarted server or a resumed session knows what was read.

Entries need no care when the store changes meanwhile: an entry names a version, and a change is compared with that.
"""

import sqlite3
import time
from collections.abc import AsyncGenerator, Callable, Generator
from contextlib import asynccontextmanager, contextmanager
from functools import partial
from pathlib import Path
from typing import Final, TypeVar

import anyio
from anyio import CapacityLimiter, to_thread

from fs_core.cancellation import to_the_end
from fs_core.errors import Operation, Unavailable
from fs_core.policy import (
    OBSERVATIONS_PER_OWNER_MAX,
    OWNERS_MAX,
    Absent,
    Observation,
    ObservationState,
    OwnerId,
    Present,
)
from fs_core.types import Digest, TargetKey, Version
from seamfs.state_file import connect, fault, is_busy

__all__ = ["SqliteObservations", "open_observations"]

BUSY_TIMEOUT_S: Final = 5.0
RETRY_WAIT_S: Final = 0.02

T = TypeVar("T")
Row = tuple[bytes | None, bytes | None, int, int]


class _Turns:
    """Blocking work with one state file, one piece after another."""

    def __init__(self, file: Path, *, timeout_s: float) -> None:
        self._file = file
        self._timeout_s = timeout_s
        self._lock = anyio.Lock()
        self._limiter = CapacityLimiter(1)

    async def run(self, operation: Operation, work: Callable[[], T]) -> T:
        """Run it in a worker thread, again while another process is in the way.

        The waiting is done here and not in the thread, so that a cancellation ends it at once. What has begun is not
        left alone with the connection: it ends, and the cancellation shows after it.
        """
        deadline_s = anyio.current_time() + self._timeout_s
        while True:
            try:
                async with self._lock:
                    return await to_the_end(lambda: to_thread.run_sync(work, limiter=self._limiter))
            except sqlite3.ProgrammingError as error:
                raise Unavailable(
                    "the observation state is closed", path=str(self._file), operation=operation
                ) from error
            except (sqlite3.Error, ValueError) as error:
                if not is_busy(error) or anyio.current_time() > deadline_s:
                    raise fault(error, self._file, operation) from error
            await anyio.sleep(RETRY_WAIT_S)


class SqliteObservations:
    """What the owners of one root have seen, in a file that any number of processes may share. See `open_observations`.

    Keeps as much as `MemoryObservations` does, the owners of all roots of the file counted together. Works under
    asyncio and trio; every statement runs in a worker thread, one at a time.
    """

    def __init__(
        self,
        connection: sqlite3.Connection,
        turns: _Turns,
        *,
        root_url: str,
        observations_per_owner_max: int,
        owners_max: int,
    ) -> None:
        self._connection = connection
        self._turns = turns
        self._root = _blob(root_url)
        self._observations_per_owner_max = observations_per_owner_max
        self._owners_max = owners_max

    async def get(self, owner: OwnerId, key: TargetKey) -> Observation | None:
        """Return what the owner last observed; `None` is unseen."""
        return await self._turns.run("read", lambda: _observation(self._row(owner, key)))

    async def put(self, owner: OwnerId, key: TargetKey, observation: Observation) -> None:
        """Replace what the owner last observed."""

        def work() -> None:
            with self._transaction():
                self._put(owner, key, observation)

        await self._turns.run("write", work)

    async def replace(self, owner: OwnerId, key: TargetKey, seen: Observation | None, observation: Observation) -> bool:
        """Put `observation` only while what the owner last observed is still `seen`; tell whether it was put."""

        def work() -> bool:
            with self._transaction():
                is_as_seen = self._row(owner, key) == (None if seen is None else _columns(seen))
                if is_as_seen:
                    self._put(owner, key, observation)
                return is_as_seen

        return await self._turns.run("write", work)

    async def forget(self, owner: OwnerId) -> None:
        """Drop everything of one owner."""
        await self._turns.run("write", partial(self._forget, owner))

    async def export(self, owner: OwnerId) -> ObservationState:
        """Return everything that the owner has seen."""
        statement = (
            "SELECT key, token, digest, settled, is_text FROM observation JOIN session ON session.id = session "
            "WHERE root = ? AND owner = ? ORDER BY sequence"
        )

        def work() -> ObservationState:
            state: dict[TargetKey, Observation] = {}
            for key, *row in self._connection.execute(statement, (self._root, _blob(owner))):
                seen = _observation(tuple(row))
                if seen is not None:
                    state[TargetKey(_text(key))] = seen
            return state

        return await self._turns.run("read", work)

    async def restore(self, owner: OwnerId, state: ObservationState) -> None:
        """Make `state` everything that the owner has seen; what exceeds the bound of the store is unseen."""
        latest = list(state.items())[-self._observations_per_owner_max :]

        def work() -> None:
            with self._transaction():
                self._forget(owner)
                session, _ = self._session(owner)
                self._connection.executemany(
                    "INSERT INTO observation (session, key, sequence, token, digest, settled, is_text) "
                    "VALUES (?, ?, ?, ?, ?, ?, ?)",
                    [
                        (session, _blob(key), sequence, *_columns(observation))
                        for sequence, (key, observation) in enumerate(latest, start=1)
                    ],
                )
                self._set_count(session, len(latest))

        await self._turns.run("write", work)

    async def aclose(self) -> None:
        """Close the file; every later call raises `Unavailable`."""
        await to_the_end(lambda: self._turns.run("open", self._connection.close))

    @contextmanager
    def _transaction(self) -> Generator[None]:
        """Keep all other writers out for the block, so that what it reads is what it changes."""
        with self._connection:
            self._connection.execute("BEGIN IMMEDIATE")
            yield

    def _row(self, owner: OwnerId, key: TargetKey) -> Row | None:
        statement = (
            "SELECT token, digest, settled, is_text FROM observation JOIN session ON session.id = session "
            "WHERE root = ? AND owner = ? AND key = ?"
        )
        row: Row | None = self._connection.execute(statement, (self._root, _blob(owner), _blob(key))).fetchone()
        return row

    def _session(self, owner: OwnerId) -> tuple[int, int]:
        """Return the owner's session, used now, and what it counts; a new one may end the one unused for longest."""
        named = (self._root, _blob(owner))
        # Whoever comes last is the latest, though the clock has been set back.
        self._connection.execute(
            "INSERT INTO session (root, owner, used_ns) "
            "VALUES (?, ?, max(?, (SELECT coalesce(max(used_ns), 0) + 1 FROM session))) "
            "ON CONFLICT (root, owner) DO UPDATE SET used_ns = excluded.used_ns",
            (*named, time.time_ns()),
        )
        self._connection.execute(
            "DELETE FROM session WHERE id IN (SELECT id FROM session ORDER BY used_ns DESC LIMIT -1 OFFSET ?)",
            (self._owners_max,),
        )
        session: tuple[int, int] = self._connection.execute(
            "SELECT id, observations FROM session WHERE root = ? AND owner = ?", named
        ).fetchone()
        return session

    def _set_count(self, session: int, count: int) -> None:
        self._connection.execute("UPDATE session SET observations = ? WHERE id = ?", (count, session))

    def _put(self, owner: OwnerId, key: TargetKey, observation: Observation) -> None:
        is_new = self._row(owner, key) is None
        session, count = self._session(owner)
        self._connection.execute(
            "INSERT INTO observation (session, key, sequence, token, digest, settled, is_text) VALUES "
            "(?1, ?2, (SELECT coalesce(max(sequence), 0) + 1 FROM observation WHERE session = ?1), ?3, ?4, ?5, ?6) "
            "ON CONFLICT (session, key) DO UPDATE SET sequence = excluded.sequence, token = excluded.token, "
            "digest = excluded.digest, settled = excluded.settled, is_text = excluded.is_text",
            (session, _blob(key), *_columns(observation)),
        )
        if not is_new:
            return
        excess = max(0, count + 1 - self._observations_per_owner_max)
        self._connection.execute(
            "DELETE FROM observation WHERE session = ?1 AND sequence IN "
            "(SELECT sequence FROM observation WHERE session = ?1 ORDER BY sequence LIMIT ?2)",
            (session, excess),
        )
        self._set_count(session, count + 1 - excess)

    def _forget(self, owner: OwnerId) -> None:
        self._connection.execute("DELETE FROM session WHERE root = ? AND owner = ?", (self._root, _blob(owner)))


@asynccontextmanager
async def open_observations(
    file: Path,
    *,
    root_url: str,
    busy_timeout_s: float = BUSY_TIMEOUT_S,
    observations_per_owner_max: int = OBSERVATIONS_PER_OWNER_MAX,
    owners_max: int = OWNERS_MAX,
) -> AsyncGenerator[SqliteObservations]:
    """Open the observations of one root until the block ends.

    Args:
        file: An SQLite file on a disk of this machine; made, for its owner alone, if it is missing. SQLite keeps two
            more beside it while it is in use.
        root_url: Tells the root from others that the file knows of, such as `workspace.root.url`.
        busy_timeout_s: How long a call waits for other processes.
        observations_per_owner_max: Those put longest ago go first.
        owners_max: Those who put nothing for longest go first.

    Raises:
        FsError: The file is damaged, cannot be written, or is another program's or another release's.
    """
    turns = _Turns(file, timeout_s=busy_timeout_s)
    connection = await turns.run("open", partial(connect, file))
    observations = SqliteObservations(
        connection,
        turns,
        root_url=root_url,
        observations_per_owner_max=observations_per_owner_max,
        owners_max=owners_max,
    )
    try:
        yield observations
    finally:
        await observations.aclose()


def _blob(text: str) -> bytes:
    return text.encode("utf-8", "surrogatepass")


def _text(blob: object) -> str:
    if not isinstance(blob, bytes):
        raise ValueError(f"{type(blob).__name__} in place of a blob")  # noqa: TRY004 - about a file, not an argument
    return blob.decode("utf-8", "surrogatepass")


def _columns(observation: Observation) -> Row:
    match observation:
        case Absent():
            return (None, None, 1, 1)
        case Present(version=version, is_text=is_text):
            digest = None if version.digest is None else _blob(version.digest)
            return (_blob(version.token), digest, int(version.settled), int(is_text))


def _observation(row: Row | None) -> Observation | None:
    if row is None:
        return None
    token, digest, settled, is_text = row
    if token is None:
        return Absent()
    known = None if digest is None else Digest(_text(digest))
    return Present(Version(_text(token), known, settled=settled == 1), is_text=is_text == 1)
