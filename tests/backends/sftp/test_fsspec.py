"""The same connections as an fsspec file system."""

import threading
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import fsspec
import pytest

from backends.sftp.fsspec_fs import PooledSFTPFileSystem
from tests.support.sftp_servers import SftpHarness
from tests.support.waiting import wait_until


@pytest.fixture
def files(sftp_harness: SftpHarness) -> Iterator[Any]:
    server = sftp_harness.server
    instance = fsspec.filesystem(  # pyright: ignore[reportUnknownMemberType] - fsspec is untyped
        "seamsftp",
        host=server.host,
        port=server.port,
        username=server.user,
        skip_instance_cache=True,
        **server.options().model_dump(exclude_unset=True),
    )
    assert isinstance(instance, PooledSFTPFileSystem)
    yield instance
    instance.close()
    wait_until(lambda: not any(type(thread).__module__.startswith("paramiko") for thread in threading.enumerate()))


def test_files_are_written_through_staging_and_read_back(files: Any, sftp_harness: SftpHarness) -> None:
    path = f"{sftp_harness.directory}/x/a.txt"
    with files.open(path, "wb") as file:
        file.write(b"hello ")
        file.write(b"world")
        assert not files.exists(path)
    with files.open(path, "rb") as file:
        assert (file.read(5), file.read()) == (b"hello", b" world")
    with files.open(path, "r") as file:
        assert file.read() == "hello world"
    assert files.cat_file(path, 2, 4) == b"ll"
    assert files.cat_file(path, -5) == b"world"
    assert sftp_harness.names("x") == ["a.txt"]


def test_a_failed_block_writes_nothing(files: Any, sftp_harness: SftpHarness) -> None:
    sftp_harness.put("a", b"old")
    with pytest.raises(TypeError), files.open(f"{sftp_harness.directory}/a", "wb") as file:
        file.writelines([b"half", None])
    assert sftp_harness.get("a") == b"old"
    assert sftp_harness.names() == ["a"]


def test_exclusive_creation_refuses_an_existing_file(files: Any, sftp_harness: SftpHarness) -> None:
    sftp_harness.put("a", b"old")
    with pytest.raises(FileExistsError):
        files.pipe_file(f"{sftp_harness.directory}/a", b"new", mode="create")
    with pytest.raises(FileExistsError), files.open(f"{sftp_harness.directory}/a", "xb") as file:
        file.write(b"new")
    assert sftp_harness.get("a") == b"old"


def test_directories_and_names_are_managed(files: Any, sftp_harness: SftpHarness) -> None:
    root = str(sftp_harness.directory)
    files.makedirs(f"{root}/a/b")
    files.makedirs(f"{root}/a/b", exist_ok=True)
    for refused in (lambda: files.makedirs(f"{root}/a/b"), lambda: files.mkdir(f"{root}/a")):
        with pytest.raises(FileExistsError):
            refused()
    files.mkdir(f"{root}/a/c", create_parents=False)
    files.rmdir(f"{root}/a/c")
    files.pipe_file(f"{root}/a/b/f", b"x")
    files.mv(f"{root}/a/b/f", f"{root}/a/g")
    assert files.ls(f"{root}/a", detail=False) == [f"{root}/a/b", f"{root}/a/g"]
    assert files.ls(f"{root}/a/g", detail=False) == [f"{root}/a/g"]
    assert [entry["type"] for entry in files.ls(f"{root}/a")] == ["directory", "file"]
    assert files.find(root) == [f"{root}/a/g"]
    files.rm_file(f"{root}/a/g")
    files.rm(f"{root}/a", recursive=True)
    assert sftp_harness.names() == []


def test_information_is_fresh_and_absence_is_certain(files: Any, sftp_harness: SftpHarness) -> None:
    path = f"{sftp_harness.directory}/a"
    assert not files.exists(path)
    with pytest.raises(FileNotFoundError):
        files.cat_file(path)
    sftp_harness.put("a", b"12345")
    info = files.info(path)
    assert (info["name"], info["size"], info["type"]) == (path, 5, "file")
    written_s = int((sftp_harness.directory / "a").stat().st_mtime)
    assert files.modified(path) == datetime.fromtimestamp(written_s, UTC)
    assert files.created(path) == files.modified(path)


def test_reading_a_directory_and_an_unknown_mode_are_refused(files: Any, sftp_harness: SftpHarness) -> None:
    with pytest.raises(IsADirectoryError):
        files.cat_file(str(sftp_harness.directory))
    with pytest.raises(NotImplementedError):
        files.open(f"{sftp_harness.directory}/a", "ab")


def test_an_unknown_host_key_is_refused(sftp_harness: SftpHarness, tmp_path: Path) -> None:
    server = sftp_harness.server
    options = server.options(known_hosts_file=tmp_path / "none").model_dump(exclude_unset=True)
    files = PooledSFTPFileSystem(server.host, port=server.port, username=server.user, **options)
    with pytest.raises(ConnectionError, match="not known"):
        files.ls("/")
    files.close()


def test_urls_carry_host_port_user_and_path(sftp_harness: SftpHarness) -> None:
    server = sftp_harness.server
    sftp_harness.put("a", b"by url")
    url = server.url(sftp_harness.directory).replace("sftp://", "seamsftp://")
    options = server.options().model_dump(exclude_unset=True)
    untyped: Any = fsspec
    files, path = untyped.url_to_fs(f"{url}/a", skip_instance_cache=True, **options)
    assert isinstance(files, PooledSFTPFileSystem)
    assert path == f"{sftp_harness.directory}/a"
    assert files.cat_file(path) == b"by url"
    files.close()
