"""What the local peers have in common: an agent's read and edit of files in one directory."""

from collections.abc import Callable
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

__all__ = ["FilePeer", "Peer", "RefusedError", "Span"]


@dataclass(frozen=True, slots=True)
class Span:
    """`lines` lines from `first_line` on, which counts from 1; the last ones of the file if `is_end`."""

    first_line: int
    lines: int
    is_end: bool = False


class RefusedError(Exception):
    """Raised when a peer does not make an edit, because its text is absent or ambiguous."""


class FilePeer(Protocol):
    """Files of one directory, by name. What is returned is what a model would be shown, or nothing."""

    async def read(self, name: str, span: Span) -> object:
        """Return lines of a file."""
        ...

    async def edit(self, name: str, old: str, new: str, *, everywhere: bool = False) -> object:
        """Replace the one place of a text, or all of them.

        Raises:
            RefusedError: There is no such place, or several, as far as the peer looks.
        """
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Peer:
    """How one takes part.

    Attributes:
        name: The column of the table.
        install: The line that installs it.
        version: Returns what is installed, `None` if nothing is.
        opened: Opens it on a directory, with its defaults unless its module says otherwise.
        read_note: What its pages leave out.
        edit_note: What its edits leave out.
        can_replace_all: Whether it has an edit of all places.
        refuses_ambiguous: Whether it refuses an edit whose text has several places.
        page_bytes_max: The largest file of which it is asked for a page; `None` for any.
        middle_bytes_max: The largest file whose middle it can be asked for without minutes of waiting.
        edit_bytes_max: The largest file that it edits without minutes of waiting.
        has_long_lines: Whether a line may have megabytes.
    """

    name: str
    install: str
    version: Callable[[], str | None]
    opened: Callable[[Path], AbstractAsyncContextManager[FilePeer]]
    read_note: str
    edit_note: str
    can_replace_all: bool = True
    refuses_ambiguous: bool = True
    page_bytes_max: int | None = None
    middle_bytes_max: int | None = None
    edit_bytes_max: int | None = None
    has_long_lines: bool = True
