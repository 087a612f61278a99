"""SSH connections: reach the host, verify its key, log in. Everything that was opened is closed on failure."""

import errno
import logging
import shlex
import socket
import subprocess
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Final, cast

import paramiko
from pydantic import SecretStr

from backends.sftp._config import Hop
from backends.sftp._identities import Identities, log_in
from backends.sftp._known_hosts import Verdict, host_label, judge, known_key_types
from backends.sftp._wire import shown_text

__all__ = ["ConnectError", "Connection", "ConnectionLost", "Credentials", "ServerSilent", "connect"]

_CIPHERS_PREFERRED: Final = ("aes128-gcm@openssh.com", "aes256-gcm@openssh.com")
"""One pass for encryption and integrity: the fastest that paramiko and OpenSSH share."""
_RSA_SIGNATURES: Final = ("rsa-sha2-512", "rsa-sha2-256")
_CLOSE_TIMEOUT_S: Final = 2.0
_TRANSPORT_WINDOW_BYTES: Final = 2 << 20
_PACKET_BYTES_MAX: Final = 1 << 20
"""More than any SSH packet has (OpenSSH: 256 KiB); Paramiko would wait for up to 4 GiB and keep all of it."""
_LOGIN_BYTES_MAX: Final = 1 << 20
"""What a host may send before it has let us in; a banner without a line end would be kept to the last byte."""

# Paramiko logs tracebacks of failed connections; without any handler Python would print them.
logging.getLogger("paramiko").addHandler(logging.NullHandler())


class ConnectError(Exception):
    """Raised when no usable connection can be made; `reason` is one line for people."""

    def __init__(self, reason: str, *, retryable: bool = False) -> None:
        self.reason = reason
        self.retryable = retryable
        super().__init__(reason)


class ConnectionLost(Exception):
    """Raised when a connection ends or stays silent; whether a request in flight took effect is then unknown."""


class ServerSilent(ConnectionLost):
    """Raised when a server keeps the connection and does not answer in time; another try would take as long."""


@dataclass(frozen=True, slots=True)
class Credentials:
    """Secrets and sources of keys that are given by options; they never show in `repr`."""

    password: SecretStr | None = None
    passphrase: SecretStr | None = None
    use_agent: bool = True


class _PatientSocket:
    """A socket whose sends give up after `send_timeout_s` without progress, and that takes no endless packets.

    Paramiko repeats a send that times out for as long as the connection is open (`Packetizer.write_all`). It asks for
    the missing part of a packet in one piece (`Packetizer.read_all`), which is how an absurd length shows here.
    """

    def __init__(self, base: "socket.socket | paramiko.Channel", *, send_timeout_s: float) -> None:
        self._base = base
        self._send_timeout_s = send_timeout_s
        self._blocked_since_s: float | None = None
        self._login_bytes_left: int | None = _LOGIN_BYTES_MAX

    @property
    def _closed(self) -> bool:
        """Tell what paramiko asks a socket for when it stops its thread."""
        return self._base.fileno() < 0 if isinstance(self._base, socket.socket) else self._base.closed

    def send(self, data: bytes) -> int:
        try:
            count = self._base.send(data)
        except TimeoutError:
            now_s = time.monotonic()
            self._blocked_since_s = self._blocked_since_s or now_s
            if now_s - self._blocked_since_s > self._send_timeout_s:
                raise _aborted("the server takes no more data") from None
            raise
        self._blocked_since_s = None
        return count

    def recv(self, size: int) -> bytes:
        if size > _PACKET_BYTES_MAX:
            raise _aborted("the server announces a packet that no SSH server sends")
        data = self._base.recv(size)
        if self._login_bytes_left is not None:
            self._login_bytes_left -= len(data)
            if self._login_bytes_left < 0:
                raise _aborted("the server sends too much before the login")
        return data

    def trust(self) -> None:
        """Lift the bound on what may come before the login."""
        self._login_bytes_left = None

    def settimeout(self, timeout_s: float | None) -> None:
        self._base.settimeout(timeout_s)

    def close(self) -> None:
        self._base.close()


def _aborted(reason: str) -> ConnectionAbortedError:
    """Return an error of the form that paramiko's thread can report: one with a number (`Transport.run`)."""
    return ConnectionAbortedError(errno.ECONNABORTED, reason)


@dataclass(slots=True, eq=False)
class Connection:
    """An authenticated connection, through any jump hosts."""

    base: socket.socket
    process: subprocess.Popen[bytes] | None
    transports: list[paramiko.Transport] = field(default_factory=list[paramiko.Transport])

    @property
    def transport(self) -> paramiko.Transport:
        """Return the transport to the server itself."""
        return self.transports[-1]

    @property
    def is_alive(self) -> bool:
        """Whether the connection has not been seen to end."""
        return all(transport.is_active() for transport in self.transports)

    def shut_down(self) -> None:
        """End all traffic at once; safe from any thread. `close` is still due."""
        with suppress(OSError):
            self.base.shutdown(socket.SHUT_RDWR)

    def close(self) -> None:
        """Close everything and wait for the threads; bounded."""
        self.shut_down()
        for transport in reversed(self.transports):
            # The one inside a tunnel says goodbye through a connection that is shut already.
            with suppress(EOFError, OSError, paramiko.SSHException):
                transport.close()
        self.base.close()
        for transport in self.transports:
            if transport.is_alive():
                transport.join(_CLOSE_TIMEOUT_S)
        if self.process is not None:
            self.process.kill()
            self.process.wait()


def connect(
    route: tuple[Hop, ...],
    credentials: Credentials,
    *,
    timeout_s: float,
    request_timeout_s: float,
    keepalive_interval_s: float,
    on_open: Callable[[Callable[[], None]], None],
) -> Connection:
    """Return an authenticated connection to the last host of `route`.

    `on_open` gets an action that ends the attempt from another thread. The whole attempt takes at most `timeout_s`,
    apart from the name lookup, whose time the resolver bounds.

    Raises:
        ConnectError: it could not be made.
    """
    deadline_s = time.monotonic() + timeout_s
    base, process = _reach(route[0], deadline_s, on_open)
    connection = Connection(base, process)
    try:
        below: socket.socket | paramiko.Channel = base
        for index, hop in enumerate(route):
            channel = _PatientSocket(below, send_timeout_s=request_timeout_s)
            transport = _start(channel, hop, connection, deadline_s)
            _verify_host_key(transport, hop)
            is_target = index == len(route) - 1
            identities = Identities(
                password=credentials.password if is_target else None,
                passphrase=credentials.passphrase,
                use_agent=credentials.use_agent,
            )
            failure = log_in(transport, hop, identities, timeout_s=_remaining_s(deadline_s))
            if failure is not None:
                # The handler closes what was opened.
                raise ConnectError(failure.reason, retryable=failure.retryable)  # noqa: TRY301
            channel.trust()
            if not is_target:
                below = _tunnel(transport, route[index + 1], deadline_s)
        connection.transport.set_keepalive(max(round(keepalive_interval_s), 1))
    except BaseException:
        connection.close()
        raise
    return connection


def _remaining_s(deadline_s: float) -> float:
    return max(deadline_s - time.monotonic(), 0.01)


def _reach(
    hop: Hop, deadline_s: float, on_open: Callable[[Callable[[], None]], None]
) -> tuple[socket.socket, subprocess.Popen[bytes] | None]:
    """Open the byte stream to the first host."""
    if hop.proxy_command is not None:
        return _run_proxy(hop.proxy_command, on_open)
    failure: OSError | None = None
    try:
        found = socket.getaddrinfo(hop.host, hop.port, type=socket.SOCK_STREAM)
    except OSError as error:
        raise ConnectError(f"cannot find the host {hop.host}: {error.strerror}", retryable=True) from error
    for family, kind, protocol, _, address in found:
        base = socket.socket(family, kind, protocol)
        try:
            on_open(_shutter(base))
            base.settimeout(_remaining_s(deadline_s))
            base.connect(address)
            base.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        except OSError as error:
            base.close()
            failure = error
        except BaseException:
            base.close()
            raise
        else:
            return base, None
    what = "no answer in time" if isinstance(failure, TimeoutError) else (failure and failure.strerror) or "no address"
    raise ConnectError(f"cannot connect to {hop.host} port {hop.port}: {what}", retryable=True) from failure


def _shutter(base: socket.socket) -> Callable[[], None]:
    def shut() -> None:
        with suppress(OSError):
            base.shutdown(socket.SHUT_RDWR)

    return shut


def _run_proxy(
    command: str, on_open: Callable[[Callable[[], None]], None]
) -> tuple[socket.socket, subprocess.Popen[bytes]]:
    """Start `ProxyCommand` with a socket pair as its input and output, as ssh(1) does."""
    ours, theirs = socket.socketpair()
    try:
        on_open(_shutter(ours))
        process = subprocess.Popen(  # noqa: S603 - the user's own configuration names this command
            ["/bin/sh", "-c", f"exec {command}"],
            stdin=theirs.fileno(),
            stdout=theirs.fileno(),
            stderr=subprocess.DEVNULL,
        )
    except BaseException as error:
        ours.close()
        if isinstance(error, OSError):
            name = shlex.split(command)[0]
            raise ConnectError(f"the ProxyCommand {name} cannot be run: {error.strerror}") from error
        raise
    finally:
        theirs.close()
    return ours, process


def _start(channel: _PatientSocket, hop: Hop, connection: Connection, deadline_s: float) -> paramiko.Transport:
    """Exchange keys with a host."""
    where = f"{hop.host} port {hop.port}"
    try:
        transport = paramiko.Transport(cast("socket.socket", channel), default_window_size=_TRANSPORT_WINDOW_BYTES)
        connection.transports.append(transport)
        remaining_s = _remaining_s(deadline_s)
        transport.banner_timeout = transport.auth_timeout = transport.handshake_timeout = remaining_s
        _prefer_algorithms(transport, hop)
        transport.start_client(timeout=remaining_s)
    except Exception as error:  # whatever ended paramiko's thread comes out here, such as a packet that it cannot parse
        said = shown_text((isinstance(error, OSError) and error.strerror) or str(error) or type(error).__name__)
        reason = f"{where} does not answer as an SSH server: {said}"
        raise ConnectError(reason, retryable=True) from error
    if not transport.initial_kex_done:
        raise ConnectError(f"{where} did not finish the SSH handshake in time", retryable=True)
    return transport


def _prefer_algorithms(transport: paramiko.Transport, hop: Hop) -> None:
    """Ask for fast ciphers, and for a host key of a type that is known."""
    security = transport.get_security_options()
    security.ciphers = (*_CIPHERS_PREFERRED, *(name for name in security.ciphers if name not in _CIPHERS_PREFERRED))
    offered = tuple(security.key_types)
    known: list[str] = []
    for key_type in known_key_types(hop.known_hosts, host_label(hop.label_host, hop.port)):
        known.extend(_RSA_SIGNATURES if key_type == "ssh-rsa" else (key_type,))
    first = [name for name in known if name in offered]
    security.key_types = (*first, *(name for name in offered if name not in first))


def _verify_host_key(transport: paramiko.Transport, hop: Hop) -> None:
    """Refuse a host whose key known_hosts does not vouch for."""
    try:
        key = transport.get_remote_server_key()
    except paramiko.SSHException as error:
        reason = f"the connection to {hop.host} port {hop.port} ended right after the key exchange"
        raise ConnectError(reason, retryable=True) from error
    label = host_label(hop.label_host, hop.port)
    verdict = judge(hop.known_hosts, label, key.asbytes())
    if verdict is Verdict.UNKNOWN and label != hop.label_host:
        # ssh(1) accepts a key that is known for the host without its port, and holds no other one against it.
        is_known = judge(hop.known_hosts, hop.label_host, key.asbytes()) is Verdict.TRUSTED
        verdict = Verdict.TRUSTED if is_known else Verdict.UNKNOWN
    if verdict is Verdict.TRUSTED:
        return
    shown = f"{key.get_name()} {key.fingerprint}"
    # The very key that was shown, under the name that it is looked up by: another scan could meet another host.
    line = f"{label} {key.get_name()} {key.get_base64()}"
    raise ConnectError(_host_key_refusal(verdict, hop, label, shown=shown, line=line))


def _host_key_refusal(verdict: Verdict, hop: Hop, label: str, *, shown: str, line: str) -> str:
    file = shlex.quote(str(hop.known_hosts_file))
    trust = f"echo {shlex.quote(line)} >> {file}"
    if not hop.known_hosts_file.parent.exists():
        trust = f"mkdir -p -m 700 {shlex.quote(str(hop.known_hosts_file.parent))} && {trust}"
    match verdict:
        case Verdict.REVOKED:
            return f"the host key of {label} ({shown}) is revoked in known_hosts; the connection was refused"
        case Verdict.CHANGED:
            return (
                f"the host key of {label} has CHANGED and is now {shown}; someone may be in between. If its "
                f"administrator confirms this fingerprint: ssh-keygen -f {file} -R {shlex.quote(label)} && {trust}"
            )
        case _:
            return (
                f"the host key of {label} ({shown}) is not known; check the fingerprint with its administrator, "
                f"then trust it: {trust}"
            )


def _tunnel(transport: paramiko.Transport, target: Hop, deadline_s: float) -> paramiko.Channel:
    try:
        address = (target.host, target.port)
        return transport.open_channel("direct-tcpip", address, ("127.0.0.1", 0), timeout=_remaining_s(deadline_s))
    except Exception as error:  # as in `_start`
        reason = f"the jump host cannot connect to {target.host} port {target.port}: {shown_text(str(error))}"
        raise ConnectError(reason, retryable=True) from error
