"""What an operation came to: its result, or a refusal that says what to do. Pure."""

from dataclasses import dataclass
from typing import Final

from fs_core.contents import ENTRY_BYTES_MAX
from fs_core.diff import content_diff, unified_diff
from fs_core.edit import Ambiguous, Edit, Missing, Places, Spliced, apply_edit, count_places
from fs_core.errors import AmbiguousEdit, EditNotFound, NotText, Operation, StaleVersion
from fs_core.notes import write_notes
from fs_core.page import Page
from fs_core.text import NotTextFinding, find_not_text
from fs_core.types import Note, Snapshot, Target, Version, WriteReceipt

__all__ = [
    "DIFF_SOURCE_BYTES_MAX",
    "Edited",
    "PageRead",
    "Written",
    "changed_since",
    "deleted_since",
    "describe_write",
    "edited",
    "not_text",
    "spliced_or_refuse",
]

DIFF_SOURCE_BYTES_MAX: Final = 4 << 20
STALE_DIFF_LINES_MAX: Final = 24


@dataclass(frozen=True, slots=True)
class PageRead:
    """One window of a file, the version it is of, and which file it was."""

    target: Target
    page: Page
    version: Version


@dataclass(frozen=True, slots=True)
class Written:
    """A file that was created or replaced. `diff` is `None` where the old content is no text or too large."""

    target: Target
    created: bool
    version: Version
    size_bytes: int
    diff: str | None
    notes: tuple[Note, ...]


@dataclass(frozen=True, slots=True)
class Edited:
    """A file in which `replacements` places changed."""

    target: Target
    replacements: int
    version: Version
    diff: str
    notes: tuple[Note, ...]


def spliced_or_refuse(data: bytes, edit: Edit, target: Target) -> Spliced:
    """Return what `edit` makes of the content.

    Raises:
        EditNotFound: `old_string` does not occur, with the reason as far as it can be told.
        AmbiguousEdit: it occurs at several places and one was meant.
    """
    outcome = apply_edit(data, edit)
    match outcome:
        case Spliced():
            return outcome
        case Missing():
            # What explains takes long to load, and most edits match.
            from fs_core.mismatch import explain_mismatch

            reason = f"old_string does not occur in the file; it was not changed; {explain_mismatch(data, edit)}"
            raise EditNotFound(reason, path=target.display_path, operation="edit")
        case Ambiguous(places=places, lines=lines):
            where = ("line " if len(lines) == 1 else "lines ") + ", ".join(str(line) for line in lines)
            reason = (
                f"old_string has {places} possible places ({where}); the file was not changed; "
                "add surrounding lines to make it unique, or set replace_all"
            )
            raise AmbiguousEdit(reason, path=target.display_path, operation="edit")


def edited(target: Target, spliced: Spliced, receipt: WriteReceipt) -> Edited:
    """Return the result of an edit that has been published."""
    return Edited(
        target=target,
        replacements=spliced.replacements,
        version=receipt.version,
        diff=unified_diff(spliced.splice, path=target.display_path),
        notes=receipt.notes,
    )


def describe_write(
    before: Snapshot | None, data: bytes, receipt: WriteReceipt, target: Target
) -> tuple[str | None, tuple[Note, ...]]:
    """Return the change that a write made, if both contents are text and small enough, and what changed besides."""
    if receipt.created:
        old = b""
    elif before is None or not before.is_whole or find_not_text(before.data) is not None:
        return None, ()
    else:
        old = before.data
    if len(data) > DIFF_SOURCE_BYTES_MAX:
        return None, ()
    return content_diff(old, data, path=target.display_path), write_notes(old, data)


def deleted_since(target: Target, operation: Operation) -> StaleVersion:
    """Return the refusal to change a file that is gone."""
    reason = "was deleted since it was read; nothing was written"
    return StaleVersion(reason, path=target.display_path, operation=operation)


def changed_since(before: bytes | None, current: Snapshot, target: Target, edit: Edit | None) -> StaleVersion:
    """Return the refusal to change a file that is no longer as it was seen; `before` is what was, if still known."""
    reason = "changed since it was read; nothing was written"
    if edit is not None:
        reason = f"{reason}; {_still_there(count_places(current.data, edit))}"
    diff = None
    if before is not None and current.is_whole and current.size_bytes <= ENTRY_BYTES_MAX:
        diff = content_diff(before, current.data, path=target.display_path, lines_max=STALE_DIFF_LINES_MAX)
    operation: Operation = "write" if edit is None else "edit"
    return StaleVersion(reason, path=target.display_path, operation=operation, diff=diff)


def _still_there(places: Places) -> str:
    match places.count:
        case 0:
            return "old_string does not occur in it any more"
        case 1:
            return "old_string still occurs exactly once"
        case _:
            return f"old_string has {places} possible places in it now"


def not_text(finding: NotTextFinding, size_bytes: int, target: Target, operation: Operation) -> NotText:
    """Return the refusal of a file that is no text. Slow the first time: the guess at an encoding loads a library."""
    reason = f"is not UTF-8 text: byte {finding.offset} of {size_bytes}; {finding.reason()}"
    return NotText(reason, path=target.display_path, operation=operation)
