"""Commands of `seamfs` as real processes, each a fork of one that has loaded everything.

The pages hold some fifty commands, and to load the libraries of a server takes a second and a half each time.
"""

import gc
import json
import os
import signal
import socket
import subprocess
import sys
from collections.abc import Generator
from contextlib import contextmanager
from importlib import import_module
from pathlib import Path
from typing import Any, Final

__all__ = ["CLIENT", "VARIABLE", "forking"]

PROJECT: Final = Path(__file__).parents[2]
VARIABLE: Final = "DOCS_FORKS"
"""Names the socket of the process that forks."""

_LOADED: Final = (
    *("mcp", "uvicorn", "rich", "s3fs", "paramiko", "botocore.session", "pydantic_settings", "sqlite3"),
    *("seamfs.serve", "seamfs.one_shot", "seamfs.doctor", "seamfs.doctor_s3", "seamfs.doctor_sftp", "seamfs.tools"),
    *(
        "seamfs.disclosed",
        "seamfs.programs",
        "seamfs.state",
        "seamfs.search",
        "fs_core.search.engine",
        "backends.s3",
        "backends.sftp",
        "backends.local",
    ),
)
_DESCRIPTORS: Final = (0, 1, 2)
_REQUEST_BYTES_MAX: Final = 1 << 16

CLIENT: Final = f"""\
#!{sys.executable} -IS
import json, os, signal, socket, sys

# A signal that comes before it is known whom to tell waits until then.
signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGTERM])
with socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET) as server:
    server.connect(os.environ["{VARIABLE}"])
    request = {{"arguments": sys.argv[1:], "directory": os.getcwd(), "environment": dict(os.environ)}}
    socket.send_fds(server, [json.dumps(request).encode()], [0, 1, 2])
    process = int(server.recv(32))
    signal.signal(signal.SIGTERM, lambda *_: os.kill(process, signal.SIGTERM))
    signal.pthread_sigmask(signal.SIG_UNBLOCK, [signal.SIGTERM])
    sys.exit(int(server.recv(32) or 1))
"""
"""A program that has its arguments run there, with its own files, directory and environment."""


@contextmanager
def forking(directory: Path) -> Generator[str]:
    """Run the process that forks until the block ends; yields the address of its socket."""
    address = str(directory / "forks")
    with socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET) as listener:
        listener.bind(address)
        listener.listen(16)
        process = subprocess.Popen(
            [sys.executable, "-m", "tests.docs.forks", str(listener.fileno())],
            cwd=PROJECT,
            pass_fds=[listener.fileno()],
        )
    try:
        yield address
    finally:
        process.kill()
        process.wait()


def _serve(listener: socket.socket) -> None:
    for name in _LOADED:
        import_module(name)
    for kind in ("service-2", "endpoint-rule-set-1"):
        import_module("backends.s3._session")._LOADER.load_service_model("s3", kind)
    # No fork looks for garbage in what all of them have, as a server does once at its start.
    gc.collect()
    gc.freeze()
    # Nobody waits for the forks; each tells its client how it ended.
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)
    while True:
        connection, _ = listener.accept()
        with connection:
            if os.fork() == 0:
                listener.close()
                signal.signal(signal.SIGCHLD, signal.SIG_DFL)
                status = _run(connection)
                connection.send(str(status).encode())
                os._exit(status)


def _run(connection: socket.socket) -> int:
    """Do what a client asks for, as the process that it would have been."""
    from seamfs.cli import main

    data, descriptors, _, _ = socket.recv_fds(connection, _REQUEST_BYTES_MAX, len(_DESCRIPTORS))
    request: dict[str, Any] = json.loads(data)
    for theirs, ours in zip(descriptors, _DESCRIPTORS, strict=True):
        os.dup2(theirs, ours)
        os.close(theirs)
    os.chdir(request["directory"])
    os.environ.clear()
    os.environ.update(request["environment"])
    connection.send(str(os.getpid()).encode())
    try:
        status = main(request["arguments"])
    except SystemExit as told:
        # Wrong usage, or a question for the version: told by the parser.
        status = told.code if isinstance(told.code, int) else 1
    sys.stdout.flush()
    sys.stderr.flush()
    return status


if __name__ == "__main__":
    _serve(socket.socket(fileno=int(sys.argv[1])))
