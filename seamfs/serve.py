"""`seamfs serve`: an MCP server on standard input and output, or over HTTP."""

import gc
import logging
import os
import socket
import sys
from collections.abc import Awaitable, Callable, Generator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any, Final, cast

import anyio
import uvicorn
from mcp.server.stdio import stdio_server
from pydantic import SecretStr

from progressive import Mode, Surface
from seamfs.config import (
    BadSettingError,
    PolicyName,
    Settings,
    load_settings,
    mounting_file,
    refuse_unused_state,
)
from seamfs.extras import require_extra
from seamfs.file_tools import change_files, file_tool_names
from seamfs.http_closing import ClosingApp
from seamfs.http_guard import BearerGuard, choose_token, parse_address, transport_security
from seamfs.input_lines import InputLines
from seamfs.logs import configure_logging, expect_shutdown
from seamfs.mcp_agents import NAME_HEADER
from seamfs.mcp_server import build_server
from seamfs.output_lines import OutputLines, claimed_output
from seamfs.session_claim import claimed
from seamfs.signals import run_until_signal
from seamfs.workspace import Workspace, open_workspace

__all__ = ["PATH", "ServeOptions", "serve", "serve_http", "serve_stdio"]

logger = logging.getLogger(__name__)

PATH: Final = "/mcp"
CALL_GRACE_S: Final = 3
SHUTDOWN_TIMEOUT_S: Final = CALL_GRACE_S + 5
"""On a busy machine a call may end seconds after the grace; what is open now is reported as a failure."""
BACKLOG: Final = 128
STDIO_SESSION: Final = "stdio"


@dataclass(frozen=True, slots=True, kw_only=True)
class ServeOptions:
    """What the command line says about a server; `None` leaves the matter to the settings."""

    root: str
    config_file: Path | None = None
    http: str | None = None
    token_variable: str | None = None
    allowed_hosts: tuple[str, ...] = ()
    read_only: bool = False
    tools: str | None = None
    structured: bool = False
    policy: PolicyName | None = None
    state: Path | None = None
    session: str | None = None
    progressive: bool = False
    mode: Mode | None = None
    eager: tuple[str, ...] = ()
    mounts: Mapping[str, Mapping[str, object]] = field(default_factory=dict[str, Mapping[str, object]])
    debug: bool = False


Run = Callable[[Workspace, Surface | None], Awaitable[int]]


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
        MissingExtraError: The mode needs packages that are not installed.
        NotReadyError: A mounted server does not have a tool that has to be declared.
    """
    if options.http is None and (options.token_variable is not None or options.allowed_hosts):
        raise BadSettingError("--token-env and --allowed-host need --http")
    settings = load_settings(
        flags=_flags(options),
        config_file=options.config_file,
        ignored_variables=() if options.token_variable is None else (options.token_variable,),
    )
    read_only = not change_files(file_tool_names(settings.tools, read_only=options.read_only))
    refuse_unused_state(settings, state=options.state, read_only=read_only)
    if settings.session is not None and options.http is not None:
        raise BadSettingError(
            f"--session: over HTTP each client names its own session, with the header {NAME_HEADER}: NAME"
        )
    if not settings.progressive.enabled and (options.mounts or options.eager):
        raise BadSettingError(
            "--mount, --mount-url and --eager need --progressive (or progressive.enabled = true in seamfs.toml), or "
            "--mode code or both"
        )
    if settings.progressive.mode is not Mode.NATIVE:
        require_extra("code", ("pydantic_monty",), what=f"seamfs serve --mode {settings.progressive.mode}")
    configure_logging(verbose=options.debug)
    if settings.mounts and not settings.progressive.enabled:
        fields = {"mounts": sorted(settings.mounts)}
        logger.warning("mounts are not started without --progressive", extra={"fields": fields})
    if settings.state is not None and (read_only or settings.policy == "none"):
        logger.warning("state is not used: nothing is remembered with --read-only or --policy none")
    if options.http is None:
        return anyio.run(_open, options, settings, partial(_run_stdio, options))
    host, port = parse_address(options.http)
    token = choose_token(settings.http, host=host, variable=options.token_variable)
    with _bind(host, port) as listener:
        run = partial(serve_http, listener=listener, host=host, token=token, structured=options.structured)
        return anyio.run(_open, options, settings, run)


async def _open(options: ServeOptions, settings: Settings, run: Run) -> int:
    """Open the workspace, put the disclosure layer over it if it is wanted, and run a server."""
    surface: Surface | None = None
    async with open_workspace(options.root, settings=settings, read_only=options.read_only) as workspace:
        if not settings.progressive.enabled:
            _keep_what_is_loaded()
            return await run(workspace, None)
        if options.config_file is None:
            _refuse_mounts_of_the_agent(workspace)
        # Ranking tools and mounting servers takes libraries that a plain server does without.
        from seamfs.disclosed import disclosed
        from seamfs.programs import programs

        _keep_what_is_loaded()
        async with disclosed(workspace.tools, settings) as layer, programs(workspace.tools, settings):

            async def decide() -> None:
                nonlocal surface
                surface = await layer.surface()

            # A signal is heard while a server of an eager tool is waited for.
            status = await run_until_signal(decide)
            return status or await run(workspace, surface)


def _keep_what_is_loaded() -> None:
    """Let no collection go through what is loaded by now while calls wait (at worst 170 ms, so 30)."""
    gc.collect()
    gc.freeze()


def _refuse_mounts_of_the_agent(workspace: Workspace) -> None:
    """Refuse commands from a file that whoever changes files through this server could have written.

    Raises:
        BadSettingError: The settings file that was found, not named, mounts servers and lies in the workspace.
    """
    file = mounting_file()
    root = workspace.root.url
    if file is not None and root.startswith("/") and file.is_relative_to(root):
        raise BadSettingError(
            f"{file}: mounts: the file lies in ROOT, where an agent may change it, and a mount starts a program; "
            "keep it elsewhere, or name it with --config if you trust what is there"
        )


def _flags(options: ServeOptions) -> dict[str, Any]:
    given: dict[str, Any] = {
        "policy": options.policy,
        "state": options.state,
        "session": options.session,
        "tools": options.tools,
        "mounts": options.mounts or None,
        "http": {"allowed_hosts": options.allowed_hosts} if options.allowed_hosts else None,
    }
    flags = {name: value for name, value in given.items() if value is not None}
    progressive: dict[str, Any] = {}
    if options.progressive:
        progressive["enabled"] = True
    if options.mode is not None:
        progressive["mode"] = options.mode
        if options.mode is not Mode.NATIVE:
            # So that the command line wins over a file that switches the layer off.
            progressive["enabled"] = True
    if options.eager:
        progressive["eager_tools"] = tuple(dict.fromkeys(options.eager))
    if progressive:
        flags["progressive"] = progressive
    return flags


async def _run_stdio(options: ServeOptions, workspace: Workspace, surface: Surface | None) -> int:
    serve_client = partial(serve_stdio, workspace, surface, structured=options.structured)
    state, name = workspace.settings.state, workspace.settings.session or STDIO_SESSION
    if state is None or not workspace.remembers:
        return await run_until_signal(serve_client)

    async def serve_named() -> None:
        async with claimed(state, root_url=workspace.root.url, session=name):
            await serve_client(session=name)

    return await run_until_signal(serve_named)


async def serve_stdio(
    workspace: Workspace, surface: Surface | None = None, *, structured: bool, session: str | None = None
) -> None:
    """Serve one client until it closes our standard input; a session with a name goes on where it was left."""
    server = build_server(workspace, structured=structured, surface=surface, stdio_session=session)
    logger.info("serving", extra={"fields": {"root": workspace.root.url, "transport": "stdio"}})
    lines = cast("anyio.AsyncFile[str]", InputLines(sys.stdin.fileno()))
    with claimed_output() as descriptor:
        output = cast("anyio.AsyncFile[str]", OutputLines(descriptor))
        async with stdio_server(stdin=lines, stdout=output) as (requests, answers):
            await server.run(requests, answers, server.create_initialization_options())


async def serve_http(
    workspace: Workspace,
    surface: Surface | None = None,
    *,
    listener: socket.socket,
    host: str,
    token: SecretStr | None,
    structured: bool,
) -> int:
    """Serve any number of clients on a bound socket until a signal, and return the exit status."""
    settings = workspace.settings.http
    app = build_server(workspace, structured=structured, surface=surface).streamable_http_app(
        streamable_http_path=PATH,
        max_request_body_size=settings.request_size_bytes_max,
        session_idle_timeout=settings.session_idle_timeout_s,
        max_sessions=settings.sessions_max,
        transport_security=transport_security(settings, host=host),
        host=host,
    )
    closing = ClosingApp(app if token is None else BearerGuard(app, token=token), grace_s=CALL_GRACE_S)
    config = uvicorn.Config(
        closing,
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
        expect_shutdown()
        server.should_exit = True
        closing.close()

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
