"""`seamfs ls`, `glob` and `grep`: one search, for people and scripts."""

import sys
from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, Final, cast

from pydantic import JsonValue

from fs_core.errors import FsError
from fs_core.search.bounds import Looked
from seamfs.config import Settings, load_settings
from seamfs.one_shot import print_json, print_refusal
from seamfs.signals import run_interruptibly
from seamfs.terminal import Display, StatusLine
from seamfs.workspace import open_workspace
from tool_fs.search.limits import SearchLimits
from tool_fs.search.render import Shown, show_glob, show_grep, show_list_dir
from tool_fs.search.watching import watched
from tool_runtime import ToolFailure, ToolResult

__all__ = ["Searched", "run_search"]

_STYLES: Final = {"path": "cyan", "match": "green", "context": "dim", "gap": None}


@dataclass(frozen=True, slots=True)
class Searched:
    """How a search ended. `code` is that of a refusal; `found` tells whether there is anything in the result."""

    code: str | None
    found: bool


def run_search(
    name: str,
    arguments: Mapping[str, JsonValue],
    *,
    root: str,
    config_file: Path | None,
    gitignore: bool,
    as_json: bool,
) -> Searched:
    """Make one search and print what it found.

    What was found goes to standard output, how much it is and what was left out to standard error.

    Args:
        name: list_dir, glob or grep.
        arguments: Of the tool.
        root: Where.
        config_file: See `load_settings`.
        gitignore: False looks at everything, whatever the settings say.
        as_json: Print the structured value on standard output and nothing else.

    Raises:
        BadSettingError: A setting is wrong.
    """
    settings = load_settings(flags={} if gitignore else {"search": {"gitignore": False}}, config_file=config_file)
    settings = settings.model_copy(update={"policy": "none", "state": None})
    result = run_interruptibly(partial(_search, name, arguments, root=root, settings=settings))
    if as_json:
        print_json(result)
    if isinstance(result, ToolFailure):
        print_refusal(result)
        return Searched(result.code, found=False)
    shown = _shown(name, arguments, result.value, settings.search)
    if not as_json:
        _print(shown)
    return Searched(None, found=bool(shown.rows))


async def _search(name: str, arguments: Mapping[str, JsonValue], *, root: str, settings: Settings) -> ToolResult:
    status = StatusLine(sys.stderr)

    def watch(looked: Looked) -> None:
        status.show(f"{looked.files} files in {looked.directories} directories, {looked.found} found")

    try:
        async with open_workspace(root, settings=settings, tools=(name,)) as workspace:
            with watched(watch):
                return await workspace.call(workspace.session(), name, arguments)
    except FsError as error:
        return ToolFailure(error.code.value, str(error), retryable=error.retryable)
    finally:
        status.clear()


def _shown(name: str, arguments: Mapping[str, JsonValue], value: JsonValue, limits: SearchLimits) -> Shown:
    given = cast("Any", value)
    if name == "list_dir":
        return show_list_dir(given, depth=cast("int", arguments.get("depth", 1)), limits=limits)
    return show_glob(given, limits=limits) if name == "glob" else show_grep(given, limits=limits)


def _print(shown: Shown) -> None:
    found, about = Display(sys.stdout), Display(sys.stderr)
    for row in shown.rows:
        found.line(found.text(row.head, _STYLES[row.kind]), found.text(row.tail))
    for line in shown.below:
        about.line(about.text(line, "dim"))
