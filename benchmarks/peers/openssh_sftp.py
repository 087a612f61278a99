"""OpenSSH's `sftp` program, one session. `apt-get install openssh-client`.

The program reads commands from a pipe and runs `!echo` after each, so that a transfer is timed from the command to the
mark: its login, and its start as a process, are not in it.
"""

import re
import shutil
import subprocess
from collections.abc import Generator
from contextlib import contextmanager
from typing import IO, Final, cast

from benchmarks.backends.access import SftpAccess

__all__ = ["INSTALL", "NAME", "OpensshSftp", "openssh_sftp", "version"]

NAME: Final = "OpenSSH sftp"
INSTALL: Final = "apt-get install openssh-client"
_PROGRAM: Final = "sftp"
_MARK: Final = "done"


class OpensshSftp:
    """A session that waits for commands; every call blocks until the program has done it."""

    def __init__(self, process: subprocess.Popen[str], access: SftpAccess) -> None:
        self._process = process
        self._access = access

    def get(self, name: str, to: str) -> None:
        """Fetch a file to a path of this machine, such as `/dev/null`."""
        self._run(f"get {self._access.path(name)} {to}")

    def put(self, source: str, name: str, *, flush: bool = False) -> None:
        """Send a file of this machine, over whatever is there; with `flush` the server has it on disk afterwards."""
        self._run(f"put {'-f ' if flush else ''}{source} {self._access.path(name)}")

    def ready(self) -> None:
        """Wait until the session has logged in."""
        self._run("")

    def _run(self, command: str) -> None:
        requests, answers = cast("tuple[IO[str], IO[str]]", (self._process.stdin, self._process.stdout))
        requests.write(f"{command}\n!echo {_MARK}\n")
        requests.flush()
        while (line := answers.readline()) != f"{_MARK}\n":
            if not line:
                raise RuntimeError(f"sftp ended while it ran: {command}")


@contextmanager
def openssh_sftp(access: SftpAccess, *, cipher: str | None = None) -> Generator[OpensshSftp]:
    """Log in; `cipher` is one of ssh(1), by default the program's own choice."""
    options = {
        "BatchMode": "yes",
        "IdentitiesOnly": "yes",
        "StrictHostKeyChecking": "yes",
        "UserKnownHostsFile": str(access.known_hosts_file),
    }
    given = [part for name, value in options.items() for part in ("-o", f"{name}={value}")]
    command = [
        *(_PROGRAM, "-q", "-F", "none", "-P", str(access.port), "-i", str(access.identity_file), "-b", "-"),
        *given,
        *(() if cipher is None else ("-c", cipher)),
        f"{access.user}@{access.host}",
    ]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        try:
            session = OpensshSftp(process, access)
            session.ready()
            yield session
        finally:
            process.kill()


def version() -> str | None:
    """Return what the programs say of themselves, such as `9.2p1`; `None` if they are not installed."""
    if shutil.which(_PROGRAM) is None:
        return None
    said = subprocess.run(["ssh", "-V"], capture_output=True, text=True, check=True).stderr
    found = re.search(r"OpenSSH_(\S+?),? ", said)
    return found[1] if found else said.strip()
