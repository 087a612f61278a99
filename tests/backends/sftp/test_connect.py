"""Reaching a host, trusting it, being let in; and nothing left open when that fails."""

import os
import shlex
import shutil
import socket
import subprocess
import threading
import time
from collections.abc import Callable, Generator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, cast

import anyio
import paramiko
import pytest
from cryptography.exceptions import InvalidTag

from backends.sftp import SftpBackend, _connection, open_sftp
from backends.sftp._client import SftpClient
from backends.sftp._identities import LoginFailure
from fs_core.errors import FsError, InvalidPath, NotDirectory, NotFound, Unavailable
from tests.support.sftp_faults import SOON_S
from tests.support.sftp_servers import SftpServer, real_server
from tests.support.tcp_proxy import tcp_proxy
from tests.support.waiting import wait_until

pytestmark = pytest.mark.anyio

_BANNER_TIMEOUT_S = 15.0
"""So long paramiko waits for a server's first line unless it is told otherwise."""


def _sockets() -> int:
    return sum(link.is_socket() for link in Path("/proc/self/fd").iterdir())


def _run(*command: "str | Path") -> str:
    """Run a program, which must succeed, and return what it prints."""
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout


def _new_key(file: Path) -> None:
    _run("ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", file)


def _paramiko_threads() -> list[threading.Thread]:
    return [
        thread
        for thread in threading.enumerate()
        if type(thread).__module__.startswith("paramiko") or isinstance(thread, threading.Timer)
    ]


@contextmanager
def _nothing_leaks() -> Generator[None]:
    """The client's sockets and threads are the same after a while; a server in this process may lag behind."""
    before = _sockets()
    yield
    try:
        wait_until(lambda: not _paramiko_threads() and _sockets() <= before)
    except TimeoutError:
        pytest.fail(f"left over: {_sockets() - before} sockets and {_paramiko_threads()}")


async def _open(server: SftpServer, directory: Path | None = None, **overrides: Any) -> SftpBackend:
    return await open_sftp(server.url(directory), server.options(**overrides))


async def _refused(server: SftpServer, **overrides: Any) -> Unavailable:
    with pytest.raises(Unavailable) as refused:
        await _open(server, **overrides)
    assert "\n" not in str(refused.value)
    assert refused.value.operation == "open"
    return refused.value


async def test_an_opened_root_is_named_and_closing_leaves_nothing(sftp_server: SftpServer) -> None:
    directory = sftp_server.fresh_directory()
    with _nothing_leaks():
        backend = await _open(sftp_server, directory)
        assert backend.root.url == sftp_server.url(directory)
        assert str(directory) in backend.root.prefixes
        assert f"sftp://{sftp_server.host}{directory}" in backend.root.prefixes
        assert f"sftp://{sftp_server.user}@{sftp_server.host}:{sftp_server.port}{directory}" in backend.root.prefixes
        assert "posix-rename@openssh.com" in backend.extensions
        assert list(backend.extensions) == sorted(backend.extensions)
        await backend.aclose()
        await backend.aclose()


async def test_a_root_behind_a_link_is_known_by_both_names(sftp_server: SftpServer) -> None:
    directory = sftp_server.fresh_directory()
    (directory / "real dir").mkdir()
    (directory / "link").symlink_to("real dir")
    backend = await _open(sftp_server, directory / "link")
    await backend.aclose()
    assert {str(directory / "link"), str(directory / "real dir")} <= set(backend.root.prefixes)


async def test_a_missing_root_is_not_found(sftp_server: SftpServer) -> None:
    with _nothing_leaks(), pytest.raises(NotFound):
        await _open(sftp_server, sftp_server.fresh_directory() / "missing" / "deep")


async def test_a_root_that_is_a_file_is_no_directory(sftp_server: SftpServer) -> None:
    file = sftp_server.fresh_directory() / "file"
    file.touch()
    with _nothing_leaks(), pytest.raises(NotDirectory):
        await _open(sftp_server, file)


async def test_a_password_in_the_url_is_refused_without_being_repeated(sftp_server: SftpServer) -> None:
    url = sftp_server.url().replace("@", ":s3cr3t@")
    with pytest.raises(InvalidPath) as refused:
        await open_sftp(url, sftp_server.options())
    assert "s3cr3t" not in str(refused.value)


async def test_an_unknown_host_key_is_refused_with_fingerprint_and_command(
    sftp_server: SftpServer, tmp_path: Path
) -> None:
    known_hosts = tmp_path / "not there yet" / "known hosts"
    with _nothing_leaks():
        error = await _refused(sftp_server, known_hosts_file=known_hosts)
    assert _run("ssh-keygen", "-lf", sftp_server.known_hosts_file).split()[1] in error.reason
    assert f"[127.0.0.1]:{sftp_server.port}" in error.reason
    command = error.reason.partition("trust it: ")[2]
    assert command.endswith(f">> {shlex.quote(str(known_hosts))}")
    assert command.startswith("mkdir -p -m 700 ")
    assert not error.retryable
    _run("/bin/sh", "-c", command)
    backend = await _open(sftp_server, known_hosts_file=known_hosts)
    await backend.aclose()


async def test_a_changed_host_key_is_refused_with_the_way_out(sftp_server: SftpServer, tmp_path: Path) -> None:
    _new_key(tmp_path / "other")
    known_hosts = tmp_path / "known_hosts"
    label = f"[127.0.0.1]:{sftp_server.port}"
    known_hosts.write_text(f"{label} {(tmp_path / 'other.pub').read_text()}")
    with _nothing_leaks():
        error = await _refused(sftp_server, known_hosts_file=known_hosts)
    assert "CHANGED" in error.reason
    assert f"-R '{label}'" in error.reason
    _run("/bin/sh", "-c", error.reason.partition("fingerprint: ")[2])
    backend = await _open(sftp_server, known_hosts_file=known_hosts)
    await backend.aclose()


async def test_no_configuration_makes_an_unknown_host_trusted(sftp_server: SftpServer, tmp_path: Path) -> None:
    config = tmp_path / "config"
    config.write_text("Host *\n StrictHostKeyChecking no\n UserKnownHostsFile /dev/null\n")
    error = await _refused(sftp_server, config_file=config, known_hosts_file=None)
    assert "not known" in error.reason


async def test_a_key_that_is_not_let_in_is_named(sftp_server: SftpServer, tmp_path: Path) -> None:
    _new_key(tmp_path / "wrong")
    with _nothing_leaks():
        error = await _refused(sftp_server, identity_file=tmp_path / "wrong")
    assert f"refused the login of {sftp_server.user} (wrong)" in error.reason


async def test_an_encrypted_key_needs_its_passphrase(sftp_server: SftpServer, tmp_path: Path) -> None:
    key = tmp_path / "locked"
    shutil.copy(sftp_server.identity_file, key)
    key.chmod(0o600)
    _run("ssh-keygen", "-q", "-p", "-P", "", "-N", "open sesame", "-f", key)
    error = await _refused(sftp_server, identity_file=key)
    assert "needs a passphrase" in error.reason
    wrong = await _refused(sftp_server, identity_file=key, passphrase="wr0ng")
    assert "wr0ng" not in str(wrong)
    backend = await _open(sftp_server, identity_file=key, passphrase="open sesame")
    await backend.aclose()


async def test_a_missing_key_file_is_named(sftp_server: SftpServer, tmp_path: Path) -> None:
    error = await _refused(sftp_server, identity_file=tmp_path / "nowhere")
    assert f"{tmp_path}/nowhere does not exist" in error.reason


@contextmanager
def _agent(*keys: Path) -> Generator[None]:
    with pytest.MonkeyPatch.context() as patch:
        started = subprocess.run(["ssh-agent", "-s"], capture_output=True, text=True, check=True).stdout
        values = dict(part.split("=", 1) for part in started.replace("\n", ";").split(";") if "=" in part)
        patch.setenv("SSH_AUTH_SOCK", values["SSH_AUTH_SOCK"])
        try:
            subprocess.run(["ssh-add", "-q", *keys], check=True, stderr=subprocess.DEVNULL)
            yield
        finally:
            os.kill(int(values["SSH_AGENT_PID"]), 15)


async def test_a_configured_key_is_tried_before_a_full_agent(
    sshd_server: SftpServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """OpenSSH ends the login after six tries (MaxAuthTries)."""
    others = [tmp_path / f"k{number}" for number in range(8)]
    for key in others:
        _new_key(key)
    with _agent(*others):
        backend = await _open(sshd_server, use_agent=True)
        await backend.aclose()
        monkeypatch.setenv("HOME", str(tmp_path))
        error = await _refused(sshd_server, use_agent=True, identity_file=None)
    assert "IdentitiesOnly" in error.reason
    with _agent(sshd_server.identity_file):
        backend = await _open(sshd_server, use_agent=True, identity_file=None)
        await backend.aclose()


async def test_an_unreachable_port_is_one_line(sftp_server: SftpServer) -> None:
    with socket.socket() as unused, _nothing_leaks():
        unused.bind(("127.0.0.1", 0))  # and nobody listens there
        port = unused.getsockname()[1]
        with pytest.raises(Unavailable, match=f"cannot connect to 127.0.0.1 port {port}") as refused:
            await open_sftp(f"sftp://127.0.0.1:{port}/", sftp_server.options())
    assert refused.value.retryable


async def test_a_host_that_has_no_address_is_one_line(sftp_server: SftpServer) -> None:
    with pytest.raises(Unavailable, match=r"cannot find the host no-such-host\.invalid"):
        await open_sftp("sftp://no-such-host.invalid/", sftp_server.options())


async def test_a_silent_host_ends_within_the_connect_timeout(sftp_server: SftpServer) -> None:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        started_s = time.monotonic()
        url = f"sftp://127.0.0.1:{listener.getsockname()[1]}/"
        with pytest.raises(Unavailable):
            await open_sftp(url, sftp_server.options(connect_timeout_s=0.5))
        assert time.monotonic() - started_s < _BANNER_TIMEOUT_S


async def test_opening_can_be_given_up_while_the_host_is_silent(sftp_server: SftpServer) -> None:
    with _nothing_leaks(), socket.create_server(("127.0.0.1", 0)) as listener:
        started_s = time.monotonic()
        with anyio.move_on_after(0.2) as scope:
            await open_sftp(f"sftp://127.0.0.1:{listener.getsockname()[1]}/", sftp_server.options())
        assert scope.cancelled_caught
        assert time.monotonic() - started_s < SOON_S


@contextmanager
def _before(monkeypatch: pytest.MonkeyPatch, owner: type, name: str, happens: Callable[[], None]) -> Generator[None]:
    """Have something happen to the connection just before a step of paramiko."""
    step = getattr(owner, name)

    def wrapped(*arguments: Any, **named: Any) -> Any:
        happens()
        return step(*arguments, **named)

    with monkeypatch.context() as patch:
        patch.setattr(owner, name, wrapped)
        yield


def _damaged() -> None:
    """Do what paramiko does after its thread has met a packet with a wrong checksum: raise that where one waits."""
    raise InvalidTag


@contextmanager
def _brief_start_of_sftp(monkeypatch: pytest.MonkeyPatch, *, timeout_s: float) -> Generator[list[float]]:
    """Have the client wait no longer for SFTP to start, whatever the rest may take; give what it had waited."""
    start = SftpClient._start_subsystem  # pyright: ignore[reportPrivateUsage] - one step of many within one time limit
    limits_s: list[float] = []

    def brief(client: SftpClient, channel: paramiko.Channel) -> None:
        limits_s.append(client.request_timeout_s)
        client.request_timeout_s = timeout_s
        start(client, channel)

    with monkeypatch.context() as patch:
        patch.setattr(SftpClient, "_start_subsystem", brief)
        yield limits_s


async def test_a_server_that_falls_silent_when_sftp_is_to_start_ends_in_time(
    sftp_server: SftpServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    with _nothing_leaks(), tcp_proxy(sftp_server.port) as proxy:
        url, options = sftp_server.harness().through(proxy.port, connect_timeout_s=29.0)
        with (
            _before(monkeypatch, paramiko.Channel, "invoke_subsystem", proxy.freeze),
            _brief_start_of_sftp(monkeypatch, timeout_s=0.5) as limits_s,
        ):
            started_s = time.monotonic()
            with pytest.raises(Unavailable, match=r"did not answer within 0\.5 s") as refused:
                await open_sftp(url, options)
            assert time.monotonic() - started_s < SOON_S
        assert refused.value.retryable
    assert limits_s == [29.0]


async def test_a_start_of_sftp_that_is_given_up_before_it_is_waited_for_ends_too(
    sftp_server: SftpServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What wakes paramiko before it begins to wait is forgotten."""
    begin: Callable[[paramiko.Channel], None] = cast("Any", paramiko.Channel)._event_pending

    def too_late(channel: paramiko.Channel) -> None:
        wait_until(lambda: not channel.get_transport().is_active())
        begin(channel)

    monkeypatch.setattr(paramiko.Channel, "_event_pending", too_late)
    with (
        _nothing_leaks(),
        _brief_start_of_sftp(monkeypatch, timeout_s=0.1),
        pytest.raises(Unavailable, match=r"did not answer within 0\.1 s"),
        anyio.fail_after(SOON_S),
    ):
        await open_sftp(sftp_server.url(), sftp_server.options())


async def test_a_connection_that_ends_during_the_login_is_no_refused_key(
    sftp_server: SftpServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    with _nothing_leaks(), tcp_proxy(sftp_server.port) as proxy:
        url, options = sftp_server.harness().through(proxy.port)
        with (
            _before(monkeypatch, paramiko.Transport, "auth_publickey", proxy.cut),
            pytest.raises(Unavailable, match="ended during the login") as refused,
        ):
            await open_sftp(url, options)
        assert refused.value.retryable


async def test_a_server_that_falls_silent_during_the_login_ends_in_time(
    sftp_server: SftpServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    log_in = _connection.log_in
    limits_s: list[float] = []

    def brief(*arguments: Any, timeout_s: float) -> LoginFailure | None:
        limits_s.append(timeout_s)
        return log_in(*arguments, timeout_s=0.5)

    monkeypatch.setattr(_connection, "log_in", brief)
    with _nothing_leaks(), tcp_proxy(sftp_server.port) as proxy:
        url, options = sftp_server.harness().through(proxy.port, connect_timeout_s=29.0)
        started_s = time.monotonic()
        with (
            _before(monkeypatch, paramiko.Transport, "auth_publickey", proxy.freeze),
            pytest.raises(Unavailable, match=r"did not finish the login of .* in time") as refused,
        ):
            await open_sftp(url, options)
        assert time.monotonic() - started_s < SOON_S
        assert refused.value.retryable
    assert len(limits_s) == 1
    assert limits_s[0] < 29.0, "what came before the login takes of its time"


@pytest.mark.parametrize("step", ["start_client", "auth_publickey", "open_session"])
async def test_damaged_packets_while_connecting_are_a_passing_fault(
    sftp_server: SftpServer, monkeypatch: pytest.MonkeyPatch, step: str
) -> None:
    with _before(monkeypatch, paramiko.Transport, step, _damaged), _nothing_leaks():
        assert (await _refused(sftp_server)).retryable


async def test_a_connection_that_ends_right_after_the_key_exchange_is_a_passing_fault(
    sftp_server: SftpServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    def close(transport: paramiko.Transport) -> paramiko.PKey:
        transport.close()
        return step(transport)

    step = paramiko.Transport.get_remote_server_key
    monkeypatch.setattr(paramiko.Transport, "get_remote_server_key", close)
    with _nothing_leaks():
        assert (await _refused(sftp_server)).retryable


async def test_a_server_that_prints_text_first_is_explained(tmp_path: Path) -> None:
    noisy = "/bin/sh -c 'echo Welcome to this very talkative server, enjoy your stay; exec cat'"
    script = tmp_path / "noisy"
    script.write_text(f"#!/bin/sh\n{noisy}\n")
    script.chmod(0o755)
    with real_server(tmp_path, subsystem=str(script)) as server:
        error = await _refused(server)
    assert "prints text at login" in error.reason


async def test_a_proxy_command_carries_the_connection(sftp_server: SftpServer, tmp_path: Path) -> None:
    relay = tmp_path / "relay.py"
    relay.write_text(
        "import os, selectors, socket, sys\n"
        "s = socket.create_connection(('127.0.0.1', int(sys.argv[1])))\n"
        "poll = selectors.DefaultSelector()\n"
        "poll.register(0, 1, lambda: (os.read(0, 65536), s.sendall))\n"
        "poll.register(s, 1, lambda: (s.recv(65536), lambda d: os.write(1, d)))\n"
        "while True:\n"
        "    for key, _ in poll.select():\n"
        "        data, put = key.data()\n"
        "        if not data:\n"
        "            sys.exit()\n"
        "        put(data)\n"
    )
    config = tmp_path / "config"
    config.write_text(f"Host *\n ProxyCommand {shutil.which('python3')} {relay} %p\n")
    with _nothing_leaks():
        backend = await _open(sftp_server, config_file=config)
        await backend.aclose()
    config.write_text("Host *\n ProxyCommand /nonexistent/program\n")
    with _nothing_leaks():
        await _refused(sftp_server, config_file=config)


async def test_a_jump_host_carries_the_connection(sshd_server: SftpServer, tmp_path: Path) -> None:
    config, known_hosts = tmp_path / "config", tmp_path / "known_hosts"
    key_line = sshd_server.known_hosts_file.read_text().partition(" ")[2]
    with tcp_proxy(sshd_server.port) as proxy, _nothing_leaks():
        config.write_text(
            f"Host inner\n HostName 127.0.0.1\n Port {sshd_server.port}\n ProxyJump jump\n HostKeyAlias inner\n"
            f"Host jump\n HostName 127.0.0.1\n Port {proxy.port}\n HostKeyAlias jump\n"
            f"Host *\n User {sshd_server.user}\n IdentityFile {sshd_server.identity_file}\n"
        )
        known_hosts.write_text(f"[jump]:{proxy.port} {key_line}[inner]:{sshd_server.port} {key_line}")
        options = sshd_server.options(config_file=config, known_hosts_file=known_hosts)
        backend = await open_sftp(f"sftp://inner{sshd_server.directory}", options)
        await backend.aclose()
        assert proxy.accepted == 1
        known_hosts.write_text(f"[inner]:{sshd_server.port} {key_line}")
        with pytest.raises(Unavailable, match=r"\[jump\]:.* is not known"):
            await open_sftp(f"sftp://inner{sshd_server.directory}", options)


async def test_repeated_failures_leave_no_sockets(sftp_server: SftpServer, tmp_path: Path) -> None:
    with _nothing_leaks():
        for _ in range(5):
            with pytest.raises(FsError):
                await _open(sftp_server, known_hosts_file=tmp_path / "none")
            with pytest.raises(FsError):
                await _open(sftp_server, identity_file=tmp_path / "none")
