"""What the demonstration does: one agent's session, and what somebody else does to its files meanwhile."""

from dataclasses import dataclass
from typing import Final

from tool_runtime import JsonObject

__all__ = ["PLAN", "SCRIPT", "Outside", "Turn"]


@dataclass(frozen=True, slots=True)
class Turn:
    """Calls that the model makes at once, as (tool, arguments), and the code each has to end with (`None`: success)."""

    title: str
    calls: tuple[tuple[str, JsonObject], ...]
    codes: tuple[str | None, ...] = (None,)


@dataclass(frozen=True, slots=True)
class Outside:
    """Somebody else writes a file, straight into the store."""

    title: str
    path: str
    content: bytes


PLAN: Final = "notes/plan.md"
READINGS: Final = "data/readings.csv"
SETTINGS: Final = "notes/settings.ini"

_READINGS: Final = b"time,celsius\n" + b"".join(b"%05d,%d.%d\n" % (n, 15 + n % 9, n % 10) for n in range(3_000))
_DRAFT: Final = "# Plan\n\n- TODO: measure\n- TODO: decide\n- owner: nobody\n- caf\u00e9 at noon \u2615\n"
_THEIRS: Final = "# Plan\n\n- TODO: measure twice\n- TODO: decide\n- owner: Ada\n- caf\u00e9 at noon \u2615\n"


def _edit(path: str, old: str, new: str) -> tuple[str, JsonObject]:
    return "edit", {"file_path": path, "old_string": old, "new_string": new}


def _read(path: str, **window: int) -> tuple[str, JsonObject]:
    return "read", {"file_path": path, **window}


SCRIPT: Final[tuple[Turn | Outside, ...]] = (
    Outside("A table of 3,000 readings is there already", READINGS, _READINGS),
    Outside(
        "So are somebody's settings, with Windows line endings", SETTINGS, b"[app]\r\ncolour = red\r\nsize = 3\r\n"
    ),
    Turn("Create a file", (("write", {"file_path": PLAN, "content": _DRAFT}),)),
    Turn("Read the table, a page at a time", (_read(READINGS, limit=4), _read(READINGS, offset=2_999)), (None, None)),
    Turn("Edit one line", (_edit(PLAN, "owner: nobody", "owner: Ada"),)),
    Turn("An edit that could mean two places is refused", (_edit(PLAN, "TODO", "DONE"),), ("FS_AMBIGUOUS_EDIT",)),
    Turn(
        "A file that was never read is not overwritten",
        (("write", {"file_path": SETTINGS, "content": "[app]\n"}),),
        ("FS_NOT_OBSERVED",),
    ),
    Outside("Somebody else changes the plan behind our back", PLAN, _THEIRS.encode()),
    Turn(
        "An edit of what has changed meanwhile is refused",
        (_edit(PLAN, "- TODO: measure", "- DONE: measured"),),
        ("FS_STALE_VERSION",),
    ),
    Turn("Read again", (_read(PLAN),)),
    Turn("The edit now lands on the new text", (_edit(PLAN, "- TODO: measure twice", "- DONE: measured twice"),)),
    Turn("Read the settings", (_read(SETTINGS),)),
    Turn(
        "Two edits of one file in one turn, at the same time",
        (_edit(SETTINGS, "colour = red", "colour = blue"), _edit(SETTINGS, "size = 3", "size = 4")),
        (None, None),
    ),
    Turn("Both are there, and the line endings are as they were", (_read(SETTINGS), _read(PLAN)), (None, None)),
)
