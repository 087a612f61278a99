"""The three tools, ready to register. Their owner is a `FileSession`."""

from typing import Any, Final, cast

from pydantic import JsonValue

from fs_core.errors import ErrorCode
from tool_fs.arguments import EditArgs, ReadArgs, WriteArgs
from tool_fs.limits import ReadLimits
from tool_fs.owner import file_session
from tool_fs.pages import read_page
from tool_fs.remedies import tool_errors
from tool_fs.render import render_edit, render_read, render_write
from tool_fs.results import note_values, version_text
from tool_fs.values import EditValue, ReadValue, WriteValue
from tool_runtime import TextBlock, Tool, ToolAnnotations, ToolContext

__all__ = ["file_tools"]

_READ: Final = (
    "Read a UTF-8 text file, or a part of it. Returns its lines as `N: text`, and where to continue if there are more. "
    "offset is the first line, counting from 1; limit is the number of lines. "
    "Line numbers are no part of the file."
)
_WRITE: Final = (
    "Create a file, or replace the whole content of one. Missing directories are made. "
    "To change a part of a file use edit."
)
_WRITE_GUARDED: Final = (
    " Creating a file needs no read. Before an existing file is replaced it must have been read, written or edited in "
    "this session (any part counts), and it must not have changed since; otherwise nothing is written."
)
_EDIT: Final = (
    "Replace text in an existing file. old_string is matched literally, whitespace and letter case included, and must "
    "occur exactly once unless replace_all is true. All other bytes stay as they are."
)
_EDIT_GUARDED: Final = (
    " The file must have been read, written or edited in this session (any part counts) and must not have changed "
    "since; otherwise nothing is written."
)


def file_tools(
    *, limits: ReadLimits | None = None, read_only: bool = False, guarded: bool = True
) -> tuple[Tool[Any], ...]:
    """Return read, write and edit, or read alone. The caller of the runtime passes a `FileSession` as owner.

    `guarded` tells whether its policy wants a file to be read before it is changed, which the descriptions then say.
    """
    read = _read_tool(limits or ReadLimits())
    if read_only:
        return (read,)
    return (
        read,
        _write_tool(_WRITE + _WRITE_GUARDED if guarded else _WRITE),
        _edit_tool(_EDIT + _EDIT_GUARDED if guarded else _EDIT),
    )


def _read_tool(limits: ReadLimits) -> Tool[ReadArgs]:
    async def execute(args: ReadArgs, context: ToolContext) -> JsonValue:
        with tool_errors(args.file_path):
            session, path = file_session(context), args.file_path
            value = await read_page(session, path, offset=args.offset, limit=args.limit, limits=limits)
        return cast("JsonValue", value)

    return Tool(
        name="read",
        description=(
            f"{_READ} A page holds at most {limits.max_lines} lines and {limits.max_page_bytes} bytes; "
            f"a line is cut after {limits.max_line_chars} characters."
        ),
        parameters=ReadArgs,
        output=ReadValue,
        execute=execute,
        render=lambda _, value: [TextBlock(render_read(cast("ReadValue", value)))],
        concurrency_safe=lambda _: True,
        not_unicode_code=ErrorCode.INVALID_PATH,
        example={"file_path": "src/main.py", "offset": 1, "limit": 200},
        annotations=ToolAnnotations(read_only=True, destructive=False, idempotent=True),
    )


def _write_tool(description: str) -> Tool[WriteArgs]:
    async def execute(args: WriteArgs, context: ToolContext) -> JsonValue:
        with tool_errors(args.file_path):
            written = await file_session(context).write(args.file_path, args.content)
        value = WriteValue(
            path=written.target.display_path,
            operation="create" if written.created else "update",
            version=version_text(written.version),
            bytes=written.size_bytes,
            diff=written.diff,
            notes=note_values(written.notes),
        )
        return cast("JsonValue", value)

    return Tool(
        name="write",
        description=description,
        parameters=WriteArgs,
        output=WriteValue,
        execute=execute,
        render=lambda _, value: [TextBlock(render_write(cast("WriteValue", value)))],
        concurrency_key=lambda args: _path_key(args.file_path),
        not_unicode_code=ErrorCode.NOT_TEXT,
        example={"file_path": "notes/todo.md", "content": "one line\n"},
        annotations=ToolAnnotations(read_only=False, destructive=True, idempotent=True),
    )


def _edit_tool(description: str) -> Tool[EditArgs]:
    async def execute(args: EditArgs, context: ToolContext) -> JsonValue:
        with tool_errors(args.file_path):
            edited = await file_session(context).edit(args.file_path, args.edit)
        value = EditValue(
            path=edited.target.display_path,
            replacements=edited.replacements,
            version=version_text(edited.version),
            diff=edited.diff,
            notes=note_values(edited.notes),
        )
        return cast("JsonValue", value)

    return Tool(
        name="edit",
        description=description,
        parameters=EditArgs,
        output=EditValue,
        execute=execute,
        render=lambda _, value: [TextBlock(render_edit(cast("EditValue", value)))],
        concurrency_key=lambda args: _path_key(args.file_path),
        not_unicode_code=ErrorCode.NOT_TEXT,
        example={"file_path": "src/main.py", "old_string": "timeout = 10", "new_string": "timeout = 30"},
        annotations=ToolAnnotations(read_only=False, destructive=True, idempotent=False),
    )


def _path_key(path: str) -> str | None:
    """Return the same key for all spellings of one path, relative or absolute: the file's own name.

    Files of one name in different directories wait for each other too, which costs little. A path that ends with
    `..` gets none and runs alone; a link under another name is left to the seam's lock.
    """
    names = [name for name in path.split("/") if name not in {"", "."}]
    return names[-1].casefold() if names and names[-1] != ".." else None
