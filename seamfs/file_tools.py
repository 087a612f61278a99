"""Which tools for files a workspace offers."""

from collections.abc import Iterable
from typing import Any, Final, get_args

from seamfs.config import BadSettingError, Settings, ToolName
from tool_fs.toolset import file_tools
from tool_runtime import Tool

__all__ = ["change_files", "file_tool_names", "make_file_tools"]

_ALL: Final[tuple[ToolName, ...]] = get_args(ToolName)
_CHANGING: Final = frozenset({"write", "edit"})
_SEARCHING: Final = frozenset({"list_dir", "glob", "grep"})


def file_tool_names(chosen: Iterable[str] | None, *, read_only: bool) -> frozenset[str]:
    """Return the names of the tools to offer: those that are chosen, by default all, as far as `read_only` lets them.

    Raises:
        BadSettingError: A name is none of theirs, or nothing is left.
    """
    wanted = frozenset[str](_ALL if chosen is None else chosen)
    unknown = sorted(wanted.difference(_ALL))
    if unknown:
        raise BadSettingError(f"tools: there is no tool {unknown[0]!r}; there are: {', '.join(_ALL)}")
    names = wanted - _CHANGING if read_only else wanted
    if not names:
        left = " that changes nothing" if read_only else ""
        raise BadSettingError(f"tools: none{left} is chosen; there are: {', '.join(_ALL)}")
    return names


def change_files(names: frozenset[str]) -> bool:
    """Tell whether one of the tools changes files."""
    return not names.isdisjoint(_CHANGING)


def make_file_tools(names: frozenset[str], settings: Settings) -> list[Tool[Any]]:
    """Return the tools that are named, with the bounds of the settings."""
    made = file_tools(limits=settings.read, read_only=not change_files(names), guarded=settings.policy != "none")
    tools = [tool for tool in made if tool.name in names]
    if not names.isdisjoint(_SEARCHING):
        # A command that reads one file does without.
        from tool_fs.search.toolset import tree_tools

        tools.extend(tree_tools(limits=settings.search, names=names))
    return tools
