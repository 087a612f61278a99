"""A few connections, one operation each. Connections cost a handshake; sessions on one connection give no speed-up."""

import threading
import time
from collections.abc import Callable, Generator
from contextlib import contextmanager
from typing import Final

from backends._workers import CallCancelled, WorkerCall
from backends.options import SftpOptions
from backends.sftp import _wire as wire
from backends.sftp._client import SftpClient
from backends.sftp._config import Hop
from backends.sftp._connection import ConnectError, ConnectionLost, Credentials, connect
from backends.sftp._versions import ServerClock

__all__ = ["ConnectionPool"]

_CHECK_AFTER_IDLE_S: Final = 5.0
"""A connection that rested longer is asked for a sign of life before it is used."""
_CHECK_TIMEOUT_S: Final = 3.0
_WIND_DOWN_S: Final = 1.0


class ConnectionPool:
    """Connections to one server: at most `concurrency_max`, made when needed, closed when idle. Thread-safe."""

    def __init__(self, route: tuple[Hop, ...], options: SftpOptions) -> None:
        self._route = route
        self._options = options
        self._credentials = Credentials(options.password, options.passphrase, options.use_agent)
        self._clock = ServerClock()
        self._slots = threading.BoundedSemaphore(options.concurrency_max)
        self._lock = threading.Lock()
        self._idle: list[SftpClient] = []
        self._leased: set[SftpClient] = set()
        self._reaper: threading.Timer | None = None
        self._is_closed = False

    @contextmanager
    def lease(
        self, call: WorkerCall | None = None, *, patience_s: float | None = None, winds_down: bool = False
    ) -> Generator[SftpClient]:
        """Give out a client for one operation; it comes back if it is in order afterwards, else it is closed.

        Cancelling `call` shuts the client down; with `winds_down` only `_WIND_DOWN_S` later, so that the operation can
        clean up over the same connection, behind whatever it has sent. `patience_s` shortens the time limits for this
        operation.

        Raises:
            ConnectError: no connection can be made, or none came free in time.
        """
        if not self._slots.acquire(timeout=patience_s or self._options.request_timeout_s):
            reason = f"all {self._options.concurrency_max} connections are busy"
            raise ConnectError(reason, retryable=True)
        try:
            client = self._check_out(call, patience_s)
            winding = _WindingDown(client) if winds_down else None
            try:
                if winding is not None:
                    _watch(call, winding.begin)
                self._register(client)
                yield client
            finally:
                self._check_in(client, call, winding)
        finally:
            self._slots.release()

    def close(self) -> None:
        """Close all connections that rest and shut down those in use, which their users then close. Idempotent."""
        with self._lock:
            self._is_closed = True
            for client in self._leased:
                client.shut_down()
            idle, self._idle = self._idle, []
            reaper, self._reaper = self._reaper, None
        if reaper is not None:
            reaper.cancel()
        _close_all(idle)
        if reaper is not None and reaper is not threading.current_thread():
            reaper.join()

    def _check_out(self, call: WorkerCall | None, patience_s: float | None) -> SftpClient:
        while True:
            with self._lock:
                if self._is_closed:
                    raise ConnectError("the workspace is closed")
                client = self._idle.pop() if self._idle else None
            if client is None:
                return self._open(call, patience_s)
            try:
                _watch(call, client.shut_down)
                is_well = self._is_well(client)
            except BaseException:
                client.close()
                raise
            if is_well:
                client.request_timeout_s = patience_s or self._options.request_timeout_s
                return client
            client.close()

    def _open(self, call: WorkerCall | None, patience_s: float | None) -> SftpClient:
        timeout_s = min(self._route[-1].connect_timeout_s, patience_s or float("inf"))
        connection = connect(
            self._route,
            self._credentials,
            timeout_s=timeout_s,
            request_timeout_s=self._options.request_timeout_s,
            keepalive_interval_s=self._options.keepalive_interval_s,
            on_open=lambda action: _watch(call, action),
        )
        try:
            client = SftpClient(connection, self._clock, request_timeout_s=timeout_s)
            client.request_timeout_s = patience_s or self._options.request_timeout_s
            _watch(call, client.shut_down)
        except ConnectionLost as error:
            connection.close()
            raise ConnectError(str(error), retryable=True) from error
        except BaseException:
            connection.close()
            raise
        return client

    def _is_well(self, client: SftpClient) -> bool:
        if not client.is_reusable:
            return False
        if time.monotonic() - client.used_at_s < _CHECK_AFTER_IDLE_S:
            return True
        client.request_timeout_s = min(_CHECK_TIMEOUT_S, self._options.request_timeout_s)
        try:
            client.exchange(wire.realpath("."))
        except ConnectionLost:
            return False
        return client.is_reusable

    def _register(self, client: SftpClient) -> None:
        with self._lock:
            self._leased.add(client)
            if self._is_closed:
                client.shut_down()

    def _check_in(self, client: SftpClient, call: WorkerCall | None, winding: "_WindingDown | None") -> None:
        with self._lock:
            self._leased.discard(client)
        if winding is not None:
            winding.end()
        try:
            # From here on a cancellation must no longer reach a client that someone else may hold.
            _watch(call, _nothing)
        except CallCancelled:
            if winding is None:
                client.close()
            else:
                self._rest(client)
            raise
        self._rest(client)

    def _rest(self, client: SftpClient) -> None:
        """Keep a client that is in order for the next operation."""
        with self._lock:
            keep = client.is_reusable and not self._is_closed
            if keep:
                client.used_at_s = time.monotonic()
                self._idle.append(client)
                self._arm()
        if not keep:
            client.close()

    def _arm(self) -> None:
        """Have resting connections looked at again; the lock is held."""
        if self._reaper is None:
            self._reaper = threading.Timer(self._options.idle_timeout_s, self._reap)
            self._reaper.daemon = True
            self._reaper.start()

    def _reap(self) -> None:
        """Close the connections that have rested too long."""
        oldest_s = time.monotonic() - self._options.idle_timeout_s
        with self._lock:
            expired = [client for client in self._idle if client.used_at_s <= oldest_s]
            self._idle = [client for client in self._idle if client.used_at_s > oldest_s]
            self._reaper = None
            if self._idle and not self._is_closed:
                self._arm()
        _close_all(expired)


class _WindingDown:
    """Shuts a client down a while after a cancellation, unless the operation ends by itself before."""

    def __init__(self, client: SftpClient) -> None:
        self._client = client
        self._lock = threading.Lock()
        self._timer: threading.Timer | None = None
        self._is_over = False

    def begin(self) -> None:
        """Start the time; safe from any thread, at any time."""
        with self._lock:
            if not self._is_over:
                self._timer = threading.Timer(_WIND_DOWN_S, self._client.shut_down)
                self._timer.daemon = True
                self._timer.start()

    def end(self) -> None:
        """Leave the client alone from now on."""
        with self._lock:
            self._is_over = True
        if self._timer is not None:
            self._timer.cancel()
            self._timer.join()


def _watch(call: WorkerCall | None, action: Callable[[], None]) -> None:
    if call is not None:
        call.unblock_with(action)


def _nothing() -> None:
    """Stand in for a client that is no longer in use."""


def _close_all(clients: list[SftpClient]) -> None:
    """Close clients; all are shut down first, so that their threads end side by side."""
    for client in clients:
        client.shut_down()
    for client in clients:
        client.close()
