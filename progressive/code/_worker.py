"""A process that answers one blocking question at a time, and can be ended while it does."""

import os
import signal
from collections.abc import Callable
from contextlib import suppress
from threading import Event, Lock
from typing import Generic, Protocol, TypeVar

import anyio
from anyio import to_thread

__all__ = ["Session", "Worker"]


class Session(Protocol):
    """What holds a process; leaving it gives the process back."""

    @property
    def worker_pid(self) -> int | None:
        """The process; None while it answers."""
        ...

    def __exit__(self, *args: object) -> None: ...


SessionT = TypeVar("SessionT", bound=Session)
ResultT = TypeVar("ResultT")


class Worker(Generic[SessionT]):
    """Asks a session in threads. Cancelling a question ends the process, so that the thread comes back at once."""

    def __init__(self, enter: Callable[[], SessionT], threads: anyio.CapacityLimiter) -> None:
        """Start without a process.

        Args:
            enter: Takes one; called in a thread, with the first question.
            threads: Where questions are asked.
        """
        self._enter = enter
        self._threads = threads
        self._session: SessionT | None = None
        self._pid: int | None = None
        self._lock = Lock()
        self._is_busy = False
        self._is_ended = False

    async def ask(self, question: Callable[[SessionT], ResultT]) -> ResultT:
        """Return the answer to a question, or raise what it raises."""
        answered = Event()

        def asked() -> ResultT:
            with self._lock:
                self._is_busy = True
            try:
                return question(self._entered())
            finally:
                with self._lock:
                    self._is_busy = False
                answered.set()

        try:
            return await to_thread.run_sync(asked, abandon_on_cancel=True, limiter=self._threads)
        except anyio.get_cancelled_exc_class():
            if self.end():
                with anyio.CancelScope(shield=True):
                    await to_thread.run_sync(answered.wait, limiter=self._threads)
            raise

    def end(self) -> bool:
        """End the process if a question is open, and allow no other; tell whether one was. Any thread may do that."""
        with self._lock:
            self._is_ended = True
            if self._is_busy and self._pid is not None:
                # The one who asks has not heard of its end yet, so the number cannot be another's.
                with suppress(ProcessLookupError):
                    os.kill(self._pid, signal.SIGKILL)
            return self._is_busy

    def leave(self) -> None:
        """Give the process back, if there is one; blocks. Nothing may be asked afterwards."""
        with self._lock:
            session, self._session, self._pid, self._is_ended = self._session, None, None, True
        if session is not None:
            session.__exit__(None, None, None)

    async def close(self) -> None:
        """Leave, unless that was done. No question may be open."""
        if self._session is not None:
            with anyio.CancelScope(shield=True):
                await to_thread.run_sync(self.leave, limiter=self._threads)

    def _entered(self) -> SessionT:
        if self._session is None and not self._is_ended:
            session = self._enter()
            with self._lock:
                self._session, self._pid = session, session.worker_pid
        if self._session is None or self._is_ended:
            raise RuntimeError("the question was withdrawn")
        return self._session
