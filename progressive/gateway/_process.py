"""The process of one stdio server: in a group of its own, with little of our environment, and ended for certain."""

from __future__ import annotations

import errno
import os
import signal
import subprocess
import sys
from contextlib import suppress
from typing import Final

import anyio
import anyio.to_thread

from progressive.gateway.mounts import StdioMount, revealed

__all__ = ["ServerProcess", "SpawnError"]

_INHERITED: Final = (
    "HOME", "LANG", "LC_ALL", "LC_CTYPE", "LOGNAME", "PATH", "SHELL", "TERM", "TMPDIR", "TZ", "USER",
)  # fmt: skip
"""What every server gets: the list of the SDK, and what text and time are written in."""

_POLL_S: Final = 0.02
_KILL_WAIT_S: Final = 2.0
_CHUNK_BYTES: Final = 65_536


class SpawnError(Exception):
    """Raised when a command cannot be started; the message says why in one line."""


class ServerProcess:
    """A running server. The descriptors belong to it; nobody may be reading or writing when it is stopped."""

    def __init__(self, process: subprocess.Popen[bytes]) -> None:
        """Take over a process that was started with three pipes."""
        if process.stdin is None or process.stdout is None or process.stderr is None:
            raise ValueError("the process has no pipes")
        self._process = process
        self._pipes = (process.stdin, process.stdout, process.stderr)
        self.stdin, self.stdout, self.stderr = (pipe.fileno() for pipe in self._pipes)
        for descriptor in (self.stdin, self.stdout, self.stderr):
            os.set_blocking(descriptor, False)

    @classmethod
    async def started(cls, mount: StdioMount) -> ServerProcess:
        """Start the command of a mount.

        Raises:
            SpawnError: It cannot be started.
        """
        env = {name: os.environ[name] for name in _INHERITED if name in os.environ} | revealed(mount.env)

        def spawn() -> subprocess.Popen[bytes]:
            return subprocess.Popen(  # noqa: S603 - running a configured command is what a mount is
                mount.command,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                env=env,
                cwd=mount.cwd,
                bufsize=0,
                start_new_session=True,
            )

        try:
            return cls(await anyio.to_thread.run_sync(spawn))
        except OSError as error:
            raise SpawnError(_why_not_started(mount, error)) from error

    def exit_text(self) -> str:
        """Return how it ended, empty while it runs."""
        code = self._exit_code()
        if code is None:
            return ""
        return f"the server ended with exit code {code}" if code >= 0 else f"the server was ended by signal {-code}"

    def _exit_code(self) -> int | None:
        if sys.platform == "darwin":  # has no waitid before Python 3.13
            return self._process.poll()
        # It stays a zombie until `stop` is through, so that nobody else gets its number while the group is signalled.
        state = os.waitid(os.P_PID, self._process.pid, os.WEXITED | os.WNOHANG | os.WNOWAIT)
        if state is None:
            return None
        return state.si_status if state.si_code == os.CLD_EXITED else -state.si_status

    async def exited(self) -> None:
        """Wait until it has ended."""
        # Waiting for a process without polling takes a thread each, or SIGCHLD, which belongs to the event loop.
        while not self.exit_text():  # noqa: ASYNC110
            await anyio.sleep(_POLL_S)

    async def read(self, descriptor: int) -> bytes:
        """Return what is there on stdout or stderr, waiting for something; empty at the end."""
        while True:
            with suppress(BlockingIOError):
                return os.read(descriptor, _CHUNK_BYTES)
            await anyio.wait_readable(descriptor)

    async def write(self, data: bytes, *, timeout_s: float) -> None:
        """Write to stdin.

        Raises:
            OSError: The server has closed it.
            TimeoutError: It has read nothing for `timeout_s` seconds.
        """
        rest = memoryview(data)
        while rest:
            with suppress(BlockingIOError):
                rest = rest[os.write(self.stdin, rest) :]
                continue
            with anyio.fail_after(timeout_s):
                await anyio.wait_writable(self.stdin)

    async def stop(self, *, grace_s: float) -> None:
        """End it: close its stdin, wait, SIGTERM, wait, and SIGKILL for whatever is left of its group.

        To be called once, with cancellation shielded; takes at most 2 * `grace_s` + 2 seconds.
        """
        self._pipes[0].close()
        if not await self._has_exited_within(grace_s):
            self._signal(signal.SIGTERM)
            await self._has_exited_within(grace_s)
        self._signal(signal.SIGKILL)
        await self._has_exited_within(_KILL_WAIT_S)
        self._process.poll()
        for pipe in self._pipes[1:]:
            pipe.close()

    def _signal(self, number: signal.Signals) -> None:
        # The group has the number of its first process, which has not been reaped: the number is still its own.
        with suppress(ProcessLookupError, PermissionError):
            os.killpg(self._process.pid, number)

    async def _has_exited_within(self, timeout_s: float) -> bool:
        deadline_s = anyio.current_time() + timeout_s
        while not self.exit_text():
            if anyio.current_time() >= deadline_s:
                return False
            # A server that still has something to say cannot end while its pipes are full.
            self._discard()
            await anyio.sleep(_POLL_S)
        return True

    def _discard(self) -> None:
        for descriptor in (self.stdout, self.stderr):
            with suppress(BlockingIOError):
                os.read(descriptor, _CHUNK_BYTES)


def _why_not_started(mount: StdioMount, error: OSError) -> str:
    command = mount.command[0]
    if mount.cwd is not None and not mount.cwd.is_dir():
        return f"there is no directory {mount.cwd} to run it in"
    match error.errno:
        case errno.ENOENT:
            return f"there is no command {command!r}"
        case errno.EACCES:
            return f"the command {command!r} may not be executed"
        case errno.ENOEXEC:
            return f"the command {command!r} is not a program"
        case _:
            return f"the command {command!r} cannot be started: {error.strerror}"
