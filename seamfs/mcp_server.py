"""The tools of a workspace as an MCP server, for any transport."""

import logging
import time
from collections.abc import AsyncGenerator, Mapping
from contextlib import asynccontextmanager
from functools import partial
from typing import Any, Final

import anyio
from mcp import MCPError, types
from mcp.server import Server, ServerRequestContext
from mcp.server.context import CallNext, HandlerResult
from mcp.types.version import HANDSHAKE_PROTOCOL_VERSIONS, MODERN_PROTOCOL_VERSIONS

from fs_core.search.bounds import Looked
from progressive import Surface
from seamfs.mcp_agents import NAME_HEADER, Agents, Context, is_sessionless, requested_name
from seamfs.mcp_answers import answer_to, send_value
from seamfs.version import VERSION
from seamfs.workspace import Workspace
from tool_fs.search.watching import watched
from tool_runtime import JsonObject, Observation, ToolCall, ToolFailure, ToolResult, ToolSchema

__all__ = ["PROGRESS_PERIOD_S", "build_server", "instructions"]

logger = logging.getLogger(__name__)

ALWAYS_LOAD: Final = {"anthropic/alwaysLoad": True}
"""Keeps a client with a tool search of its own from hiding the tools that everything else is done with."""

FINDERS: Final = ("list_dir", "glob", "grep")
RULE: Final = (
    "An existing file is changed only by a session that has read it, in any window, and only while it is as it was "
    "read: call read before write or edit, and read again when a change is refused as stale. A new file needs no read."
)

PROGRESS_PERIOD_S: Final = 1.0
LOGGED_CHARS_MAX: Final = 40


def build_server(
    workspace: Workspace,
    *,
    structured: bool = False,
    surface: Surface | None = None,
    stdio_session: str | None = None,
) -> Server[Agents]:
    """Return a server for the tools of a workspace.

    Args:
        workspace: Outlives the server.
        surface: Declares these instead of all tools there are, and tells how others are found. Any tool of the
            workspace may be called by its name all the same, in Code mode from programs.
        structured: Send the value of a result as `structuredContent` too, and announce its schema. Some clients then
            show their model the value instead of the text.
        stdio_session: Whose reads those of the client on stdio are; without a name they are its own.
    """

    @asynccontextmanager
    async def lifespan(_server: Server[Agents]) -> AsyncGenerator[Agents]:
        # Entered once per stdio connection and once per HTTP server.
        agents = Agents(
            workspace,
            sessions_max=workspace.settings.http.sessions_max,
            surface=surface,
            stdio_session=stdio_session,
        )
        unobserve = workspace.tools.add_observer(partial(_log_nested, agents))
        try:
            yield agents
        finally:
            unobserve()

    async def list_tools(_ctx: Context, _params: types.PaginatedRequestParams | None) -> types.ListToolsResult:
        declared = workspace.tools.schemas() if surface is None else surface.tools
        return types.ListToolsResult(tools=[_tool(schema, structured=structured) for schema in declared])

    async def call_tool(ctx: Context, params: types.CallToolRequestParams) -> JsonObject:
        return answer_to(await _run(ctx, params), structured=structured)

    def input_schema(name: str) -> Mapping[str, Any] | None:
        # A parameter is wanted in a header too of a client that was told so, which is of the tools in the list.
        if surface is not None:
            return next((schema.parameters for schema in surface.tools if schema.name == name), None)
        tool = workspace.tools.get(name)
        return None if tool is None else tool.schema().parameters

    async def discover(ctx: Context, _params: types.RequestParams) -> types.DiscoverResult:
        # A client that is told of no version without sessions goes on with the handshake.
        served = HANDSHAKE_PROTOCOL_VERSIONS if is_refused(ctx) else MODERN_PROTOCOL_VERSIONS
        return types.DiscoverResult(
            supported_versions=list(served),
            capabilities=server.get_capabilities(protocol_version=ctx.protocol_version),
            instructions=server.instructions,
        )

    def is_refused(ctx: Context) -> bool:
        return workspace.remembers and requested_name(ctx) is None and is_sessionless(ctx)

    async def require_session(ctx: ServerRequestContext[Agents, Any], call_next: CallNext) -> HandlerResult:
        if is_refused(ctx) and ctx.method != "server/discover":
            raise _needs_session(ctx.protocol_version)
        return await call_next(ctx)

    server = Server[Agents](
        "seamfs",
        version=VERSION,
        instructions=instructions(workspace, surface),
        lifespan=lifespan,
        get_tool_input_schema=input_schema,
        on_list_tools=list_tools,
    )
    # Not by way of the constructor, which wants a model: the library checks what it sends once more anyway.
    server.add_request_handler("tools/call", types.CallToolRequestParams, call_tool)
    server.add_request_handler("server/discover", types.RequestParams, discover)
    server.middleware += (require_session, send_value)
    return server


def instructions(workspace: Workspace, surface: Surface | None = None) -> str:
    """Return what a client tells its model once: where the files are, what a change requires, how tools are found."""
    about_files = _about_files(workspace)
    return about_files if surface is None else f"{about_files}\n\n{surface.prompt}"


def _about_files(workspace: Workspace) -> str:
    sentences = [f"Files below {workspace.root.url}. Paths are relative to that root and use /."]
    finders = [name for name in FINDERS if workspace.tools.get(name) is not None]
    if workspace.read_only:
        sentences.append("They can be read and not changed.")
    if workspace.remembers:
        sentences.append(RULE)
        if "grep" in finders:
            sentences.append("Lines that grep shows do not count as read.")
    if finders:
        sentences.append(f"To find files and lines: {', '.join(finders)}.")
    return " ".join(sentences)


async def _run(ctx: Context, params: types.CallToolRequestParams) -> ToolResult:
    agent = ctx.lifespan_context.of(ctx)
    call = ToolCall(params.name, params.arguments or {}, id=str(ctx.request_id))
    started_s = time.perf_counter()
    code: str | None = "CANCELLED"
    try:
        if ctx.meta is None or "progress_token" not in ctx.meta:
            result = await agent.calls.run(call)
        else:
            async with _progress(ctx, params.name):
                result = await agent.calls.run(call)
        code = result.code if isinstance(result, ToolFailure) else None
        return result
    finally:
        elapsed_s = time.perf_counter() - started_s
        _log("call", session=agent.label, call_id=call.id, tool=call.name, code=code, elapsed_s=elapsed_s)


def _log_nested(agents: Agents, seen: Observation) -> None:
    """Log a call that a program or invoke_tool made; those of clients are logged where they come in."""
    if seen.parent_id is None:
        return
    session = agents.label_of(seen.owner)
    if session is not None:
        _log(
            "nested call",
            session=session,
            call_id=seen.call_id,
            tool=seen.name,
            code=seen.code,
            elapsed_s=seen.elapsed_s,
        )


def _log(event: str, *, session: str, call_id: str, tool: str, code: str | None, elapsed_s: float) -> None:
    # The client chooses id and name: cut, so that no content travels in them.
    fields = {
        "session": session,
        "call": call_id[:LOGGED_CHARS_MAX],
        "tool": tool[:LOGGED_CHARS_MAX],
        "code": code,
        "elapsed_ms": round(elapsed_s * 1000),
    }
    logger.info(event, extra={"fields": fields})


@asynccontextmanager
async def _progress(ctx: Context, name: str) -> AsyncGenerator[None]:
    """Tell the client how long the block has been running, and of a search how far it has come."""
    so_far = ""

    def watch(looked: Looked) -> None:
        nonlocal so_far
        so_far = f", {looked.files} files, {looked.found} found"

    async def report() -> None:
        elapsed_s = 0.0
        while True:
            await anyio.sleep(PROGRESS_PERIOD_S)
            elapsed_s += PROGRESS_PERIOD_S
            await ctx.session.report_progress(elapsed_s, message=f"{name}: running for {elapsed_s:.0f} s{so_far}")

    async with anyio.create_task_group() as tasks:
        tasks.start_soon(report)
        with watched(watch):
            yield
        tasks.cancel_scope.cancel()


def _tool(schema: ToolSchema, *, structured: bool) -> types.Tool:
    hints = schema.annotations
    return types.Tool(
        name=schema.name,
        description=schema.description,
        input_schema=schema.parameters,
        # Until the newest revision of the protocol a structured value is an object.
        output_schema=schema.output if structured and schema.output.get("type") == "object" else None,
        annotations=types.ToolAnnotations(
            read_only_hint=hints.read_only,
            destructive_hint=hints.destructive,
            idempotent_hint=hints.idempotent,
            open_world_hint=hints.open_world,
        ),
        _meta=dict(ALWAYS_LOAD),
    )


def _needs_session(requested: str) -> MCPError:
    message = (
        f"protocol revision {requested} has no sessions over HTTP, and this server must know which client has read a "
        f"file before it lets it change that file; use the initialize handshake, a header {NAME_HEADER}: NAME, stdio, "
        "--read-only or --policy none"
    )
    supported = types.UnsupportedProtocolVersionErrorData(
        supported=list(HANDSHAKE_PROTOCOL_VERSIONS), requested=requested
    )
    return MCPError(types.UNSUPPORTED_PROTOCOL_VERSION, message, supported.model_dump(mode="json"))
