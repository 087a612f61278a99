"""One live process per session of a state file: a lock beside it, which the kernel drops when its process dies."""

import fcntl
import os
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Final

import anyio
import xxhash
from anyio import to_thread

from fs_core.cancellation import to_the_end
from fs_core.errors import Unavailable
from seamfs.state_path import os_fault, real_path

__all__ = ["claimed"]

CLAIM_TIMEOUT_S: Final = 3.0
RETRY_WAIT_S: Final = 0.05


@asynccontextmanager
async def claimed(
    state: Path, *, root_url: str, session: str, shared: bool = False, timeout_s: float = CLAIM_TIMEOUT_S
) -> AsyncGenerator[None]:
    """Hold a session of a root until the block ends; waits a little, as a process that is replaced takes time to end.

    Args:
        state: The state file; the lock file is made beside it, and removed again by whoever leaves last.
        root_url: Where the workspace begins: the same name is another session elsewhere.
        session: Its name, which can stand in that of a file.
        shared: Let others in who share it too, but nobody who wants it alone.
        timeout_s: How long to wait.

    Raises:
        FsError: Another process holds the session, or there can be no lock file.
    """
    # The session is in it too: where its name begins in that of the file cannot be seen there.
    tag = xxhash.xxh3_64_hexdigest(f"{session}\n{root_url}".encode("utf-8", "surrogatepass"))
    # However the state is spelled, there is one lock.
    real = await to_thread.run_sync(real_path, state)
    lock = real.with_name(f"{real.name}-{session}-{tag}.lock")
    mode = fcntl.LOCK_SH if shared else fcntl.LOCK_EX
    deadline_s = anyio.current_time() + timeout_s
    while (fd := await to_the_end(lambda: to_thread.run_sync(_acquired, lock, mode))) is None:
        if anyio.current_time() > deadline_s:
            reason = (
                f"session {session} is in use by another running seamfs; give this one another name with --session, "
                "or end the other"
            )
            raise Unavailable(reason, path=str(state), operation="open", retryable=True)
        await anyio.sleep(RETRY_WAIT_S)
    try:
        yield
    finally:
        _release(lock, fd)


def _acquired(lock: Path, mode: int) -> int | None:
    """Return the descriptor that holds the lock, if it is free."""
    try:
        fd = os.open(lock, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
    except OSError as error:
        raise os_fault(error, lock, "the session cannot be locked") from error
    # Who left meanwhile has removed the file, and a lock on it keeps nobody out.
    if _try_flock(fd, mode) and os.fstat(fd).st_nlink:
        return fd
    os.close(fd)
    return None


def _release(lock: Path, fd: int) -> None:
    # Others who share it still need the file.
    if _try_flock(fd, fcntl.LOCK_EX):
        lock.unlink(missing_ok=True)
    os.close(fd)


def _try_flock(fd: int, mode: int) -> bool:
    try:
        fcntl.flock(fd, mode | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True
