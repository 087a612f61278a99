"""`seamfs serve`: an MCP server on standard input and output, or over HTTP."""

import logging
import os
import socket
import sys
from collections.abc import Generator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, Final, cast

import anyio
import uvicorn
from mcp.server.stdio import stdio_server
from pydantic import SecretStr

from seamfs.config import BadSettingError, PolicyName, Settings, load_settings
from seamfs.http_guard import BearerGuard, choose_token, parse_address, transport_security
from seamfs.input_lines import InputLines
from seamfs.logs import configure_logging
from seamfs.mcp_server import build_server
from seamfs.signals import run_until_signal
from seamfs.workspace import Workspace, open_workspace

__all__ = ["PATH", "ServeOptions", "serve", "serve_http", "serve_stdio"]

logger = logging.getLogger(__name__)

PATH: Final = "/mcp"
SHUTDOWN_TIMEOUT_S: Final = 3
BACKLOG: Final = 128


@dataclass(frozen=True, slots=True, kw_only=True)
class ServeOptions:
    """What the command line says about a server; `None` leaves the matter to the settings."""

    root: str
    config_file: Path | None = None
    http: str | None = None
    token_variable: str | None = None
    allowed_hosts: tuple[str, ...] = ()
    read_only: bool = False
    structured: bool = False
    policy: PolicyName | None = None
    debug: bool = False


class _Server(uvicorn.Server):
    @contextmanager
    def capture_signals(self) -> Generator[None]:
        """Leave signals to `run_until_signal`: the one of the library ends the process before the store is closed."""
        yield


def serve(options: ServeOptions) -> int:
    """Run a server until its client leaves (stdio) or the process is told to stop, and return the exit status.

    Raises:
        BadSettingError: A setting or the address is wrong, or a server that others can reach would have no token.
        FsError: The store cannot be opened.
    """
    settings = load_settings(
        flags=_flags(options),
        config_file=options.config_file,
        ignored_variables=() if options.token_variable is None else (options.token_variable,),
    )
    configure_logging(verbose=options.debug)
    if options.http is None:
        return anyio.run(_stdio, options, settings)
    host, port = parse_address(options.http)
    token = choose_token(settings.http, host=host, variable=options.token_variable)
    with _bind(host, port) as listener:
        return anyio.run(_http, options, settings, listener, host, token)


async def _stdio(options: ServeOptions, settings: Settings) -> int:
    async with open_workspace(options.root, settings=settings, read_only=options.read_only) as workspace:
        return await run_until_signal(partial(serve_stdio, workspace, structured=options.structured))


async def _http(
    options: ServeOptions, settings: Settings, listener: socket.socket, host: str, token: SecretStr | None
) -> int:
    async with open_workspace(options.root, settings=settings, read_only=options.read_only) as workspace:
        return await serve_http(workspace, listener, host=host, token=token, structured=options.structured)


def _flags(options: ServeOptions) -> dict[str, Any]:
    flags: dict[str, Any] = {}
    if options.policy is not None:
        flags["policy"] = options.policy
    if options.allowed_hosts:
        flags["http"] = {"allowed_hosts": options.allowed_hosts}
    return flags


async def serve_stdio(workspace: Workspace, *, structured: bool) -> None:
    """Serve one client until it closes our standard input."""
    server = build_server(workspace, structured=structured)
    logger.info("serving", extra={"fields": {"root": workspace.root.url, "transport": "stdio"}})
    lines = cast("anyio.AsyncFile[str]", InputLines(sys.stdin.fileno()))
    async with stdio_server(stdin=lines) as (requests, answers):
        await server.run(requests, answers, server.create_initialization_options())


async def serve_http(
    workspace: Workspace, listener: socket.socket, *, host: str, token: SecretStr | None, structured: bool
) -> int:
    """Serve any number of clients on a bound socket until a signal, and return the exit status."""
    settings = workspace.settings.http
    app = build_server(workspace, structured=structured).streamable_http_app(
        streamable_http_path=PATH,
        max_request_body_size=settings.request_size_bytes_max,
        session_idle_timeout=settings.session_idle_timeout_s,
        max_sessions=settings.sessions_max,
        transport_security=transport_security(settings, host=host),
        host=host,
    )
    config = uvicorn.Config(
        app if token is None else BearerGuard(app, token=token),
        log_config=None,
        access_log=False,
        lifespan="on",
        limit_concurrency=settings.connections_max,
        timeout_graceful_shutdown=SHUTDOWN_TIMEOUT_S,
    )
    shown = f"[{host}]" if ":" in host else host
    url = f"http://{shown}:{listener.getsockname()[1]}{PATH}"
    fields = {"root": workspace.root.url, "transport": "http", "url": url, "token": token is not None}
    # The socket listens already: a client that reads this line can connect at once.
    logger.info("serving", extra={"fields": fields})
    server = _Server(config)

    def stop() -> None:
        server.should_exit = True

    return await run_until_signal(partial(server.serve, sockets=[listener]), stop=stop)


def _bind(host: str, port: int) -> socket.socket:
    """Return a listening socket.

    Raises:
        BadSettingError: The address is unknown, taken or not ours.
    """
    try:
        family = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0][0]
        return socket.create_server((host, port), family=family, backlog=BACKLOG)
    except OSError as error:
        # The library adds the address to the text of some errors; the number tells the plain reason.
        number = None if isinstance(error, socket.gaierror) else error.errno
        reason = error.strerror if number is None else os.strerror(number)
        raise BadSettingError(f"--http: cannot listen on {host}:{port}: {reason}") from None
