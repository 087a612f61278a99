"""`seamfs read`, `write` and `edit`: one call of a tool, for people and scripts."""

import sys
from collections.abc import Mapping
from functools import partial
from pathlib import Path
from typing import Final

from pydantic import JsonValue

from fs_core.errors import FsError, NotText, TooLarge
from seamfs.config import Settings, load_settings, refuse_unused_state
from seamfs.signals import run_interruptibly
from seamfs.terminal import write_json, write_text
from seamfs.workspace import open_workspace
from tool_runtime import ToolFailure, ToolResult

__all__ = ["print_json", "print_refusal", "run_tool", "standard_input"]

STANDARD_INPUT: Final = "standard input"
INPUT_SIZE_BYTES_MAX: Final = 512 * 1024 * 1024
CLI_SESSION: Final = "cli"
_REMEMBERING: Final = ("read", "write", "edit")
"""What a read is remembered for belongs to the same workspace."""


def run_tool(
    name: str,
    arguments: Mapping[str, JsonValue],
    *,
    root: str,
    config_file: Path | None,
    state: Path | None,
    session: str | None,
    as_json: bool,
) -> str | None:
    """Call a tool, print its result, and return the code if it was refused. Without a state there is no policy.

    Raises:
        BadSettingError: A setting is wrong.
    """
    given = {"state": state, "session": session}
    flags = {key: value for key, value in given.items() if value is not None}
    settings = load_settings(flags=flags, config_file=config_file)
    refuse_unused_state(settings, state=state)
    if settings.state is None:
        settings = settings.model_copy(update={"policy": "none"})
    result = run_interruptibly(partial(_call, name, arguments, root=root, settings=settings))
    code = result.code if isinstance(result, ToolFailure) else None
    if as_json:
        print_json(result)
    elif code is None:
        text = result.text
        write_text(text if text.endswith("\n") else f"{text}\n", sys.stdout)
    if isinstance(result, ToolFailure):
        print_refusal(result)
    return code


def print_json(result: ToolResult) -> None:
    """Print the value of a result, or an error object."""
    if isinstance(result, ToolFailure):
        value: JsonValue = {"code": result.code, "message": result.message, "retryable": result.retryable}
    else:
        value = result.value
    write_json(value, sys.stdout)


def print_refusal(failure: ToolFailure) -> None:
    """Print what was refused on standard error, the code first."""
    write_text(f"{failure.code}: {failure.message}\n", sys.stderr)


def standard_input() -> str:
    """Return everything on standard input, which has to be UTF-8; line endings stay as they are.

    Raises:
        NotText: It is not.
        TooLarge: It is longer than any store is written to without being told.
    """
    data = sys.stdin.buffer.read(INPUT_SIZE_BYTES_MAX + 1)
    if len(data) > INPUT_SIZE_BYTES_MAX:
        reason = f"has more than {INPUT_SIZE_BYTES_MAX} bytes; nothing was written"
        raise TooLarge(reason, path=STANDARD_INPUT, operation="write")
    try:
        return data.decode()
    except UnicodeDecodeError as error:
        reason = f"is not UTF-8 text: byte {error.start} of {len(data)}; nothing was written"
        raise NotText(reason, path=STANDARD_INPUT, operation="write") from error


async def _call(name: str, arguments: Mapping[str, JsonValue], *, root: str, settings: Settings) -> ToolResult:
    # Where nothing is remembered, no other tools are made.
    tools = (name,) if settings.state is None else _REMEMBERING
    try:
        async with open_workspace(root, settings=settings, tools=tools) as workspace:
            if settings.state is None or not workspace.remembers:
                return await workspace.call(workspace.session(), name, arguments)
            # Without a state, which most commands are, there is nothing to claim.
            from seamfs.session_claim import claimed

            session = settings.session or CLI_SESSION
            # Single commands share a session with each other, and not with a server.
            async with claimed(settings.state, root_url=workspace.root.url, session=session, shared=True):
                return await workspace.call(workspace.session(session), name, arguments)
    except FsError as error:
        return ToolFailure(error.code.value, str(error), retryable=error.retryable)
