"""`seamfs read`, `write` and `edit`: one call of a tool, for people and scripts."""

import json
import sys
from collections.abc import Mapping
from functools import partial
from pathlib import Path
from typing import Final

import anyio
from pydantic import JsonValue

from fs_core.errors import FsError, NotText, TooLarge
from seamfs.config import Settings, load_settings
from seamfs.terminal import write_text
from seamfs.workspace import open_workspace
from tool_runtime import ToolFailure, ToolResult

__all__ = ["run_tool", "standard_input"]

STANDARD_INPUT: Final = "standard input"
INPUT_SIZE_BYTES_MAX: Final = 512 * 1024 * 1024


def run_tool(
    name: str, arguments: Mapping[str, JsonValue], *, root: str, config_file: Path | None, as_json: bool
) -> str | None:
    """Call a tool without an observation policy, print its result, and return the code if it was refused.

    Raises:
        BadSettingError: A setting is wrong.
    """
    settings = load_settings(flags={"policy": "none"}, config_file=config_file)
    result = anyio.run(partial(_call, name, arguments, root=root, settings=settings))
    code = result.code if isinstance(result, ToolFailure) else None
    if as_json:
        write_text(json.dumps(_json(result), ensure_ascii=sys.stdout.isatty()) + "\n", sys.stdout)
    elif code is None:
        text = result.text
        write_text(text if text.endswith("\n") else f"{text}\n", sys.stdout)
    if isinstance(result, ToolFailure):
        write_text(f"{result.code}: {result.message}\n", sys.stderr)
    return code


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
    try:
        async with open_workspace(root, settings=settings) as workspace:
            return await workspace.call(workspace.session(), name, arguments)
    except FsError as error:
        return ToolFailure(error.code.value, str(error), retryable=error.retryable)


def _json(result: ToolResult) -> JsonValue:
    if isinstance(result, ToolFailure):
        return {"code": result.code, "message": result.message, "retryable": result.retryable}
    return result.value
