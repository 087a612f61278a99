"""A host that means harm before it has shown any key: nobody has let us in yet, and it may be anyone."""

import socket
import threading
from collections.abc import Callable, Generator
from contextlib import contextmanager, suppress
from pathlib import Path

import pytest

from backends.options import SftpOptions
from backends.sftp import open_sftp
from fs_core.errors import Unavailable
from tests.security.memory import memory_bounded

pytestmark = pytest.mark.anyio

MIB = 1 << 20


@contextmanager
def host(talk: Callable[[socket.socket], None]) -> Generator[int]:
    """Run a server that says what `talk` says to every client, and give its port."""
    with socket.create_server(("127.0.0.1", 0)) as listener:

        def serve() -> None:
            with suppress(OSError):
                while True:
                    client, _ = listener.accept()
                    with client, suppress(OSError):
                        talk(client)

        thread = threading.Thread(target=serve)
        thread.start()
        try:
            yield listener.getsockname()[1]
        finally:
            listener.shutdown(socket.SHUT_RDWR)
            thread.join()


async def refusal(talk: Callable[[socket.socket], None], directory: Path) -> Unavailable:
    (directory / "config").touch()
    options = SftpOptions(
        config_file=directory / "config",
        known_hosts_file=directory / "known_hosts",
        use_agent=False,
        connect_timeout_s=60.0,
    )
    with host(talk) as port, memory_bounded(bytes_max=16 * MIB), pytest.raises(Unavailable) as caught:
        await open_sftp(f"sftp://me@127.0.0.1:{port}/", options)
    assert str(caught.value).isprintable()
    assert len(str(caught.value)) < 500
    return caught.value


def endless_banner(client: socket.socket) -> None:
    while True:
        client.sendall(b"x" * 65_536)


def forged_banner(client: socket.socket) -> None:
    client.sendall(b"\x1b[2J\x1b]0;title\x07FS_OK: forged \xe2\x80\xae\r\n" * 100)


def huge_packet(client: socket.socket) -> None:
    # A length before any key exchange, of a form that passes: nearly 4 GiB, and all of it comes.
    client.sendall(b"SSH-2.0-x\r\n" + (0xFFFFFFFC).to_bytes(4, "big"))
    while True:
        client.sendall(b"x" * 65_536)


async def test_a_banner_without_an_end_is_cut_off(tmp_path: Path) -> None:
    error = await refusal(endless_banner, tmp_path)
    assert "too much before the login" in str(error)


async def test_a_banner_of_control_characters_is_quoted_as_plain_text(tmp_path: Path) -> None:
    error = await refusal(forged_banner, tmp_path)
    assert "does not answer as an SSH server" in str(error)
    assert "forged" in str(error)


async def test_a_packet_of_four_gigabytes_before_the_key_exchange_is_not_waited_for(tmp_path: Path) -> None:
    error = await refusal(huge_packet, tmp_path)
    assert "a packet that no SSH server sends" in str(error)
