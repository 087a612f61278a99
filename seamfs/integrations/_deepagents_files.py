"""What a deepagents backend does, on the event loop of the workspace: virtual paths in, results of deepagents out."""

from base64 import standard_b64encode
from collections.abc import Mapping, Sequence
from pathlib import PurePosixPath
from typing import Final, cast
from weakref import WeakKeyDictionary

from deepagents.backends.protocol import (
    EditResult,
    FileData,
    FileDownloadResponse,
    FileOperationError,
    FileUploadResponse,
    GlobResult,
    GrepResult,
    LsResult,
    ReadResult,
    WriteResult,
)
from pydantic import JsonValue

from fs_core.errors import ErrorCode, FsError, NotObserved, Reason, StaleVersion
from fs_core.policy import Unguarded
from fs_core.session import FileSession
from seamfs.config import Settings
from seamfs.file_tools import make_file_tools
from seamfs.integrations._agent_tools import AgentTools
from seamfs.integrations._deepagents_search import (
    InvalidGlobPatternError,
    glob_result,
    grep_result,
    literal,
    ls_result,
    wider_glob,
)
from seamfs.workspace import Workspace
from tool_fs.limits import ReadLimits
from tool_fs.values import EditValue, ReadValue
from tool_runtime import GLOBAL, RuntimeCode, ScopeId, ToolFailure, ToolResult
from tool_runtime.scheduler import Shared, run_in_lanes

__all__ = ["MEDIA_SUFFIXES", "VirtualFiles"]

MEDIA_SUFFIXES: Final = frozenset(
    {
        *(".png", ".jpeg", ".jpg", ".webp", ".gif", ".heic", ".heif"),
        *(".mp4", ".mpeg", ".mov", ".avi", ".flv", ".mpg", ".webm", ".wmv", ".3gpp", ".mkv"),
        *(".wav", ".mp3", ".aiff", ".aac", ".ogg", ".flac"),
        *(".pdf", ".ppt", ".pptx"),
    }
)
"""Names that deepagents 0.7.32 takes for pictures, sounds, videos and documents, and whose content it wants as base64
(`_EXTENSION_TO_FILE_TYPE` and `_VIDEO_EXTRA_EXTENSIONS` of `deepagents.backends.utils`)."""

_WIDE_READ: Final = ReadLimits(max_lines=20_000, max_line_chars=1 << 20, max_page_bytes=1 << 20)
_WIDE_SEARCH: Final = {
    "max_entries": 20_000,
    "max_matches": 10_000,
    "max_result_bytes": 4 << 20,
    "max_line_chars": 1 << 16,
}
"""The middleware shows 80,000 characters by default, and says itself what it cuts. So it does of a listing that is cut
here: 20,000 names are more."""

_GLOB_TIMEOUT_S: Final = 8.0
"""The middleware gives a glob up after 10 seconds, and with it what was found."""

_TRANSFERS_AT_ONCE: Final = 10

_TRANSFER_ERRORS: Final[Mapping[ErrorCode, FileOperationError]] = {
    ErrorCode.NOT_FOUND: "file_not_found",
    ErrorCode.PERMISSION_DENIED: "permission_denied",
    ErrorCode.SANDBOX_DENIED: "permission_denied",
    ErrorCode.NOT_REGULAR_FILE: "is_directory",
    ErrorCode.NOT_DIRECTORY: "invalid_path",
    ErrorCode.INVALID_PATH: "invalid_path",
}

_scopes: WeakKeyDictionary[Workspace, dict[ScopeId, ScopeId]] = WeakKeyDictionary()


class VirtualFiles:
    """The operations for one agent."""

    def __init__(self, tools: AgentTools) -> None:
        self._given = tools
        self._tools: AgentTools | None = None

    async def read(self, file_path: str, offset: int, limit: int) -> ReadResult:
        """Return a window of a text file, or a whole file of another kind."""
        if limit <= 0:
            return ReadResult(file_data=FileData(content="", encoding="utf-8"), no_lines_requested=True)
        path = _relative(file_path)
        if PurePosixPath(path).suffix.lower() in MEDIA_SUFFIXES:
            return await self._read_media(path)
        result = await self._call("read", {"file_path": path, "offset": max(offset, 0) + 1, "limit": limit})
        if isinstance(result, ToolFailure):
            return ReadResult(error=result.text)
        return _page(cast("ReadValue", result.value))

    async def _read_media(self, path: str) -> ReadResult:
        # Whoever watches over reads, or forbids one, is asked as for text.
        result = await self._call("read", {"file_path": path, "limit": 1})
        if isinstance(result, ToolFailure) and result.code != ErrorCode.NOT_TEXT:
            return ReadResult(error=result.text)
        try:
            data = await self._given.session.read_bytes(path)
        except FsError as error:
            return ReadResult(error=f"{error.code}: {error}")
        return ReadResult(file_data=FileData(content=standard_b64encode(data).decode(), encoding="base64"))

    async def write(self, file_path: str, content: str) -> WriteResult:
        """Create or replace a file."""
        result = await self._call("write", {"file_path": _relative(file_path), "content": content})
        if isinstance(result, ToolFailure):
            return WriteResult(error=_error(result))
        return WriteResult(path=file_path)

    async def edit(self, file_path: str, old_string: str, new_string: str, *, replace_all: bool) -> EditResult:
        """Replace text in a file."""
        arguments: dict[str, JsonValue] = {
            "file_path": _relative(file_path),
            "old_string": old_string,
            "new_string": new_string,
            "replace_all": replace_all,
        }
        result = await self._call("edit", arguments)
        if isinstance(result, ToolFailure):
            return EditResult(error=_error(result))
        return EditResult(path=file_path, occurrences=cast("EditValue", result.value)["replacements"])

    async def ls(self, path: str) -> LsResult:
        """Return the entries of a directory."""
        return ls_result(path, await self._call("list_dir", {"path": _relative(path)}))

    async def glob(self, pattern: str, path: str | None) -> GlobResult:
        """Return the files that a pattern means."""
        try:
            wider = wider_glob(pattern)
        except InvalidGlobPatternError as error:
            return GlobResult(error=str(error))
        return glob_result(pattern, await self._call("glob", {"pattern": wider, "path": _relative(path or "/")}))

    async def grep(self, text: str, path: str | None, include: str | None, *, max_count: int | None) -> GrepResult:
        """Return the lines that hold a text."""
        try:
            wider = None if include is None else wider_glob(include)
        except InvalidGlobPatternError as error:
            return GrepResult(error=str(error))
        if "\n" in text:
            return GrepResult(matches=[])  # no line holds one
        arguments: dict[str, JsonValue] = {"pattern": literal(text), "path": _relative(path or "/"), "include": wider}
        return grep_result(include, await self._call("grep", arguments), max_count=max_count)

    async def upload(self, files: Sequence[tuple[str, bytes]]) -> list[FileUploadResponse]:
        """Write whole files, each for itself."""
        return await run_in_lanes(files, _side_by_side, self._upload, overlap_max=_TRANSFERS_AT_ONCE)

    async def download(self, paths: Sequence[str]) -> list[FileDownloadResponse]:
        """Return whole files, each for itself, which count as read."""
        return await run_in_lanes(paths, _side_by_side, self._download, overlap_max=_TRANSFERS_AT_ONCE)

    async def _upload(self, file: tuple[str, bytes]) -> FileUploadResponse:
        path, content = file
        if self._given.workspace.tools.get("write", self._given.scope) is None:
            return FileUploadResponse(path=path, error="permission_denied")
        try:
            await self._given.session.write_bytes(_relative(path), content)
        except FsError as error:
            is_there = isinstance(error, NotObserved | StaleVersion) and await self._holds(path, content)
            return FileUploadResponse(path=path, error=None if is_there else _transfer_error(error))
        return FileUploadResponse(path=path)

    async def _holds(self, path: str, content: bytes) -> bool:
        """Tell whether a file has this content; the agent does not get to see it, so it has not read it either."""
        behind_its_back = FileSession(self._given.workspace.files, policy=Unguarded())
        try:
            return await behind_its_back.read_bytes(_relative(path)) == content
        except FsError:
            return False

    async def _download(self, path: str) -> FileDownloadResponse:
        try:
            return FileDownloadResponse(path=path, content=await self._given.session.read_bytes(_relative(path)))
        except FsError as error:
            return FileDownloadResponse(path=path, error=_transfer_error(error))

    async def _call(self, name: str, arguments: Mapping[str, JsonValue]) -> ToolResult:
        if self._tools is None:
            self._tools = self._given.in_scope(_wide_scope(self._given))
        return await self._tools.call(name, arguments)


def _wide_scope(tools: AgentTools) -> ScopeId:
    """Return a scope of the workspace in which tools show more at once, where they are seen at all; made once."""
    workspace, parent = tools.workspace, tools.scope or GLOBAL
    made = _scopes.setdefault(workspace, {})
    if parent not in made:
        made[parent] = workspace.tools.scope(parent)
        for name in ("read", "list_dir", "glob", "grep"):
            if workspace.tools.get(name, parent) is not None:
                for tool in make_file_tools(frozenset({name}), _wide(name, workspace.settings)):
                    workspace.tools.register(tool, made[parent])
    return made[parent]


def _wide(name: str, settings: Settings) -> Settings:
    search = settings.search.model_copy(update=_WIDE_SEARCH)
    if name == "glob":
        search = search.model_copy(update={"timeout_s": min(search.timeout_s, _GLOB_TIMEOUT_S)})
    return settings.model_copy(update={"read": _WIDE_READ, "search": search})


def _page(value: ReadValue) -> ReadResult:
    lines = value["lines"]
    if not lines:
        return ReadResult(file_data=FileData(content="", encoding="utf-8"))
    last = value["offset"] + len(lines) - 1
    ends_with_newline = value["final_newline"] or last < value["total_lines"]
    content = "\n".join(line["text"] for line in lines) + ("\n" if ends_with_newline else "")
    return ReadResult(
        file_data=FileData(content=content, encoding="utf-8"),
        total_lines=value["total_lines"],
        start_line=value["offset"],
        end_line=last,
        next_offset=None if value["next_offset"] is None else last,
    )


def _relative(path: str) -> str:
    """Return a virtual path as the workspace has it; its root is a dot."""
    return path.lstrip("/") or "."


def _error(failure: ToolFailure) -> str:
    """Return the whole text that the middleware shows for a failed write or edit."""
    if failure.code == RuntimeCode.UNKNOWN_TOOL:
        return f"Error: {ErrorCode.PERMISSION_DENIED}: this workspace can be read and not changed"
    return f"Error: {failure.text}"


def _transfer_error(error: FsError) -> FileOperationError | str:
    known = _TRANSFER_ERRORS.get(error.code)
    if known is None or error.reason == Reason.IS_SPECIAL:
        return f"{error.code}: {error}"
    return known


def _side_by_side(_file: object) -> Shared:
    return Shared()
