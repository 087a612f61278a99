"""The search tools, ready to register. Their owner is a `FileSession`; they record nothing as seen."""

from collections.abc import Collection
from typing import Any, Final, cast

from pydantic import JsonValue

from fs_core.errors import ErrorCode
from fs_core.search.bounds import SearchBounds
from tool_fs.owner import file_session
from tool_fs.remedies import tool_errors
from tool_fs.search.arguments import GlobArgs, GrepArgs, ListDirArgs
from tool_fs.search.limits import SearchLimits
from tool_fs.search.render import Shown, show_glob, show_grep, show_list_dir, text_of
from tool_fs.search.results import glob_value, grep_value, list_dir_value
from tool_fs.search.values import GlobValue, GrepValue, ListDirValue
from tool_fs.search.watching import current_watch
from tool_fs.values import NoteValue
from tool_runtime import ContentBlock, TextBlock, Tool, ToolAnnotations, ToolContext

__all__ = ["tree_tools"]

_ROOT: Final = "."
_CHANGES_NOTHING: Final = ToolAnnotations(read_only=True, destructive=False, idempotent=True)

_LEFT_OUT: Final = " .git and the like and what .gitignore files name are left out, unless path leads there."
_LIST_DIR: Final = (
    "List a directory, one path a line, relative to the root: directories end with /, files have their size in bytes "
    "behind a tab. depth lists what is in its directories too, so many levels down. Links are shown and not followed."
)
_GLOB: Final = (
    "Find files by name. Returns the paths that match, relative to the root, sorted. A pattern without / matches names "
    "at any depth; one with / is relative to path. * and ? stay within a name, ** stands for any number of "
    "directories, [a-z] for one character, {a,b} for either; a pattern that ends with / finds directories. "
    "Links are not followed."
)
_GREP: Final = (
    "Search the lines of text files for a regular expression (RE2 syntax: no look-around, no back-references). Returns "
    "for each file its path, then lines that match as `N: text` and lines around them as `N- text`, numbered as by "
    "read. include takes a glob as glob does. Files that are no UTF-8 text are skipped and counted, and links are not "
    "followed."
)


def tree_tools(*, limits: SearchLimits | None = None, names: Collection[str] | None = None) -> tuple[Tool[Any], ...]:
    """Return list_dir, glob and grep, or those that are named. A call passes a `FileSession` as owner."""
    chosen = limits or SearchLimits()
    makers = {"list_dir": _list_dir_tool, "glob": _glob_tool, "grep": _grep_tool}
    return tuple(make(chosen) for name, make in makers.items() if names is None or name in names)


def _list_dir_tool(limits: SearchLimits) -> Tool[ListDirArgs]:
    bounds = _bounds(limits)

    async def execute(args: ListDirArgs, context: ToolContext) -> JsonValue:
        path = args.path or _ROOT
        depth = min(args.depth or 1, limits.max_depth)
        with tool_errors(path):
            listed = await file_session(context).list_tree(path, depth=depth, bounds=bounds, watch=current_watch())
        notes = _clamped("depth", args.depth, limits.max_depth, "levels are listed")
        return cast("JsonValue", list_dir_value(listed, notes))

    def render(args: ListDirArgs, value: JsonValue) -> list[ContentBlock]:
        depth = min(args.depth or 1, limits.max_depth)
        return _text(show_list_dir(cast("ListDirValue", value), depth=depth, limits=limits))

    return Tool(
        name="list_dir",
        description=f"{_LIST_DIR}{_LEFT_OUT if limits.gitignore else ''} At most {limits.max_entries} entries and "
        f"{limits.max_result_bytes} bytes are shown; the end tells how many there are.",
        parameters=ListDirArgs,
        output=ListDirValue,
        execute=execute,
        render=render,
        concurrency_safe=lambda _: True,
        not_unicode_code=ErrorCode.INVALID_PATH,
        example={"path": "src", "depth": 2},
        annotations=_CHANGES_NOTHING,
    )


def _glob_tool(limits: SearchLimits) -> Tool[GlobArgs]:
    bounds = _bounds(limits)

    async def execute(args: GlobArgs, context: ToolContext) -> JsonValue:
        path = args.path or _ROOT
        with tool_errors(path):
            globbed = await file_session(context).glob(path, args.pattern, bounds=bounds, watch=current_watch())
        return cast("JsonValue", glob_value(globbed))

    return Tool(
        name="glob",
        description=f"{_GLOB}{_LEFT_OUT if limits.gitignore else ''} At most {limits.max_entries} paths and "
        f"{limits.max_result_bytes} bytes are shown; the end tells how many there are.",
        parameters=GlobArgs,
        output=GlobValue,
        execute=execute,
        render=lambda _, value: _text(show_glob(cast("GlobValue", value), limits=limits)),
        concurrency_safe=lambda _: True,
        example={"pattern": "**/test_*.py", "path": "src"},
        annotations=_CHANGES_NOTHING,
    )


def _grep_tool(limits: SearchLimits) -> Tool[GrepArgs]:
    bounds = _bounds(limits)

    async def execute(args: GrepArgs, context: ToolContext) -> JsonValue:
        path = args.path or _ROOT
        query = args.query(context_max=limits.max_context)
        with tool_errors(path):
            grepped = await file_session(context).grep(path, query, bounds=bounds, watch=current_watch())
        notes = _clamped("context", args.context, limits.max_context, "lines are shown on either side")
        return cast("JsonValue", grep_value(grepped, notes))

    return Tool(
        name="grep",
        description=f"{_GREP}{_LEFT_OUT if limits.gitignore else ''} At most {limits.max_matches} matching lines and "
        f"{limits.max_result_bytes} bytes are shown; a line is cut after {limits.max_line_chars} characters.",
        parameters=GrepArgs,
        output=GrepValue,
        execute=execute,
        render=lambda _, value: _text(show_grep(cast("GrepValue", value), limits=limits)),
        concurrency_safe=lambda _: True,
        example={"pattern": r"def \w+_timeout\(", "path": "src", "include": "*.py", "context": 2},
        annotations=_CHANGES_NOTHING,
    )


def _text(shown: Shown) -> list[ContentBlock]:
    return [TextBlock(text_of(shown))]


def _clamped(name: str, given: int | None, most: int, what: str) -> list[NoteValue]:
    if given is None or given <= most:
        return []
    return [NoteValue(kind=f"{name}_clamped", text=f"{name} {given} is more than is used; at most {most} {what}")]


def _bounds(limits: SearchLimits) -> SearchBounds:
    return SearchBounds(
        entries_max=limits.max_entries,
        matches_max=limits.max_matches,
        result_bytes_max=limits.max_result_bytes,
        line_chars_max=limits.max_line_chars,
        directory_entries_max=limits.max_directory_entries,
        file_bytes_max=limits.max_file_bytes,
        timeout_s=limits.timeout_s,
        gitignore=limits.gitignore,
    )
