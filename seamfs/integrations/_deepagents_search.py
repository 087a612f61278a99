"""Results of the search tools as deepagents has them. Pure.

deepagents searches for plain text and has globs of its own, which leave hidden names out; here the tools of the
workspace find at least what such a glob means, and deepagents' own matcher decides.
"""

import re
from pathlib import PurePosixPath
from typing import Final, cast

from deepagents.backends.protocol import (
    FileInfo,
    GlobResult,
    GlobTruncationReason,
    GrepMatch,
    GrepResult,
    LsResult,
)
from deepagents.backends.utils import InvalidGlobPatternError, compile_grep_include_glob

from fs_core.errors import ErrorCode
from tool_fs.search.values import GlobValue, GrepValue, ListDirValue
from tool_runtime import ToolFailure, ToolResult

__all__ = ["InvalidGlobPatternError", "glob_result", "grep_result", "literal", "ls_result", "wider_glob"]

_UNREADABLE: Final = frozenset({"denied", "failed"})
"""Kinds of what was skipped although it may hold what is searched for."""


def literal(text: str) -> str:
    """Return the regular expression that means a text. RE2 takes a backslash before any ASCII sign, as `re` does."""
    return re.escape(text)


def wider_glob(pattern: str) -> str:
    """Return a glob of the workspace that means at least the files that a glob of deepagents means.

    Raises:
        InvalidGlobPatternError: deepagents refuses the pattern.
    """
    compile_grep_include_glob(pattern)
    if re.search(r"\{[^{}]*\.\.|\[:", pattern):
        return "**"  # ranges of braces and classes of characters, which our globs have not
    return f"./{pattern.lstrip('/')}" if pattern.startswith("/") else pattern


def ls_result(path: str, result: ToolResult) -> LsResult:
    """Return the entries of a directory that can be named, or deepagents' own words for what is none."""
    if isinstance(result, ToolFailure):
        known = {ErrorCode.NOT_FOUND: "path_not_found", ErrorCode.NOT_DIRECTORY: "not_a_directory"}
        words = next((words for code, words in known.items() if code == result.code), None)
        return LsResult(error=result.text if words is None else f"Path '{path}': {words}")
    value = cast("ListDirValue", result.value)
    if value["truncated_by"] == "seconds":
        # There is no place to say that something is missing.
        return LsResult(error=f"Path '{path}': the store did not tell all names in time; try again")
    entries: list[FileInfo] = []
    for entry in value["entries"]:
        if entry["addressable"]:
            is_directory = entry["type"] == "directory"
            info = FileInfo(path=f"/{entry['path']}{'/' if is_directory else ''}", is_dir=is_directory)
            if (size := entry.get("size")) is not None:
                info["size"] = size
            entries.append(info)
    return LsResult(entries=entries)


def glob_result(pattern: str, result: ToolResult) -> GlobResult:
    """Return the files that a glob of deepagents means."""
    if isinstance(result, ToolFailure):
        return GlobResult(error=result.text)
    value = cast("GlobValue", result.value)
    is_meant = compile_grep_include_glob(pattern)
    matches = [
        FileInfo(path=f"/{path}", is_dir=False)
        for path in value["paths"]
        if not path.endswith("/") and is_meant(_below(path, value["path"]))
    ]
    reason: GlobTruncationReason | None = None
    if value["truncated_by"] is not None:
        reason = "budget"
    elif _unreadable(value):
        reason = "unreadable"
    return GlobResult(matches=matches, truncated=reason is not None, truncation_reason=reason)


def grep_result(include: str | None, result: ToolResult, *, max_count: int | None) -> GrepResult:
    """Return the lines that hold the text, of files that a glob of deepagents means."""
    if isinstance(result, ToolFailure):
        return GrepResult(error=f"Error: {result.text}")
    value = cast("GrepValue", result.value)
    is_meant = None if include is None else compile_grep_include_glob(include)
    matches = [
        GrepMatch(path=f"/{file['path']}", line=line["number"], text=line["text"])
        for file in value["files"]
        if is_meant is None or is_meant(_below(file["path"], value["path"]))
        for line in file["lines"]
    ]
    is_cut = value["truncated_by"] is not None or (max_count is not None and len(matches) > max_count)
    error = f"Error: not everything could be searched: {left_out}" if (left_out := _unreadable(value)) else None
    return GrepResult(error=error, matches=matches[:max_count], truncated=is_cut)


def _below(path: str, start: str) -> str:
    """Return a path relative to where a search began; of a file that was itself searched, its name."""
    if path == start:
        return PurePosixPath(path).name
    return path if start == "." else path.removeprefix(f"{start}/")


def _unreadable(value: GlobValue | GrepValue) -> str | None:
    """Return how much could not be looked at, however narrow the search; None if everything could."""
    skipped = [f"{entry['kind']}: {entry['count']}" for entry in value["skipped"] if entry["kind"] in _UNREADABLE]
    if value["exact"] or value["truncated_by"] is not None:
        return ", ".join(skipped) or None
    return ", ".join([*skipped, "directories with too many names"])
