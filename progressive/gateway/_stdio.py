"""The stdio transport: JSON lines over the pipes of a process, every line bounded.

The one of the SDK keeps a line of any length in memory and leaves stderr to the terminal.
"""

from __future__ import annotations

import logging
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager

import anyio
from anyio.streams.memory import MemoryObjectReceiveStream, MemoryObjectSendStream
from mcp.shared.message import SessionMessage
from mcp.types.jsonrpc import JSONRPCMessage

from progressive.gateway._ending import Ending
from progressive.gateway._pace import Pace, effort
from progressive.gateway._process import ServerProcess
from progressive.gateway._secrets import Secrets
from progressive.gateway._text import one_line
from progressive.gateway._wire import TooDeepError, message_of, refusal_of, rescued_list
from progressive.gateway.mounts import StdioMount
from progressive.gateway.options import GatewayOptions

__all__ = ["stdio_transport"]

logger = logging.getLogger(__name__)

# So many messages may wait for a server that reads slowly before their senders wait too.
_OUTGOING_MAX = 64
# Some servers print a banner before they speak the protocol.
_MALFORMED_LINES_MAX = 100
_LAST_WORDS_S = 0.5
_STDERR_CHARS_MAX = 300
# More than is shown, so that no secret is cut in two before it is hidden.
_STDERR_BYTES_MAX = 4_096
_STDERR_LINES_PER_CHUNK_MAX = 20
_STDERR_CHUNKS_PER_S = 200


@asynccontextmanager
async def stdio_transport(
    mount: StdioMount, options: GatewayOptions, *, ending: Ending, secrets: Secrets
) -> AsyncGenerator[tuple[MemoryObjectReceiveStream[SessionMessage], MemoryObjectSendStream[SessionMessage]]]:
    """Run the server of a mount; it is ended with the block, whatever it does.

    Raises:
        SpawnError: It cannot be started.
    """
    process = await ServerProcess.started(mount)
    # Nothing may be awaited between the start and this block: a cancellation there would leave the process running.
    try:
        incoming_in, incoming = anyio.create_memory_object_stream[SessionMessage](0)
        outgoing, outgoing_out = anyio.create_memory_object_stream[SessionMessage](_OUTGOING_MAX)
        stderr = _Stderr(mount.name, process, secrets)
        with incoming_in, incoming, outgoing, outgoing_out:
            async with anyio.create_task_group() as tasks:
                lines = _Lines(process, options, ending, stderr)
                tasks.start_soon(lines.run, incoming_in)
                tasks.start_soon(_write, process, outgoing_out, options, ending)
                tasks.start_soon(stderr.run)
                yield incoming, outgoing
                tasks.cancel_scope.cancel()
    finally:
        with anyio.CancelScope(shield=True):
            await process.stop(grace_s=options.stop_grace_s)


class _Stderr:
    """Reads what a server prints for people, remembers the last line, and shows it to whoever debugs."""

    def __init__(self, server: str, process: ServerProcess, secrets: Secrets) -> None:
        self._server = server
        self._process = process
        self._secrets = secrets
        self.last_line = ""
        self.ended = anyio.Event()

    async def run(self) -> None:
        pace = Pace(_STDERR_CHUNKS_PER_S)
        started = b""
        while chunk := await self._process.read(self._process.stderr):
            *lines, started = (started + chunk).replace(b"\r", b"\n").split(b"\n")
            started = started[:_STDERR_BYTES_MAX]
            self._take(lines)
            await pace.spend(1)
        self._take([started])
        self.ended.set()

    def _take(self, lines: list[bytes]) -> None:
        for line in lines[-_STDERR_LINES_PER_CHUNK_MAX:]:
            text = one_line(line[:_STDERR_BYTES_MAX].decode("utf-8", "replace"), _STDERR_BYTES_MAX)
            if text := one_line(self._secrets.hidden_in(text), _STDERR_CHARS_MAX):
                self.last_line = text
                logger.debug("mount %s: stderr: %s", self._server, text)


class _Lines:
    """Reads what a server says."""

    def __init__(self, process: ServerProcess, options: GatewayOptions, ending: Ending, stderr: _Stderr) -> None:
        self._process = process
        self._bytes_max = options.message_bytes_max
        self._pace = Pace(options.messages_per_s_max)
        self._ending = ending
        self._stderr = stderr
        self._malformed = 0

    async def run(self, sink: MemoryObjectSendStream[SessionMessage]) -> None:
        with sink:
            async with anyio.create_task_group() as tasks:
                tasks.start_soon(self._end_with_the_process, tasks.cancel_scope)
                await self._read(sink)
                tasks.cancel_scope.cancel()

    async def _end_with_the_process(self, reading: anyio.CancelScope) -> None:
        await self._process.exited()
        # What it said last is still in the pipe; a child that has inherited the pipe may keep it open for good.
        await anyio.sleep(_LAST_WORDS_S)
        self._ending.seal(self._farewell())
        reading.cancel()

    async def _read(self, sink: MemoryObjectSendStream[SessionMessage]) -> None:
        started = bytearray()
        while chunk := await self._process.read(self._process.stdout):
            *ended, rest = chunk.split(b"\n")
            for part in ended:
                started += part
                line = bytes(started)
                started.clear()
                if self._is_too_long(line) or not await self._take(line, sink):
                    return
            started += rest
            if self._is_too_long(started):
                return
        await self._say_farewell()

    async def _take(self, line: bytes, sink: MemoryObjectSendStream[SessionMessage]) -> bool:
        """Hand a line on; return whether to go on reading."""
        await self._pace.spend(effort(line))
        if not line.strip():
            return True
        message = self._message(line)
        if message is not None:
            try:
                await sink.send(SessionMessage(message))
            except (anyio.BrokenResourceError, anyio.ClosedResourceError):
                self._ending.seal("the connection was closed")
        return not self._ending.is_over

    def _message(self, line: bytes) -> JSONRPCMessage | None:
        try:
            return message_of(line)
        except ValueError as error:
            self._malformed += 1
            if self._malformed > _MALFORMED_LINES_MAX:
                self._ending.seal(f"the server sent {self._malformed} lines that are no JSON-RPC messages")
            return self._substitute(line, error)

    def _substitute(self, line: bytes, fault: ValueError) -> JSONRPCMessage | None:
        """Return what stands for a line that cannot be read."""
        is_too_deep = isinstance(fault, TooDeepError)
        message = (rescued_list(line) if is_too_deep else None) or refusal_of(line, fault)
        if message is None and is_too_deep:
            # Somebody may wait for it, on either side.
            self._ending.seal("the server sent a message that nests too deep to be read")
        return message

    def _is_too_long(self, line: bytes | bytearray) -> bool:
        if len(line) <= self._bytes_max:
            return False
        self._ending.seal_oversized(self._bytes_max)
        return True

    async def _say_farewell(self) -> None:
        with anyio.move_on_after(_LAST_WORDS_S):
            await self._process.exited()
            await self._stderr.ended.wait()
        self._ending.seal(self._farewell())

    def _farewell(self) -> str:
        what = self._process.exit_text() or "the server closed its output"
        return f"{what}; it last said: {self._stderr.last_line}" if self._stderr.last_line else what


async def _write(
    process: ServerProcess,
    source: MemoryObjectReceiveStream[SessionMessage],
    options: GatewayOptions,
    ending: Ending,
) -> None:
    async for item in source:
        line = item.message.model_dump_json(by_alias=True, exclude_unset=True).encode() + b"\n"
        try:
            await process.write(line, timeout_s=options.write_timeout_s)
        except TimeoutError:
            ending.seal(f"the server has read nothing for {options.write_timeout_s:g} s")
            return
        except OSError:
            # It closed its input: most likely it is ending, and then its exit says more than this does.
            with anyio.move_on_after(_LAST_WORDS_S):
                await ending.wait()
            ending.seal("the server closed its input")
            return
