"""State files that cannot be used: refused with a line that names the file, and left as they are."""

import os
import sqlite3
from collections.abc import Generator
from contextlib import closing
from pathlib import Path
from tempfile import TemporaryDirectory

import anyio
import pytest

from fs_core.errors import (
    ErrorCode,
    FsError,
    InvalidPath,
    IoFault,
    NoSpace,
    NotFound,
    NotRegularFile,
    PermissionDenied,
    Unsupported,
)
from fs_core.policy import Observation, ObservationState, OwnerId, Present
from fs_core.types import TargetKey, Version
from seamfs import state
from seamfs.state import open_observations
from seamfs.state_file import connect, fault

ROOT = "/srv/repo"
ME, KEY = OwnerId("me"), TargetKey("a.txt")
SEEN = Present(Version("1"))
NOBODY = 65534


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "state.db"


async def put_observations(file: Path, *keys: str) -> None:
    async with open_observations(file, root_url=ROOT) as observations:
        for key in keys:
            await observations.put(ME, TargetKey(key), SEEN)


async def get_observation(file: Path) -> Observation | None:
    async with open_observations(file, root_url=ROOT) as observations:
        return await observations.get(ME, KEY)


async def export_observations(file: Path) -> ObservationState:
    async with open_observations(file, root_url=ROOT) as observations:
        return await observations.export(ME)


def put(file: Path) -> None:
    anyio.run(put_observations, file, KEY)


def names_beside(file: Path) -> list[str]:
    return sorted(path.name for path in file.parent.glob("state*"))


def change(file: Path, statement: str) -> None:
    with closing(sqlite3.connect(file)) as connection, connection:
        connection.execute(statement)


def test_a_file_of_a_newer_release_is_refused_and_left_as_it_is(file: Path) -> None:
    put(file)
    change(file, "PRAGMA user_version = 2")
    before = file.read_bytes()
    with pytest.raises(Unsupported, match="is an observation state of format 2, and this release knows 1"):
        put(file)
    assert file.read_bytes() == before


def test_a_database_of_another_program_is_refused_and_left_as_it_is(file: Path) -> None:
    change(file, "CREATE TABLE bookmarks (url TEXT)")
    before = file.read_bytes()
    with pytest.raises(Unsupported, match="is a database of another program and was left as it is"):
        put(file)
    assert file.read_bytes() == before


def test_what_is_no_database_is_refused_and_left_as_it_is(file: Path) -> None:
    file.write_text("notes\n" * 1_000)
    with pytest.raises(Unsupported, match="is no SQLite database and was left as it is"):
        put(file)
    assert file.read_text() == "notes\n" * 1_000
    assert names_beside(file) == [file.name]


def test_an_empty_file_is_taken_for_a_new_one(file: Path) -> None:
    file.touch()
    put(file)
    assert anyio.run(get_observation, file) == SEEN


@pytest.mark.parametrize("make", [Path.mkdir, os.mkfifo])
def test_what_is_no_regular_file_is_refused_without_blocking(file: Path, make: object) -> None:
    assert callable(make)
    make(file)
    with pytest.raises(NotRegularFile, match="is no regular file"):
        put(file)


def test_a_link_to_a_file_that_is_not_there_yet_makes_that(file: Path) -> None:
    target = file.with_name("target.db")
    file.symlink_to(target.name)
    put(file)
    assert target.stat().st_mode & 0o777 == 0o600
    assert anyio.run(get_observation, target) == SEEN


@pytest.mark.parametrize(("name", "reason"), [("loop", "leads to itself"), ("a\0b", "holds a NUL")])
def test_a_path_that_can_name_no_file_is_refused(file: Path, name: str, reason: str) -> None:
    (file.parent / "loop").symlink_to("loop")
    with pytest.raises(InvalidPath, match=f"{reason}; name another file"):
        put(file.with_name(name))


def test_a_missing_directory_is_named(file: Path) -> None:
    missing = file.parent / "missing" / "state.db"
    with pytest.raises(NotFound) as caught:
        put(missing)
    assert str(caught.value).startswith(f"{missing}: ")
    assert "make its directory first" in str(caught.value)


def test_a_damaged_file_says_so_and_what_to_do(file: Path) -> None:
    anyio.run(put_observations, file, *(f"{number}" * 50 for number in range(300)))
    data = file.read_bytes()
    file.write_bytes(data[:4096] + b"\xff" * (len(data) - 4096))
    with pytest.raises(IoFault) as caught:
        put(file)
    assert str(caught.value).startswith(f"{file}: is damaged; move it away and start again")


@pytest.mark.parametrize("value", ["5", "x'ff'", "'text'"])
def test_a_value_of_the_wrong_kind_is_damage(file: Path, value: str) -> None:
    put(file)
    change(file, f"UPDATE observation SET token = {value}")
    for look in (get_observation, export_observations):
        with pytest.raises(IoFault, match="is damaged"):
            anyio.run(look, file)


def test_a_full_disk_refuses_and_keeps_what_was_there(file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    put(file)

    def connect_full(path: Path) -> sqlite3.Connection:
        connection = connect(path)
        connection.execute("PRAGMA max_page_count = 1")
        return connection

    monkeypatch.setattr(state, "connect", connect_full)
    with pytest.raises(NoSpace) as caught:
        anyio.run(put_observations, file, *(f"{number}" * 100 for number in range(1_000)))
    assert str(caught.value) == f"{file}: no space is left for the observation state"
    assert anyio.run(get_observation, file) == SEEN


@pytest.fixture
def readable_directory() -> Generator[Path]:
    """A directory that this process may read and not write; the superuser would not be held off."""
    with TemporaryDirectory() as name:
        directory = Path(name)
        put(directory / "state.db")
        (directory / "state.db").chmod(0o444)
        directory.chmod(0o555)
        is_superuser = os.geteuid() == 0
        if is_superuser:
            os.seteuid(NOBODY)
        yield directory
        if is_superuser:
            os.seteuid(0)
        directory.chmod(0o700)


@pytest.mark.parametrize("name", ["new.db", "state.db"])
def test_a_directory_that_cannot_be_written_is_named(readable_directory: Path, name: str) -> None:
    file = readable_directory / name
    with pytest.raises(PermissionDenied) as caught:
        put(file)
    assert str(caught.value).startswith(f"{file}: the observation state cannot be ")


@pytest.mark.parametrize(
    ("code", "expected"),
    [
        (sqlite3.SQLITE_BUSY, ErrorCode.UNAVAILABLE),
        (sqlite3.SQLITE_BUSY_SNAPSHOT, ErrorCode.UNAVAILABLE),
        (sqlite3.SQLITE_FULL, ErrorCode.NO_SPACE),
        (sqlite3.SQLITE_IOERR_SHMSIZE, ErrorCode.NO_SPACE),
        (sqlite3.SQLITE_READONLY_DBMOVED, ErrorCode.PERMISSION_DENIED),
        (sqlite3.SQLITE_CANTOPEN, ErrorCode.PERMISSION_DENIED),
        (sqlite3.SQLITE_CORRUPT_INDEX, ErrorCode.IO_ERROR),
        (sqlite3.SQLITE_IOERR_READ, ErrorCode.IO_ERROR),
        (sqlite3.SQLITE_NOTADB, ErrorCode.UNSUPPORTED),
    ],
)
def test_every_fault_has_a_code_and_names_the_file(file: Path, code: int, expected: ErrorCode) -> None:
    error = sqlite3.OperationalError("text of the library")
    error.sqlite_errorcode = code
    found = fault(error, file, "write")
    assert isinstance(found, FsError)
    assert found.code is expected
    assert str(found).startswith(f"{file}: ")
