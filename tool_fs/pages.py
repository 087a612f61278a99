"""One page of a file, as the tool returns it. Loads no library of schemas: whoever needs none does without."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fs_core.outcomes import PageRead
from fs_core.page import Window
from fs_core.session import FileSession
from tool_fs.limits import ReadLimits
from tool_fs.page_notes import page_notes
from tool_fs.results import version_text

if TYPE_CHECKING:
    from tool_fs.values import NoteValue, ReadLine, ReadValue

__all__ = ["read_page"]


async def read_page(
    session: FileSession, path: str, *, offset: int | None, limit: int | None, limits: ReadLimits
) -> ReadValue:
    """Return lines of a file.

    Args:
        session: Whose view of the files.
        path: Relative to the root.
        offset: First line, at least 1; by default the first of the file.
        limit: Lines at the most, at least 1; by default, and at the most, what a page holds.
        limits: What a page holds.

    Raises:
        FsError: As the session answers.
    """
    window = Window(
        first_line=offset or 1,
        lines_max=min(limit or limits.max_lines, limits.max_lines),
        line_chars_max=limits.max_line_chars,
        bytes_max=limits.max_page_bytes,
    )
    return _read_value(await session.read(path, window), clamped=_clamped(limit, limits))


def _clamped(limit: int | None, limits: ReadLimits) -> list[NoteValue]:
    if limit is None or limit <= limits.max_lines:
        return []
    text = f"limit {limit} is more than a page holds; at most {limits.max_lines} lines are shown at once"
    return [{"kind": "limit_clamped", "text": text}]


def _read_value(read: PageRead, *, clamped: list[NoteValue]) -> ReadValue:
    page = read.page
    lines: list[ReadLine] = [
        {"number": number, "text": text} for number, text in enumerate(page.texts, start=page.first_line)
    ]
    for number, length_chars in page.cut_lengths.items():
        lines[number - page.first_line]["length"] = length_chars
    return {
        "path": read.target.display_path,
        "offset": page.first_line,
        "lines": lines,
        "total_lines": page.total_lines,
        "next_offset": page.next_line,
        "truncated_by": page.truncated_by,
        "version": version_text(read.version),
        "final_newline": page.has_final_newline,
        "notes": [*clamped, *page_notes(page)],
    }
