"""What a search of one file gives, the slow and obvious way: line by line, with the `re` of Python."""

import re

from fs_core.search.lines import Found, LineSearch, Room, shown_bytes
from fs_core.search.outcomes import MatchLine, SkipReason
from fs_core.search.pattern import line_pattern


def search(pattern: str, *, context: int = 0, line_chars_max: int = 500, ignore_case: bool = False) -> LineSearch:
    return LineSearch(
        pattern=line_pattern(pattern, ignore_case=ignore_case),
        context=context,
        line_chars_max=line_chars_max,
        check=lambda: None,
    )


def room(matches: int = 1_000, size_bytes: int = 1_000_000) -> Room:
    return Room(matches=matches, size_bytes=size_bytes)


def expected(
    data: bytes, pattern: str, *, context: int, room: Room, ignore_case: bool = False
) -> Found | SkipReason | None:
    if b"\0" in data:
        return SkipReason.BINARY
    try:
        lines = texts(data)
    except UnicodeDecodeError:
        return SkipReason.UNDECODABLE
    compiled = re.compile(pattern, re.IGNORECASE if ignore_case else 0)
    matching = [index for index, line in enumerate(lines) if compiled.search(line)]
    shown: dict[int, MatchLine] = {}
    has_more = False
    for matches, index in enumerate(matching):
        if matches >= room.matches or sum(map(shown_bytes, shown.values())) > room.size_bytes:
            has_more = True
            break
        near = range(max(0, index - context), min(len(lines), index + context + 1))
        following = next((other for other in matching if other > index), len(lines))
        for other in near:
            if other < following:
                shown.setdefault(other, MatchLine(other + 1, lines[other], is_match=other == index))
    return Found(tuple(shown.values()), has_more) if shown or has_more else None


def texts(data: bytes) -> list[str]:
    """Return the lines as `read` shows them."""
    *ended, last = data.decode().removeprefix("\ufeff").split("\n")
    lines = [line.removesuffix("\r") for line in ended]
    return [*lines, last] if last else lines
