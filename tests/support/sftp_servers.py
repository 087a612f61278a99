"""SFTP servers on loopback for the tests: one embedded, and a real private OpenSSH sshd.

With `SEAMFS_REQUIRE_REAL=1` an sshd that cannot be started fails the test that wants it; otherwise it is skipped.
"""

import getpass
import os
import secrets
import shutil
import socket
import subprocess
import time
from collections.abc import Generator, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NoReturn
from urllib.parse import quote

import pytest

from backends.options import SftpOptions
from backends.sftp import SftpBackend, open_sftp
from fs_core.paths import parse_path
from fs_core.protocol import Backend
from fs_core.testing.harness import DirectoryHarness
from fs_core.types import Target
from seamfs.embedded.sftp import SftpFactory, embedded_sftp
from tests.support.ports import free_port

__all__ = [
    "SftpHarness",
    "SftpServer",
    "embedded_server",
    "embedded_sftp_server",
    "real_server",
    "sftp_harness",
    "sftp_server",
    "sshd_server",
    "target_of",
]

_START_TIMEOUT_S = 30.0


@dataclass(frozen=True)
class SftpServer:
    """A server that answers. `directory` is on this machine and has the same path on the server."""

    name: str
    directory: Path
    port: int
    user: str
    known_hosts_file: Path
    identity_file: Path
    config_file: Path
    host: str = "127.0.0.1"

    def url(self, directory: Path | None = None) -> str:
        """URL of a directory."""
        return f"sftp://{self.user}@{self.host}:{self.port}{quote(str(directory or self.directory))}"

    def options(self, **overrides: Any) -> SftpOptions:
        """Settings that reach this server."""
        values: dict[str, Any] = {
            "config_file": self.config_file,
            "known_hosts_file": self.known_hosts_file,
            "identity_file": self.identity_file,
            "use_agent": False,
            "request_timeout_s": 30.0,
            "connect_timeout_s": 30.0,
        }
        return SftpOptions(**(values | overrides))

    def harness(self, **overrides: Any) -> "SftpHarness":
        """An empty root on this server, opened with these settings."""
        return SftpHarness(self, **overrides)

    def fresh_directory(self) -> Path:
        """Make an empty directory below the server's own."""
        directory = self.directory / secrets.token_hex(6)
        directory.mkdir()
        return directory


class SftpHarness(DirectoryHarness):
    """A root on a server that runs here."""

    def __init__(self, server: SftpServer, **overrides: Any) -> None:
        super().__init__(server.fresh_directory())
        self.server = server
        self.overrides = overrides

    async def open(self) -> Backend:
        """Open a new backend, with connections of its own."""
        return await self.open_sftp()

    async def open_sftp(self, **overrides: Any) -> SftpBackend:
        """Open a new backend with other settings."""
        return await open_sftp(self.server.url(self.directory), self.server.options(**(self.overrides | overrides)))

    async def open_through(self, port: int, **overrides: Any) -> SftpBackend:
        """Open a new backend through a relay at `port`, which has the server's key."""
        return await open_sftp(*self.through(port, **overrides))

    def through(self, port: int, **overrides: Any) -> tuple[str, SftpOptions]:
        """Return the URL and the settings that reach this root through a relay at `port`."""
        server = self.server
        known_hosts = self.directory.parent / f"known-{port}-{self.directory.name}"
        known_hosts.write_text(server.known_hosts_file.read_text().replace(f":{server.port} ", f":{port} "))
        url = server.url(self.directory).replace(f":{server.port}/", f":{port}/")
        return url, server.options(**({"known_hosts_file": known_hosts} | self.overrides | overrides))


async def target_of(backend: Backend, path: str) -> Target:
    """Resolve a path as the seam does."""
    return await backend.resolve(parse_path(path, backend.root))


@contextmanager
def embedded_server(directory: Path, *, sftp_factory: SftpFactory | None = None) -> Generator[SftpServer]:
    """Run the embedded server."""
    with embedded_sftp(directory, sftp_factory=sftp_factory) as server:
        yield SftpServer(
            name="embedded",
            directory=directory,
            port=server.port,
            user=server.user,
            known_hosts_file=server.known_hosts_file,
            identity_file=server.identity_file,
            config_file=server.config_file,
        )


@contextmanager
def real_server(directory: Path, *, extra: str = "", subsystem: str = "internal-sftp") -> Generator[SftpServer]:
    """Run a private `sshd` of the system's OpenSSH; `extra` is appended to its configuration."""
    program = shutil.which("sshd") or shutil.which("sshd", path="/usr/sbin:/usr/local/sbin")
    if program is None or shutil.which("ssh-keygen") is None:
        _cannot_start("OpenSSH's sshd and ssh-keygen are not installed (apt-get install openssh-server)")
    if os.geteuid() == 0:
        Path("/run/sshd").mkdir(mode=0o755, exist_ok=True)
    keys, root = directory / "keys", directory / "files"
    keys.mkdir(mode=0o700)
    root.mkdir()
    for name in ("host_key", "client_key"):
        subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-C", "", "-f", str(keys / name)], check=True)
    port = free_port()
    (keys / "authorized_keys").write_text((keys / "client_key.pub").read_text())
    (keys / "known_hosts").write_text(f"[127.0.0.1]:{port} {(keys / 'host_key.pub').read_text()}")
    (keys / "client_config").touch()
    (keys / "sshd_config").write_text(
        f"Port {port}\nListenAddress 127.0.0.1\nHostKey {keys}/host_key\nPidFile none\nStrictModes no\n"
        f"AuthorizedKeysFile {keys}/authorized_keys\nPasswordAuthentication no\nKbdInteractiveAuthentication no\n"
        f"UsePAM no\nMaxStartups 100\nLogLevel ERROR\nSubsystem sftp {subsystem}\n"
        f"{_without_penalties(program, keys / 'host_key')}{extra}"
    )
    log = (keys / "log").open("w")
    process = subprocess.Popen([program, "-D", "-e", "-f", str(keys / "sshd_config")], stderr=log)
    try:
        _wait_for_banner(process, port, keys / "log")
        yield SftpServer(
            name="openssh",
            directory=root,
            port=port,
            user=getpass.getuser(),
            known_hosts_file=keys / "known_hosts",
            identity_file=keys / "client_key",
            config_file=keys / "client_config",
        )
    finally:
        process.terminate()
        process.wait(30)
        log.close()


def _without_penalties(program: str, host_key: Path) -> str:
    """Return the setting that has a server take connections of a client however many it has broken off.

    From OpenSSH 9.8 on others refuse it for a while; earlier ones do not know the setting.
    """
    setting = "PerSourcePenalties=no"
    asked = [program, "-t", "-f", "/dev/null", "-h", str(host_key), "-o", setting]
    is_known = subprocess.run(asked, capture_output=True, check=False).returncode == 0
    return f"{setting.replace('=', ' ')}\n" if is_known else ""


def _wait_for_banner(process: subprocess.Popen[bytes], port: int, log: Path) -> None:
    deadline_s = time.monotonic() + _START_TIMEOUT_S
    while time.monotonic() < deadline_s and process.poll() is None:
        try:
            # All the time there is: each connection starts a process there, and one given up was no help.
            with socket.create_connection(("127.0.0.1", port), timeout=_START_TIMEOUT_S) as client:
                if client.recv(4) == b"SSH-":
                    return
        except OSError:
            time.sleep(0.02)
    _cannot_start(f"sshd did not answer: {log.read_text()[-500:]}")


def _cannot_start(reason: str) -> NoReturn:
    if os.environ.get("SEAMFS_REQUIRE_REAL") == "1":
        pytest.fail(reason)
    pytest.skip(reason)


@pytest.fixture(scope="session")
def embedded_sftp_server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SftpServer]:
    """The embedded server, for the whole session."""
    with embedded_server(tmp_path_factory.mktemp("sftp-embedded")) as server:
        yield server


@pytest.fixture(scope="session")
def sshd_server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SftpServer]:
    """The real server, for the whole session."""
    with real_server(tmp_path_factory.mktemp("sftp-openssh")) as server:
        yield server


@pytest.fixture(params=["embedded_sftp_server", "sshd_server"])
def sftp_server(request: pytest.FixtureRequest) -> SftpServer:
    """Each server in turn."""
    server = request.getfixturevalue(request.param)
    assert isinstance(server, SftpServer)
    return server


@pytest.fixture
def sftp_harness(sftp_server: SftpServer) -> SftpHarness:
    """An empty root on each server in turn."""
    return sftp_server.harness()
