"""One SFTP session on one SSH connection: flights of requests, with bounds on time and on what is outstanding."""

import threading
import time
from collections import deque
from collections.abc import Generator, Iterable, Iterator
from itertools import chain, islice
from typing import TYPE_CHECKING, Final, cast

import paramiko

from backends.sftp import _wire as wire
from backends.sftp._connection import Connection, ConnectionLost, ServerSilent
from backends.sftp._content import Content
from backends.sftp._inbox import Inbox
from backends.sftp._versions import ServerClock

if TYPE_CHECKING:
    from paramiko.buffered_pipe import BufferedPipe

__all__ = ["LIST_RATE_MIN_NAMES_PER_S", "WINDOW_REQUESTS_MAX", "SftpClient"]

WINDOW_REQUESTS_MAX: Final = 64
"""Requests of one stream that are outstanding or whose answers wait for an earlier one (as OpenSSH's `sftp` does)."""

_CHUNK_BYTES: Final = 32 * 1024
"""What every server takes in one packet (draft-ietf-secsh-filexfer-02, section 3)."""
_CHUNK_BYTES_MAX: Final = 255 * 1024
_PACKET_BYTES_MAX: Final = 1 << 20
_BURST_BYTES: Final = 32 * 1024
_CHANNEL_WINDOW_BYTES: Final = 32 << 20
_CHANNEL_PACKET_BYTES: Final = 32 * 1024
_SEND_BYTES: Final = 32 * 1024
"""What OpenSSH takes in one SSH packet."""
_READDIR_AHEAD: Final = 4
_WAKE_INTERVAL_S: Final = 0.05
LIST_RATE_MIN_NAMES_PER_S: Final = 100
"""A server may be slow, but one that answers every request in time with next to nothing would never be done."""


class SftpClient:
    """A session for one operation at a time, in one thread.

    `shut_down` alone may be called from another thread. After `ConnectionLost` the client is of no more use.

    Attributes:
        extensions: what the server offers beyond version 3, by name.
        request_timeout_s: within this time every single answer has to arrive.
        clock: what is known of the server's clock.
    """

    def __init__(self, connection: Connection, clock: ServerClock, *, request_timeout_s: float) -> None:
        self._connection = connection
        self.clock = clock
        self.request_timeout_s = request_timeout_s
        self.extensions: dict[str, str] = {}
        self.used_at_s = time.monotonic()
        self._number = 0
        self._outstanding: set[int] = set()
        self._ignored: set[int] = set()
        self._arrived: dict[int, wire.Reply] = {}
        self._is_broken = False
        self._read_bytes_max = self._write_bytes_max = _CHUNK_BYTES
        self._channel = self._open_channel()
        self._greet()

    def _open_channel(self) -> paramiko.Channel:
        try:
            channel = self._connection.transport.open_session(
                window_size=_CHANNEL_WINDOW_BYTES,
                max_packet_size=_CHANNEL_PACKET_BYTES,
                timeout=self.request_timeout_s,
            )
            channel.settimeout(self.request_timeout_s)
            channel.in_buffer = cast("BufferedPipe[bytes]", Inbox())  # nothing has come before SFTP is asked for
            self._start_subsystem(channel)
        except ConnectionLost:
            raise
        except Exception as error:
            # Whatever ended paramiko's thread comes out here, such as a failed integrity check.
            said = wire.shown_text(str(error) or type(error).__name__)
            raise ConnectionLost(f"the server opened no SFTP session: {said}") from error
        return channel

    def _start_subsystem(self, channel: paramiko.Channel) -> None:
        """Have the server start SFTP.

        Paramiko waits for this one answer without any limit (`Channel._wait_for_event`), and for ever if the connection
        ended just before: then nothing wakes it up any more. So it is woken from outside, again and again: what comes
        right before it begins to wait is forgotten (`Channel._event_pending`).
        """
        is_overdue = threading.Event()

        def give_up() -> None:
            is_overdue.set()
            self._connection.shut_down()
            while not watchdog.finished.is_set():
                channel.event.set()
                watchdog.finished.wait(_WAKE_INTERVAL_S)

        watchdog = threading.Timer(self.request_timeout_s, give_up)
        watchdog.start()
        try:
            channel.invoke_subsystem("sftp")
        except Exception:
            if is_overdue.is_set():
                raise self._silent() from None
            raise
        finally:
            watchdog.cancel()
            watchdog.join()

    def _greet(self) -> None:
        """Agree on the version and learn the server's extensions and limits."""
        self._transmit(b"\0\0\0\5" + bytes((wire.Kind.INIT,)) + wire.PROTOCOL_VERSION.to_bytes(4, "big"))
        kind, body = self._receive_packet()
        if kind != wire.Kind.VERSION:
            raise self._broken(_NO_SFTP)
        _, self.extensions = wire.parse_version(body)
        if "limits@openssh.com" not in self.extensions:
            return
        (reply,) = self.exchange(wire.extended("limits@openssh.com", b""))
        if wire.status_of(reply) is None:
            _, read_bytes, write_bytes, _ = wire.fields_of(reply, 4)
            self._read_bytes_max = min(read_bytes or _CHUNK_BYTES, _CHUNK_BYTES_MAX)
            self._write_bytes_max = min(write_bytes or _CHUNK_BYTES, _CHUNK_BYTES_MAX)

    @property
    def is_reusable(self) -> bool:
        """Whether the next operation may have this client."""
        return not self._is_broken and not self._outstanding - self._ignored and self._connection.is_alive

    @property
    def is_broken(self) -> bool:
        """Whether the connection is known to be of no more use."""
        return self._is_broken

    @property
    def read_bytes_max(self) -> int:
        """Return how much the server sends in answer to one request."""
        return self._read_bytes_max

    @property
    def has_posix_rename(self) -> bool:
        """Whether a file can be replaced atomically."""
        return "posix-rename@openssh.com" in self.extensions

    @property
    def has_hardlink(self) -> bool:
        """Whether hard links can be made."""
        return "hardlink@openssh.com" in self.extensions

    @property
    def has_fsync(self) -> bool:
        """Whether a file can be flushed to its disk."""
        return "fsync@openssh.com" in self.extensions

    @property
    def has_statvfs(self) -> bool:
        """Whether free space can be asked for."""
        return "statvfs@openssh.com" in self.extensions

    def shut_down(self) -> None:
        """End whatever is in flight, at once; safe from any thread."""
        self._is_broken = True
        self._connection.shut_down()

    def close(self) -> None:
        """Close the session and its connection and wait for its thread."""
        self._is_broken = True
        self._connection.close()

    def exchange(self, *requests: wire.Request) -> list[wire.Reply]:
        """Send all requests in one flight and return their replies in the same order."""
        return list(self.stream(requests))

    def ask(self, request: wire.Request) -> wire.Reply:
        """Send one request and return its reply, or raise `StatusError` for a refusal."""
        (reply,) = self.exchange(request)
        wire.raise_for_status(reply)
        return reply

    def stream(self, requests: Iterable[wire.Request]) -> Iterator[wire.Reply]:
        """Send requests through a bounded window and yield their replies in order. Has to be run to its end."""
        source = iter(requests)
        waiting = deque(self._send(islice(source, WINDOW_REQUESTS_MAX)))
        while waiting:
            reply = self._await_reply(waiting.popleft())
            waiting.extend(self._send(islice(source, 1)))
            yield reply

    def close_later(self, *handles: bytes) -> None:
        """Close handles whose fate does not matter, without waiting for the answers."""
        self._ignored.update(self._send(map(wire.close, handles)))

    def require_pace(self, started_s: float, done: int, rate_min_per_s: int) -> None:
        """Raise `ServerSilent` when a stream of answers is far behind the slowest that makes sense."""
        if time.monotonic() - started_s > self.request_timeout_s + done / rate_min_per_s:
            self._is_broken = True
            raise ServerSilent("the server answers too slowly to be waited for")

    def upload(self, handle: bytes, content: Content, *, then: tuple[wire.Request, ...]) -> list[wire.Reply]:
        """Write `content` and send `then` behind it; return the replies of `then`.

        Every single write's status is checked: a full disk shows nowhere else.
        """
        size = self._write_bytes_max
        writes = (wire.write(handle, at * size, chunk) for at, chunk in enumerate(content.chunks(size)))
        count = -(-content.size_bytes // size)
        refusal: wire.StatusError | None = None
        tail: list[wire.Reply] = []
        for index, reply in enumerate(self.stream(chain(writes, then))):
            if index >= count:
                tail.append(reply)
            else:
                refusal = refusal or wire.status_of(reply)
        if refusal is not None:
            raise refusal
        return tail

    def read_directory(self, path: str) -> Generator[wire.NamedAttributes]:
        """Yield the names of a directory as the server gives them, without `.` and `..`.

        Raises:
            StatusError: the server goes on without new names, for ever perhaps.
            ServerSilent: it tells them too slowly.
        """
        handle = wire.handle_of(self.ask(wire.opendir(path)))
        started_s, count = time.monotonic(), 0
        try:
            is_at_end = False
            while not is_at_end:
                told = 0
                for reply in self.exchange(*[wire.readdir(handle)] * _READDIR_AHEAD):
                    names = wire.names_of(reply)
                    is_at_end = is_at_end or not names
                    found = [entry for entry in names if entry.name not in {b"", b".", b".."}]
                    told += len(found)
                    yield from found
                count += told
                self.require_pace(started_s, count, LIST_RATE_MIN_NAMES_PER_S)
                if not told and not is_at_end:
                    raise wire.StatusError(wire.StatusCode.FAILURE, "the server lists a directory without an end")
        finally:
            if not self._is_broken:
                self.close_later(handle)

    def _send(self, requests: Iterable[wire.Request]) -> list[int]:
        """Transmit requests, small ones together, and return their numbers."""
        numbers: list[int] = []
        burst: list[bytes] = []
        burst_bytes = 0
        for request in requests:
            self._number = (self._number + 1) & 0xFFFFFFFF
            numbers.append(self._number)
            self._outstanding.add(self._number)
            burst.append(wire.frame(request, self._number))
            burst_bytes += len(burst[-1])
            if burst_bytes >= _BURST_BYTES:
                self._transmit(b"".join(burst))
                burst, burst_bytes = [], 0
        if burst:
            self._transmit(b"".join(burst))
        return numbers

    def _await_reply(self, number: int) -> wire.Reply:
        while number not in self._arrived:
            kind, body = self._receive_packet()
            answered = int.from_bytes(body[:4], "big")
            if answered not in self._outstanding:
                raise self._broken("the server answered a request that was not made")
            self._outstanding.discard(answered)
            if answered in self._ignored:
                self._ignored.discard(answered)
            else:
                self._arrived[answered] = wire.Reply(kind, body[4:])
        return self._arrived.pop(number)

    def _receive_packet(self) -> tuple[int, memoryview]:
        deadline_s = time.monotonic() + self.request_timeout_s
        size = int.from_bytes(self._receive(4, deadline_s), "big")
        if not 1 <= size <= _PACKET_BYTES_MAX:
            raise self._broken(_NO_SFTP)
        packet = self._receive(size, deadline_s)
        return packet[0], memoryview(packet)[1:]

    def _receive(self, size: int, deadline_s: float) -> bytes:
        try:
            self._channel.settimeout(max(deadline_s - time.monotonic(), 0.001))
            data = self._channel.recv(size)
        except TimeoutError as error:
            raise self._silent() from error
        except (OSError, EOFError, paramiko.SSHException) as error:
            raise self._broken(f"the connection was lost: {wire.shown_text(str(error))}") from error
        if len(data) < size:
            raise self._broken("the server closed the connection")
        return data

    def _transmit(self, data: bytes) -> None:
        try:
            self._channel.settimeout(self.request_timeout_s)
            self._send_all(memoryview(data))
        except TimeoutError as error:
            raise self._silent() from error
        except (OSError, EOFError, paramiko.SSHException) as error:
            raise self._broken(f"the connection was lost: {wire.shown_text(str(error))}") from error
        self.used_at_s = time.monotonic()

    def _send_all(self, data: memoryview) -> None:
        """Send in pieces of an SSH packet; `Channel.sendall` copies the whole rest for every one."""
        at = 0
        while at < len(data):
            sent = self._channel.send(bytes(data[at : at + _SEND_BYTES]))
            if not sent:
                raise EOFError("the channel is closed")
            at += sent

    def _silent(self) -> ServerSilent:
        self._is_broken = True
        return ServerSilent(f"the server did not answer within {self.request_timeout_s:g} s")

    def _broken(self, reason: str) -> ConnectionLost:
        self._is_broken = True
        return ConnectionLost(reason)


_NO_SFTP: Final = (
    "the server does not speak SFTP on this session; if its shell prints text at login (.bashrc, .profile), "
    "make it silent for non-interactive sessions"
)
