"""An SFTP server inside this process, for the demonstration and for quick tests. Needs the `demo` extra."""

import asyncio
import logging
import threading
from collections.abc import Callable, Generator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Final
from urllib.parse import quote

from backends.options import SftpOptions

if TYPE_CHECKING:
    import asyncssh

__all__ = ["EmbeddedSftp", "embedded_sftp"]

_HOST: Final = "127.0.0.1"
_USER: Final = "demo"
_START_TIMEOUT_S: Final = 20.0

SftpFactory = Callable[["asyncssh.SSHServerChannel[bytes]"], "asyncssh.SFTPServer"]


@dataclass(frozen=True, slots=True)
class EmbeddedSftp:
    """Where the server answers, and the files with which a client trusts it and is let in."""

    directory: Path
    host: str
    port: int
    user: str
    host_key_line: str
    """The server's key as a line of known_hosts."""
    known_hosts_file: Path
    identity_file: Path
    config_file: Path
    """An empty client configuration, so that the user's own does not play a part."""

    @property
    def url(self) -> str:
        """Return the URL of the directory."""
        return f"sftp://{self.user}@{self.host}:{self.port}{quote(str(self.directory))}"

    @property
    def options(self) -> SftpOptions:
        """Return settings that reach this server and touch nothing of the user's."""
        return SftpOptions(
            config_file=self.config_file,
            known_hosts_file=self.known_hosts_file,
            identity_file=self.identity_file,
            use_agent=False,
        )


@contextmanager
def embedded_sftp(directory: Path, *, sftp_factory: SftpFactory | None = None) -> Generator[EmbeddedSftp]:
    """Serve `directory` on a free loopback port until the block ends.

    Host key and the one client key that is let in are made for this server and kept in a private directory. Who has
    that key acts as the user of this process. `sftp_factory` replaces the standard handler of requests.
    """
    import asyncssh

    logging.getLogger("asyncssh").setLevel(logging.WARNING)  # else several lines per connection
    host_key, client_key = _new_key(), _new_key()
    factory = sftp_factory or asyncssh.SFTPServer
    with TemporaryDirectory(prefix="seamfs-sftp-") as keys, _serving_loop() as loop:
        connections: list[asyncssh.SSHServerConnection] = []
        starting = asyncio.run_coroutine_threadsafe(_listen(host_key, client_key, factory, connections), loop)
        acceptor = starting.result(_START_TIMEOUT_S)
        try:
            port = acceptor.get_port()
            yield _write_files(Path(keys), directory, port, host_key, client_key)
        finally:
            asyncio.run_coroutine_threadsafe(_stop(acceptor, connections), loop).result(_START_TIMEOUT_S)


def _new_key() -> "asyncssh.SSHKey":
    import asyncssh

    return asyncssh.generate_private_key("ssh-ed25519")  # pyright: ignore[reportUnknownMemberType] - untyped kwargs


async def _listen(
    host_key: "asyncssh.SSHKey",
    client_key: "asyncssh.SSHKey",
    factory: SftpFactory,
    connections: "list[asyncssh.SSHServerConnection]",
) -> "asyncssh.SSHAcceptor":
    """Start to listen; every connection is appended to `connections`."""
    import asyncssh

    class Server(asyncssh.SSHServer):
        def connection_made(self, conn: asyncssh.SSHServerConnection) -> None:
            connections.append(conn)

    return await asyncssh.listen(
        _HOST,
        0,
        server_factory=Server,
        server_host_keys=[host_key],
        authorized_client_keys=asyncssh.import_authorized_keys(client_key.export_public_key().decode()),
        sftp_factory=factory,
        agent_forwarding=False,
        x11_forwarding=False,
    )


@contextmanager
def _serving_loop() -> Generator[asyncio.AbstractEventLoop]:
    """Run an event loop in a thread of its own until the block ends."""
    loop = asyncio.new_event_loop()
    thread = threading.Thread(target=loop.run_forever, name="embedded-sftp", daemon=True)
    thread.start()
    try:
        yield loop
    finally:
        loop.call_soon_threadsafe(loop.stop)
        thread.join()
        loop.close()


async def _stop(acceptor: "asyncssh.SSHAcceptor", connections: "list[asyncssh.SSHServerConnection]") -> None:
    """Close the listener and every connection, and let their tasks end."""
    acceptor.close()
    await acceptor.wait_closed()
    for connection in connections:
        connection.abort()
    for connection in connections:
        await connection.wait_closed()
    others = asyncio.all_tasks() - {asyncio.current_task()}
    for task in others:
        task.cancel()
    await asyncio.gather(*others, return_exceptions=True)


def _write_files(
    keys: Path, directory: Path, port: int, host_key: "asyncssh.SSHKey", client_key: "asyncssh.SSHKey"
) -> EmbeddedSftp:
    line = f"[{_HOST}]:{port} {host_key.export_public_key().decode().strip()}"
    files = EmbeddedSftp(
        directory=directory,
        host=_HOST,
        port=port,
        user=_USER,
        host_key_line=line,
        known_hosts_file=keys / "known_hosts",
        identity_file=keys / "id_ed25519",
        config_file=keys / "config",
    )
    files.known_hosts_file.write_text(f"{line}\n")
    files.identity_file.touch(mode=0o600)
    files.identity_file.write_bytes(client_key.export_private_key())
    files.config_file.touch()
    return files
