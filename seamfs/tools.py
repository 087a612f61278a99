"""`seamfs tools`: the catalog that a model searches, for a person."""

import io
import sys
from collections.abc import Generator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from functools import partial
from pathlib import Path
from typing import Any, Final, cast

from pydantic import JsonValue
from rich.console import Console
from rich.table import Table
from rich.text import Text

from progressive.gateway import MountStatus
from progressive.names import RESERVED, SEARCH, name_order
from progressive.texts import one_line
from seamfs.config import BadSettingError, Settings, load_settings, mounting_file
from seamfs.disclosed import Disclosed, disclosed, mount_failure
from seamfs.file_tools import file_tool_names, make_file_tools
from seamfs.signals import run_interruptibly
from seamfs.terminal import Display, write_json, write_text
from tool_runtime import Tool, ToolCall, ToolFailure, ToolRuntime

__all__ = ["show_tools"]

BUILT_IN: Final = "built in"
_HEADINGS: Final = ("name", "from", "declared", "description")
_GAPS_CHARS: Final = 6
_NARROWING: Final = (("description", 24), ("name", 16), ("from", 8), ("description", 0), ("name", 0), ("from", 0))
"""Which column gives way to which width, in this order, where a line is too long."""
_PIPE_WIDTH_CHARS: Final = 4_096


@dataclass(frozen=True, slots=True, kw_only=True)
class _Entry:
    """One tool. `server` is None for a tool of our own; `eager` tells that it is declared from the start."""

    name: str
    server: str | None
    eager: bool
    description: str


@dataclass(frozen=True, slots=True, kw_only=True)
class _Listing:
    total: int
    note: str | None
    tools: Sequence[_Entry]
    mounts: Sequence[MountStatus]


def show_tools(
    *,
    query: str | None,
    mounts: Mapping[str, Mapping[str, object]],
    config_file: Path | None,
    read_only: bool,
    as_json: bool,
) -> bool:
    """Print all tools, or those that a model gets for a query, and return whether every server was connected.

    Args:
        query: Ranked as `search_tools` does; None lists everything, the declared tools included.
        mounts: Besides those of the settings, as tables of them.
        config_file: See `load_settings`.
        read_only: Leave out the tools that change files.
        as_json: Print one JSON object instead of a table.

    Raises:
        BadSettingError: A setting, a mount or the query is wrong, or a settings file that was found, not named, mounts
            servers.
    """
    if config_file is None:
        _refuse_mounts_that_were_found()
    settings = load_settings(flags={"mounts": mounts} if mounts else {}, config_file=config_file)
    listing = run_interruptibly(partial(_listing, settings, query=query, read_only=read_only))
    if as_json:
        value = {"query": query, **asdict(listing)}
        write_json(value, sys.stdout)
    else:
        _print_table(listing, settings)
    failures = [failure for status in listing.mounts if (failure := mount_failure(status, settings))]
    left_out = [f"mount {status.name}: left out: {line}" for status in listing.mounts for line in status.left_out]
    for line in (*failures, *left_out):
        write_text(f"seamfs: {line}\n", sys.stderr)
    return not failures


def _refuse_mounts_that_were_found() -> None:
    """Refuse commands from a file that was not named: the directory may be one where an agent changes files.

    Raises:
        BadSettingError: The settings file of the working directory mounts servers.
    """
    file = mounting_file()
    if file is not None:
        raise BadSettingError(
            f"{file}: mounts: a mount starts a program, and whoever changes files here may have written this one; "
            "name it with --config if you trust what is there"
        )


async def _listing(settings: Settings, *, query: str | None, read_only: bool) -> _Listing:
    tools = ToolRuntime()
    for tool in make_file_tools(file_tool_names(settings.tools, read_only=read_only), settings):
        tools.register(tool)
    async with disclosed(tools, settings) as layer:
        with _progress([status.name for status in layer.gateway.status()]):
            await layer.settled()
        mounts = layer.gateway.status()
        if query is None:
            found = sorted((tool for tool in tools.tools() if tool.name not in RESERVED), key=name_order)
            return _Listing(total=len(found), note=None, tools=[_entry(tool, layer) for tool in found], mounts=mounts)
        value = await _searched(tools, query)
        names = [match["name"] for match in cast("list[dict[str, str]]", value["matches"])]
        ranked = [tool for tool in map(tools.get, names) if tool is not None]
        return _Listing(
            total=cast("int", value["total"]),
            note=cast("str | None", value.get("note")),
            tools=[_entry(tool, layer) for tool in ranked],
            mounts=mounts,
        )


async def _searched(tools: ToolRuntime, query: str) -> dict[str, JsonValue]:
    """Return what a model would be given, through the same call."""
    result = await tools.execute(ToolCall(SEARCH, {"query": query}, id="query"))
    if isinstance(result, ToolFailure):
        # It begins with the name of the argument, which is that of the flag.
        raise BadSettingError(f"--{result.message}")
    return cast("dict[str, JsonValue]", result.value)


def _entry(tool: Tool[Any], layer: Disclosed) -> _Entry:
    return _Entry(
        name=tool.name,
        server=layer.server_of(tool.name),
        eager=tool.name in layer.disclosure.options.eager_tools,
        description=tool.description,
    )


@contextmanager
def _progress(servers: Sequence[str]) -> Generator[None]:
    """Show on a terminal that servers are being waited for."""
    if not servers or not sys.stderr.isatty():
        yield
        return
    waiting = Text(f"connecting to {', '.join(servers)}")
    with Console(stderr=True).status(waiting):
        yield


def _print_table(listing: _Listing, settings: Settings) -> None:
    display = Display(sys.stdout)
    # Nothing is cut in a pipe but descriptions, which are as long there as in a search result.
    text, width_chars = io.StringIO(), None if display.is_terminal else _PIPE_WIDTH_CHARS
    colours = "standard" if display.has_colour else None
    console = Console(file=text, force_terminal=True, color_system=colours, width=width_chars, highlight=False)
    rows = [_row(entry, settings) for entry in listing.tools]
    widths = _widths(rows, console.width)
    # Where not even the headings fit, the terminal wraps lines better than the table would cut words.
    console.width = max(console.width, sum(widths) + _GAPS_CHARS)
    table = Table(box=None, pad_edge=False, header_style="bold")
    for heading, column_chars in zip(_HEADINGS, widths, strict=True):
        is_last = heading == _HEADINGS[-1]
        table.add_column(heading, width=column_chars, no_wrap=is_last, overflow="ellipsis" if is_last else "fold")
    for row in rows:
        table.add_row(*(Text(display.text(cell)) for cell in row))
    console.print(table)
    for line in text.getvalue().splitlines():
        display.line(line.rstrip())
    display.line(display.text(_summary(listing), "dim"))


def _row(entry: _Entry, settings: Settings) -> tuple[str, ...]:
    summary = one_line(entry.description, settings.progressive.max_summary_chars)
    return entry.name, entry.server or BUILT_IN, "eager" if entry.eager else "deferred", summary


def _widths(rows: Sequence[Sequence[str]], width_chars: int) -> list[int]:
    """Return how wide each column is: what is too long goes on below, a description is cut, a heading stays whole."""
    widths = [max(map(len, column)) for column in zip(_HEADINGS, *rows, strict=True)]
    excess_chars = sum(widths) + _GAPS_CHARS - width_chars
    for heading, kept_chars in _NARROWING:
        index = _HEADINGS.index(heading)
        cut_chars = max(0, min(excess_chars, widths[index] - max(kept_chars, len(heading))))
        widths[index] -= cut_chars
        excess_chars -= cut_chars
    return widths


def _summary(listing: _Listing) -> str:
    shown, total = len(listing.tools), listing.total
    count = f"{total} tool{'s' * (total != 1)}" if shown == total else f"{shown} of {total} tools"
    return f"{count} ({listing.note})" if listing.note else count
