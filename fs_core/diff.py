"""Unified diff of one change, computed around the change only and bounded. Pure."""

from collections.abc import Callable, Iterator, Sequence
from difflib import SequenceMatcher
from typing import Final

from fs_core._bytes_search import count_newlines
from fs_core.errors import quote_path
from fs_core.splice import Replacement, Splice

__all__ = ["common_affixes", "content_diff", "unified_diff"]

CONTEXT_LINES: Final = 3
LINES_COMPARED_MAX: Final = 1_000
REGION_BYTES_MAX: Final = 1 << 20
LINES_SHOWN_MAX: Final = 120
LINE_CHARS_MAX: Final = 400
_BLOCK: Final = 1 << 16


def common_affixes(before: bytes, after: bytes) -> tuple[int, int]:
    """Return the lengths of the longest common prefix and, after it, the longest common suffix."""
    limit = min(len(before), len(after))
    prefix = _common_length(limit, lambda start, end: before[start:end] == after[start:end])
    suffix = _common_length(
        limit - prefix,
        lambda start, end: (
            before[len(before) - end : len(before) - start] == after[len(after) - end : len(after) - start]
        ),
    )
    return prefix, suffix


def _common_length(limit: int, same: Callable[[int, int], bool]) -> int:
    """Return the largest n up to `limit` for which all of [0, n) is the same: by blocks, then by halving one block."""
    low = 0
    while low < limit and same(low, min(low + _BLOCK, limit)):
        low = min(low + _BLOCK, limit)
    high = min(low + _BLOCK, limit)
    while low < high:
        middle = (low + high + 1) // 2
        if same(low, middle):
            low = middle
        else:
            high = middle - 1
    return low


def content_diff(before: bytes, after: bytes, *, path: str, lines_max: int = LINES_SHOWN_MAX) -> str:
    """Return `unified_diff` of two contents of which it is not known where they differ."""
    prefix, suffix = common_affixes(before, after)
    change = Replacement(prefix, len(before) - suffix, after[prefix : len(after) - suffix])
    return unified_diff(Splice(before, (change,)), path=path, lines_max=lines_max)


def unified_diff(splice: Splice, *, path: str, lines_max: int = LINES_SHOWN_MAX) -> str:
    """Return the change that `splice` makes of one UTF-8 text to another as a unified diff; empty when there is none.

    At most `lines_max` lines of at most `LINE_CHARS_MAX` code points are shown; what was left out is said in the last
    line. Of the contents only the lines from the first replacement to the last, and a few around, are looked at.
    """
    before = splice.before
    if not splice.replacements:
        return ""
    start = _line_start(before, splice.replacements[0].start, lines_back=CONTEXT_LINES)
    end = _line_end(before, splice.replacements[-1].end)
    new_size = end - start + splice.size_bytes - len(before)
    if max(end - start, new_size) > REGION_BYTES_MAX:
        body = [f"[the change spans {max(end - start, new_size)} bytes of long lines and is not shown]"]
    else:
        old, new = before[start:end], splice.part(start, end)
        if old == new:
            return ""
        first_line = count_newlines(memoryview(before)[:start]) + 1
        body = [*_bounded(_hunks(_lines(old), _lines(new), first_line), lines_max)]
    shown = quote_path(path)
    return "\n".join([f"--- {shown}", f"+++ {shown}", *body]) + "\n"


def _line_start(data: bytes, position: int, *, lines_back: int) -> int:
    """Return the start of the line at `position`, or of the line `lines_back` before it."""
    block_start = max(0, position - _BLOCK)
    parts = data[block_start:position].split(b"\n")
    if len(parts) > lines_back + 1:
        return position - len(b"\n".join(parts[-lines_back - 1 :]))
    return block_start if block_start == 0 or len(parts) == 1 else block_start + len(parts[0]) + 1


def _line_end(data: bytes, position: int) -> int:
    """Return the end of the line `CONTEXT_LINES` after the one at `position`, its newline included.

    Nothing before `position` counts, so that old and new text end after the same lines of what they have in common.
    """
    end = position
    for _ in range(CONTEXT_LINES + 1):
        newline = data.find(b"\n", end)
        if newline < 0:
            return len(data)
        end = newline + 1
    return end


def _lines(region: bytes) -> list[str]:
    text = region.decode("utf-8", "ignore")
    lines = text.split("\n")
    if lines[-1]:
        lines[-1] += "\n\\ No newline at end of file"
        return lines
    return lines[:-1]


def _hunks(old: Sequence[str], new: Sequence[str], first_line: int) -> Iterator[str]:
    for group in _grouped_opcodes(old, new):
        _, old_start, _, new_start, _ = group[0]
        _, _, old_end, _, new_end = group[-1]
        old_range = _range(first_line, old_start, old_end)
        new_range = _range(first_line, new_start, new_end)
        yield f"@@ -{old_range} +{new_range} @@"
        for tag, i1, i2, j1, j2 in group:
            if tag == "equal":
                yield from (f" {line}" for line in old[i1:i2])
            else:
                yield from (f"-{line}" for line in old[i1:i2])
                yield from (f"+{line}" for line in new[j1:j2])


_Opcode = tuple[str, int, int, int, int]


def _grouped_opcodes(old: Sequence[str], new: Sequence[str]) -> Iterator[Sequence[_Opcode]]:
    if max(len(old), len(new)) <= LINES_COMPARED_MAX:
        # Lines that are everywhere are no anchors (`autojunk`): with them repetitive text takes cubic time.
        yield from SequenceMatcher(None, old, new).get_grouped_opcodes(CONTEXT_LINES)
        return
    # A change this large is shown as one replaced block: comparing it line by line takes quadratic time.
    before, after = _equal_ends(old, new)
    head = max(0, before - CONTEXT_LINES)
    tail = min(after, CONTEXT_LINES)
    old_end, new_end = len(old) - after, len(new) - after
    yield [
        ("equal", head, before, head, before),
        ("replace", before, old_end, before, new_end),
        ("equal", old_end, old_end + tail, new_end, new_end + tail),
    ]


def _equal_ends(old: Sequence[str], new: Sequence[str]) -> tuple[int, int]:
    limit = min(len(old), len(new))
    before = next((index for index in range(limit) if old[index] != new[index]), limit)
    after = next((index for index in range(limit - before) if old[-1 - index] != new[-1 - index]), limit - before)
    return before, after


def _range(first_line: int, start: int, end: int) -> str:
    length = end - start
    # An empty range names the line before it, as GNU diff does.
    line = first_line + start - (1 if length == 0 else 0)
    return f"{line}" if length == 1 else f"{line},{length}"


def _bounded(lines: Iterator[str], lines_max: int) -> Iterator[str]:
    left_out = 0
    for index, line in enumerate(lines):
        if index < lines_max:
            yield _cut(line)
        else:
            left_out += 1
    if left_out:
        yield f"[{left_out} more lines of the diff are not shown]"


def _cut(line: str) -> str:
    """Return a row of bounded length; that its newline is missing stays told."""
    text, newline, marker = line.partition("\n")
    return line if len(text) <= LINE_CHARS_MAX else f"{text[:LINE_CHARS_MAX]}...{newline}{marker}"
