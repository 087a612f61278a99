"""A TCP relay on loopback that can stop forwarding, or cut everything, at a test's word."""

import selectors
import socket
import threading
from collections.abc import Generator
from contextlib import contextmanager, suppress

__all__ = ["TcpProxy", "tcp_proxy"]


class TcpProxy:
    """Forwards to one port. After `freeze` bytes are taken no more in either direction; connections stay."""

    def __init__(self, port: int) -> None:
        self._target = port
        self._listener = socket.create_server(("127.0.0.1", 0))
        self._pairs: list[tuple[socket.socket, socket.socket]] = []
        self._frozen = threading.Event()
        self._stopped = threading.Event()
        self._lock = threading.Lock()
        self._threads = [threading.Thread(target=self._accept, daemon=True)]
        self.accepted = 0
        self._threads[0].start()

    @property
    def port(self) -> int:
        return int(self._listener.getsockname()[1])

    def freeze(self) -> None:
        """Stop forwarding; new connections are accepted and stay silent."""
        self._frozen.set()

    def thaw(self) -> None:
        """Forward again."""
        self._frozen.clear()

    def cut(self) -> None:
        """End all connections; new ones are forwarded."""
        with self._lock:
            pairs, self._pairs = self._pairs, []
        for pair in pairs:
            _close(*pair)

    def stop(self) -> None:
        self._stopped.set()
        self.cut()
        with suppress(OSError):
            self._listener.shutdown(socket.SHUT_RDWR)
        self._listener.close()
        for thread in self._threads:
            thread.join(5)

    def _accept(self) -> None:
        while not self._stopped.is_set():
            try:
                client, _ = self._listener.accept()
            except OSError:
                return
            self.accepted += 1
            try:
                server = socket.create_connection(("127.0.0.1", self._target))
            except OSError:
                _close(client)  # the server has gone meanwhile, and so does its client
                continue
            with self._lock:
                self._pairs.append((client, server))
            thread = threading.Thread(target=self._relay, args=(client, server), daemon=True)
            self._threads.append(thread)
            thread.start()

    def _relay(self, client: socket.socket, server: socket.socket) -> None:
        with selectors.DefaultSelector() as selector, suppress(OSError, ValueError):
            selector.register(client, selectors.EVENT_READ, server)
            selector.register(server, selectors.EVENT_READ, client)
            while not self._stopped.is_set():
                if self._frozen.is_set():
                    self._stopped.wait(0.01)
                    if client.fileno() < 0:
                        break
                    continue
                for key, _ in selector.select(0.02):
                    if self._frozen.is_set():
                        break
                    source = key.fileobj
                    assert isinstance(source, socket.socket)
                    data = source.recv(65536)
                    if not data:
                        return _close(client, server)
                    # What came with the last bytes before a freeze may have been sent after it.
                    while self._frozen.is_set() and not self._stopped.is_set() and source.fileno() >= 0:
                        self._stopped.wait(0.01)
                    key.data.sendall(data)
        return _close(client, server)


def _close(*sockets: socket.socket) -> None:
    for one in sockets:
        with suppress(OSError):
            one.shutdown(socket.SHUT_RDWR)
        one.close()


@contextmanager
def tcp_proxy(port: int) -> Generator[TcpProxy]:
    """Run a relay to a loopback port."""
    proxy = TcpProxy(port)
    try:
        yield proxy
    finally:
        proxy.stop()
