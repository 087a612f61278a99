"""The SQLite file behind `seamfs.state`: opened or refused, made, and its faults as errors of the seam. Blocking."""

import os
import sqlite3
import time
from pathlib import Path
from typing import Final

from fs_core.errors import (
    FsError,
    IoFault,
    NoSpace,
    NotRegularFile,
    Operation,
    PermissionDenied,
    Unavailable,
    Unsupported,
)
from seamfs.state_path import os_fault, real_path

__all__ = ["connect", "fault", "is_busy"]

APPLICATION_ID: Final = 0x5EAF5001
"""Tells our files from those of other programs, see `PRAGMA application_id`."""

FORMAT: Final = 1
SESSION_AGE_MAX_NS: Final = 90 * 24 * 3600 * 1_000_000_000
STEP_TIMEOUT_S: Final = 0.05
"""How long one step waits in its thread for another process; who called waits longer, see `seamfs.state`."""

_MAKE: Final = f"""
CREATE TABLE session (
    id INTEGER PRIMARY KEY,
    root BLOB NOT NULL,
    owner BLOB NOT NULL,
    used_ns INTEGER NOT NULL,
    observations INTEGER NOT NULL DEFAULT 0,
    UNIQUE (root, owner)
);
CREATE TABLE observation (
    session INTEGER NOT NULL REFERENCES session (id) ON DELETE CASCADE,
    key BLOB NOT NULL,
    sequence INTEGER NOT NULL,
    token BLOB,
    digest BLOB,
    settled INTEGER NOT NULL,
    is_text INTEGER NOT NULL,
    PRIMARY KEY (session, key)
) WITHOUT ROWID;
CREATE INDEX session_by_use ON session (used_ns);
CREATE INDEX observation_by_age ON observation (session, sequence);
PRAGMA application_id = {APPLICATION_ID};
PRAGMA user_version = {FORMAT};
"""
"""`token` is null where nothing was. `observations` is how many there are: counting ten thousand takes a while.
Texts are blobs: the name of a file may be no text."""

_BUSY: Final = frozenset({sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED, sqlite3.SQLITE_PROTOCOL})
_DAMAGED: Final = "is damaged; move it away and start again: every session then has to read its files again"
_NOT_WRITABLE: Final = "the observation state cannot be written: the file and its directory have to be writable"
_NO_SPACE: Final = "no space is left for the observation state"
_NO_DATABASE: Final = "is no SQLite database and was left as it is; name another file for the observation state"
_FAULTS: Final[dict[int | None, tuple[type[FsError], str]]] = {
    None: (IoFault, _DAMAGED),
    sqlite3.SQLITE_CORRUPT: (IoFault, _DAMAGED),
    sqlite3.SQLITE_NOTADB: (Unsupported, _NO_DATABASE),
    sqlite3.SQLITE_FULL: (NoSpace, _NO_SPACE),
    # The memory that its users share is a file too.
    sqlite3.SQLITE_IOERR_SHMSIZE: (NoSpace, _NO_SPACE),
    sqlite3.SQLITE_READONLY: (PermissionDenied, _NOT_WRITABLE),
    sqlite3.SQLITE_PERM: (PermissionDenied, _NOT_WRITABLE),
    sqlite3.SQLITE_CANTOPEN: (PermissionDenied, _NOT_WRITABLE),
}


def connect(file: Path) -> sqlite3.Connection:
    """Open a state file, make it if it is missing or empty, and drop the sessions that nobody has used for 90 days.

    Raises:
        FsError: it cannot be opened or written, or it is another program's or another release's, and left as it is.
        sqlite3.Error: see `is_busy` and `fault`.
    """
    _make_private(file)
    connection = sqlite3.connect(file, timeout=STEP_TIMEOUT_S, isolation_level=None, check_same_thread=False)
    try:
        if _is_empty(connection, file):
            with connection:
                connection.execute("BEGIN IMMEDIATE")
                # Another process may have been first.
                if _is_empty(connection, file):
                    for statement in _MAKE.split(";"):
                        connection.execute(statement)
        _prepare(connection, file)
    except BaseException:
        connection.close()
        raise
    return connection


def _make_private(file: Path) -> None:
    """Make the file for its owner alone if nothing is there.

    An existing one is not opened here: closing it would drop the locks that SQLite has on it in this process.
    """
    flags = os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC
    # A link is followed, whether its target is there yet or not.
    real = real_path(file)
    try:
        os.close(os.open(real, flags, 0o600))
    except FileExistsError:
        if not real.is_file():
            reason = "is no regular file; the observation state is kept in one"
            raise NotRegularFile(reason, path=str(file), operation="open") from None
    except OSError as error:
        raise os_fault(error, file, "the observation state cannot be made") from error


def _is_empty(connection: sqlite3.Connection, file: Path) -> bool:
    """Tell whether there is nothing in it yet; what is not ours is refused before anything is written."""
    application = _pragma(connection, "application_id")
    written_format = _pragma(connection, "user_version")
    (tables,) = connection.execute("SELECT count(*) FROM sqlite_master").fetchone()
    if (application, written_format, tables) == (0, 0, 0):
        return True
    if application != APPLICATION_ID:
        reason = "is a database of another program and was left as it is; name another file for the observation state"
        raise Unsupported(reason, path=str(file), operation="open")
    if written_format != FORMAT:
        reason = (
            f"is an observation state of format {written_format}, and this release knows {FORMAT}; it was left as it "
            "is; use the release that wrote it, or name another file"
        )
        raise Unsupported(reason, path=str(file), operation="open")
    return False


def _prepare(connection: sqlite3.Connection, file: Path) -> None:
    (mode,) = connection.execute("PRAGMA journal_mode = WAL").fetchone()
    if mode != "wal":
        reason = "several processes cannot share the observation state here; keep it on a disk of this machine"
        raise Unsupported(reason, path=str(file), operation="open")
    # What a power cut takes away has to be read again; an ended process takes away nothing.
    connection.execute("PRAGMA synchronous = NORMAL")
    connection.execute("PRAGMA foreign_keys = ON")
    with connection:
        connection.execute("BEGIN IMMEDIATE")
        connection.execute("DELETE FROM session WHERE used_ns < ?", (time.time_ns() - SESSION_AGE_MAX_NS,))


def _pragma(connection: sqlite3.Connection, name: str) -> int:
    (value,) = connection.execute(f"PRAGMA {name}").fetchone()
    return value


def is_busy(error: Exception) -> bool:
    """Tell whether another process was in the way for a moment."""
    return _primary_code(error) in _BUSY


def fault(error: Exception, file: Path, operation: Operation) -> FsError:
    """Return what went wrong with the file. Without a code of SQLite it was a value of the wrong kind in it."""
    if is_busy(error):
        reason = "the observation state is locked by another process; try again"
        return Unavailable(reason, path=str(file), operation=operation, retryable=True)
    other = (IoFault, f"the observation state: {error}")
    kind, reason = _FAULTS.get(_code(error)) or _FAULTS.get(_primary_code(error), other)
    return kind(reason, path=str(file), operation=operation)


def _primary_code(error: Exception) -> int | None:
    """Return SQLite's code without its extension."""
    code = _code(error)
    return None if code is None else code & 0xFF


def _code(error: Exception) -> int | None:
    """Return SQLite's code; None for what is no fault of SQLite: a value of the wrong kind."""
    return getattr(error, "sqlite_errorcode", None)
