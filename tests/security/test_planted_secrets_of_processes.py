"""The real command as a process of its own: secrets stand in its arguments and environment, and it fails."""

import base64
import json
import socket
import subprocess
from collections.abc import Generator
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pytest

from backends.options import BackendOptions
from backends.registry import open_backend
from fs_core.errors import FsError
from tests.seamfs.processes import TIMEOUT_S, command, environment, run

PASSWORD = "pw/Planted+7f3a=="
TOKEN = "tok-planted-91c2-and-long-enough-for-a-bearer"
S3_KEY = "AKIAPLANTED5D1E"
S3_SECRET = "s3/planted+0b6e"
PLANTED = (PASSWORD, TOKEN, S3_KEY, S3_SECRET)


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


def spellings(secret: str) -> set[str]:
    """Return a secret as it is, percent-encoded, and in each of the three alignments of base64."""
    aligned = {base64.b64encode(bytes(n) + secret.encode()).decode()[4 if n else 0 : -4] for n in range(3)}
    return {secret, quote(secret), quote(secret, safe=""), *aligned}


def assert_clean(told: str) -> None:
    assert [one for secret in PLANTED for one in spellings(secret) if one in told] == []


@pytest.fixture
def closed_port() -> Generator[int]:
    """A port of loopback that is taken, so that nobody else listens there, and refuses connections."""
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        yield taken.getsockname()[1]


def roots(port: int) -> dict[str, str]:
    host, password = f"127.0.0.1:{port}", quote(PASSWORD, safe="")
    return {
        "sftp": f"sftp://user:{password}@{host}/x",
        "s3": "s3://bucket/x",
        "http": f"http://user:{password}@{host}/?token={TOKEN}",
        "query": f"http://{host}/x?token={TOKEN}",
        "chain": f"zip://a::http://user:{password}@{host}/x.zip",
        "chain with a query": f"zip://a::http://{host}/x.zip?token={TOKEN}",
    }


def variables(port: int) -> dict[str, str]:
    return {
        "SEAMFS_S3__ENDPOINT_URL": f"http://127.0.0.1:{port}",
        "SEAMFS_S3__ACCESS_KEY_ID": S3_KEY,
        "SEAMFS_S3__SECRET_ACCESS_KEY": S3_SECRET,
        "SEAMFS_S3__REGION": "us-east-1",
        "SEAMFS_S3__CONNECT_TIMEOUT_S": "1",
        "SEAMFS_SFTP__PASSWORD": PASSWORD,
        "PLANTED_TOKEN": TOKEN,
    }


def told_by(done: subprocess.CompletedProcess[bytes]) -> str:
    told = (done.stdout + done.stderr).decode()
    assert told
    return told


@pytest.mark.parametrize("kind", ["sftp", "s3"])
def test_an_edit_with_tracebacks_tells_no_secret(closed_port: int, kind: str) -> None:
    arguments = ["edit", roots(closed_port)[kind], "a.txt", "--old-string=a", "--new-string=b", "--debug"]
    done = run(*arguments, variables=variables(closed_port))
    assert done.returncode != 0
    assert_clean(told_by(done))


def test_a_server_that_cannot_start_tells_no_token(closed_port: int, tmp_path: Path) -> None:
    arguments = ["serve", str(tmp_path), "--http", f"127.0.0.1:{closed_port}", "--token-env", "PLANTED_TOKEN"]
    done = run(*arguments, "--debug", variables=variables(closed_port))
    assert done.returncode != 0
    assert_clean(told_by(done))


def test_neither_instructions_nor_a_failing_call_of_a_server_tell_a_secret(closed_port: int, tmp_path: Path) -> None:
    def message(method: str, params: dict[str, Any], **more: int) -> bytes:
        return json.dumps({"jsonrpc": "2.0", "method": method, "params": params, **more}).encode() + b"\n"

    who = {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "raw", "version": "1"}}
    given = (
        message("initialize", who, id=1)
        + message("notifications/initialized", {})
        + message("tools/call", {"name": "read", "arguments": {"file_path": "none"}}, id=2)
    )
    with subprocess.Popen(
        command("serve", str(tmp_path), "--debug"),
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env=environment(**variables(closed_port)),
    ) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        process.stdin.write(given)
        process.stdin.flush()
        answers = process.stdout.readline() + process.stdout.readline()
        rest, logged = process.communicate(timeout=TIMEOUT_S)
    assert b"instructions" in answers
    assert b"FS_NOT_FOUND" in answers
    assert_clean((answers + rest + logged).decode())


@pytest.mark.anyio
async def test_neither_settings_nor_errors_show_a_secret(closed_port: int) -> None:
    options = BackendOptions.model_validate(
        {
            "s3": {
                "endpoint_url": f"http://127.0.0.1:{closed_port}",
                "access_key_id": S3_KEY,
                "secret_access_key": S3_SECRET,
                "region": "us-east-1",
                "connect_timeout_s": 1,
            },
            "sftp": {"password": PASSWORD},
        }
    )
    shown = [repr(options), str(options)]
    for root in roots(closed_port).values():
        with pytest.raises(FsError) as caught:
            await open_backend(root, options)
        shown += [str(caught.value), repr(caught.value)]
    assert_clean("\n".join(shown))
