"""What the files of a search have is put together, in order and as far as there is room. Pure."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from typing import TypeAlias

from fs_core.search.lines import Found, Room, shown_bytes
from fs_core.search.outcomes import Bound, FileMatches, MatchLine, SkipReason

__all__ = ["Gathering", "Outcome"]

Outcome: TypeAlias = Found | SkipReason | None
"""What a file has, why it was not searched, or `None` if no line matches."""


class Gathering:
    """Takes one file after another, until there is no room for further lines.

    Attributes:
        room: What there is room for; it shrinks.
        shown: Files with their lines.
        matches: Matching lines among them.
        searched: Files that were looked at as a whole.
        skipped: Files that were not searched, by reason.
        is_full: Whether the rest of the files is left.
        bound: What cut the lines of the last file, if anything did.
    """

    def __init__(self, room: Room, *, context: int) -> None:
        self.room = room
        self.shown: list[FileMatches] = []
        self.matches = 0
        self.searched = 0
        self.skipped: Counter[SkipReason] = Counter()
        self.is_full = False
        self.bound: Bound | None = None
        self._context = context

    def add(self, path: str, outcome: Outcome) -> None:
        """Take the next file, whose outcome comes of a search for which there was this room or more."""
        if outcome is None:
            self.searched += 1
        elif isinstance(outcome, SkipReason):
            self.skipped[outcome] += 1
        else:
            self._show(path, outcome)

    def _show(self, path: str, found: Found) -> None:
        room = self.room
        path_bytes = len(path.encode()) + 1
        lines, self.bound = _fitting(
            found, replace(room, size_bytes=room.size_bytes - path_bytes), context=self._context
        )
        self.searched += self.bound is None
        if lines:
            self.shown.append(FileMatches(path, tuple(lines)))
            matches = sum(line.is_match for line in lines)
            self.matches += matches
            room.matches -= matches
            room.size_bytes -= path_bytes + sum(map(shown_bytes, lines))
        self.is_full = self.bound is not None or room.matches == 0


def _fitting(found: Found, room: Room, *, context: int) -> tuple[Sequence[MatchLine], Bound | None]:
    """Return the first lines, for which there is room, and what cut the rest; no line without the match it is near."""
    kept: list[MatchLine] = []
    size_bytes = matches = last_match = 0
    for line in found.lines:
        if matches == room.matches and (line.is_match or line.number > last_match + context):
            return kept, Bound.MATCHES
        size_bytes += shown_bytes(line)
        if size_bytes > room.size_bytes:
            last_shown = last_match + context if matches else 0
            return [line for line in kept if line.number <= last_shown], Bound.BYTES
        kept.append(line)
        if line.is_match:
            matches, last_match = matches + 1, line.number
    return kept, Bound.MATCHES if found.has_more else None
