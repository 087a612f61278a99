"""A process that answers one blocking question at a time, and can be ended while it does."""

import os
import signal
from collections.abc import Callable
from contextlib import suppress
from threading import Event, Lock
from typing import Generic, TypeVar

import anyio
from anyio import to_thread

__all__ = ["Worker"]

SessionT = TypeVar("SessionT")
ResultT = TypeVar("ResultT")


class Worker(Generic[SessionT]):
    """Asks a session in threads. Cancelling a question ends the process, so that the thread comes back at once."""

    def __init__(self, session: SessionT, pid: int, threads: anyio.CapacityLimiter) -> None:
        """Use a session.

        Args:
            session: What is asked.
            pid: Its process, which lives as long as a question is open.
            threads: Where questions are asked.
        """
        self.session = session
        self._pid = pid
        self._threads = threads
        self._lock = Lock()
        self._is_busy = False
        self._is_ended = False

    async def ask(self, question: Callable[[], ResultT]) -> ResultT:
        """Return the answer to a question, or raise what it raises."""
        answered = Event()

        def asked() -> ResultT:
            with self._lock:
                if self._is_ended:
                    raise RuntimeError("the question was withdrawn")
                self._is_busy = True
            try:
                return question()
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
            if self._is_busy:
                # The one who asks has not heard of its end yet, so the number cannot be another's.
                with suppress(ProcessLookupError):
                    os.kill(self._pid, signal.SIGKILL)
            return self._is_busy
