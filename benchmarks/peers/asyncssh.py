"""asyncssh: one connection, as many calls at once as are made. `pip install asyncssh`."""

from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from importlib import import_module
from typing import Any, Final

from benchmarks.backends.access import RemotePeer, SftpAccess

__all__ = ["ASYNCSSH", "Asyncssh", "asyncssh"]

_DIRECTORY: Final = 2  # SSH_FILEXFER_TYPE_DIRECTORY


class Asyncssh:
    """One SFTP session."""

    def __init__(self, sftp: Any, access: SftpAccess) -> None:  # noqa: ANN401 - loaded by name
        self._sftp = sftp
        self._access = access

    async def read(self, name: str) -> object:
        """Fetch a file in one piece."""
        async with self._sftp.open(self._access.path(name), "rb") as file:
            return await file.read()

    async def write(self, name: str, data: bytes) -> None:
        """Write a file in place."""
        async with self._sftp.open(self._access.path(name), "wb") as file:
            await file.write(data)

    async def names(self) -> int:
        """Return how many files there are, after one directory after another was listed."""
        waiting = [self._access.path("")]
        count = 0
        while waiting:
            directory = waiting.pop()
            for entry in await self._sftp.readdir(directory):
                if entry.filename in {".", ".."}:
                    continue
                if entry.attrs.type == _DIRECTORY:
                    waiting.append(f"{directory}/{entry.filename}")
                else:
                    count += 1
        return count


@asynccontextmanager
async def asyncssh(access: SftpAccess) -> AsyncGenerator[Asyncssh]:
    """Log in."""
    library: Any = import_module("asyncssh")
    async with (
        library.connect(
            access.host,
            port=access.port,
            username=access.user,
            client_keys=[str(access.identity_file)],
            known_hosts=str(access.known_hosts_file),
            config=None,
            agent_path=None,
        ) as connection,
        connection.start_sftp_client() as sftp,
    ):
        yield Asyncssh(sftp, access)


ASYNCSSH: Final = RemotePeer(
    name="asyncssh",
    package="asyncssh",
    install="pip install asyncssh",
    opened=asyncssh,
    note="bytes alone, written in place",
)
