"""Secrets are planted wherever one can be given, everything is made to fail, and every output is searched for them."""

import logging
import traceback
from collections.abc import Generator
from pathlib import Path

import pytest

from seamfs.cli import main
from tests.security.servers.hostile_s3 import BUCKET, hostile_s3
from tests.security.servers.hostile_web import HostileWeb
from tests.support.web_servers import serving

SECRET = "hunter2-planted"
_VARIABLES = {
    "SEAMFS_S3__ACCESS_KEY_ID": "AKIAPLANTED",
    "SEAMFS_S3__SECRET_ACCESS_KEY": f"{SECRET}-s3",
    "SEAMFS_S3__SESSION_TOKEN": f"{SECRET}-session",
    "SEAMFS_S3__REGION": "us-east-1",
    "SEAMFS_S3__CONNECT_TIMEOUT_S": "1",
    "SEAMFS_SFTP__PASSWORD": f"{SECRET}-password",
    "SEAMFS_SFTP__PASSPHRASE": f"{SECRET}-passphrase",
    "SEAMFS_SFTP__CONNECT_TIMEOUT_S": "1",
    "SEAMFS_SFTP__USE_AGENT": "false",
    "SEAMFS_HTTP__TOKEN": f"{SECRET}-token",
    "SEAMFS_FSSPEC__STORAGE": f'{{"token": "{SECRET}-storage"}}',
}


@pytest.fixture(scope="module")
def endpoints() -> Generator[tuple[str, str]]:
    with hostile_s3() as s3, serving(HostileWeb) as web:
        yield s3, web


@pytest.fixture
def planted(monkeypatch: pytest.MonkeyPatch, tmp_path: Path, endpoints: tuple[str, str]) -> None:
    for name, value in _VARIABLES.items():
        monkeypatch.setenv(name, value)
    monkeypatch.setenv("SEAMFS_S3__ENDPOINT_URL", endpoints[0])
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.chdir(tmp_path)


@pytest.fixture(autouse=True)
def restored_logging() -> Generator[None]:
    """Leave logging as it was: commands configure it."""
    root = logging.getLogger()
    handlers, level = root.handlers[:], root.level
    yield
    root.handlers[:] = handlers
    root.setLevel(level)


def roots(web: str) -> list[str]:
    """Return a root of every kind that fails in one way or another, some with a secret of their own."""
    host = web.removeprefix("http://")
    return [
        f"s3://{BUCKET}",
        f"s3://id:{SECRET}-url@{BUCKET}/x",
        f"sftp://me@{host}/x",
        f"sftp://me:{SECRET}-url@{host}/x",
        f"http://me:{SECRET}-url@{host}/x",
        f"http://{SECRET}-user@{host}/x",
        f"{web}/x?X-Amz-Signature={SECRET}-url",
        f"zip://::{web}/plain?token={SECRET}-url",
        f"zip://::{web}/missing?token={SECRET}-url",
        f"ftp://me:{SECRET}-url@127.0.0.1:1/x",
    ]


@pytest.mark.parametrize("command", ["read", "doctor"])
@pytest.mark.parametrize("flags", [[], ["--debug"]])
@pytest.mark.usefixtures("planted")
def test_no_secret_comes_out_of_a_command_that_fails(
    endpoints: tuple[str, str], command: str, flags: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    for root in roots(endpoints[1]):
        arguments = [command, root, *flags, *(["error-text"] if command == "read" else [])]
        raised = ""
        try:
            main(arguments)
        except Exception as error:  # noqa: BLE001 - the traceback that the interpreter would print
            raised = "".join(traceback.format_exception(error))
        captured = capsys.readouterr()
        told = captured.out + captured.err + raised
        assert told, root
        assert SECRET not in told, root
