"""Literal replacement by the letter of the specification: fold, find everywhere, map back. Slow and obvious."""

from collections.abc import Iterator
from dataclasses import dataclass

from fs_core.edit import PLACES_COUNTED_MAX, Ambiguous, Edit, Missing, Places, Spliced
from fs_core.text import BOM


@dataclass(frozen=True)
class Content:
    """The new content, how many places changed, and that all are after `prefix_bytes` and before `suffix_bytes`."""

    data: bytes
    replacements: int
    prefix_bytes: int
    suffix_bytes: int


def told(outcome: Spliced | Missing | Ambiguous) -> Content | Missing | Ambiguous:
    """Return an outcome without how its splice is put together."""
    if not isinstance(outcome, Spliced):
        return outcome
    first, last = outcome.splice.replacements[0], outcome.splice.replacements[-1]
    suffix_bytes = len(outcome.splice.before) - last.end
    return Content(outcome.splice.joined(), outcome.replacements, first.start, suffix_bytes)


def expected_outcome(data: bytes, edit: Edit) -> Content | Missing | Ambiguous:
    units = list(_units(data))
    folded = "".join(character for character, _, _ in units)
    needle = edit.old_string.replace("\r\n", "\n")
    starts = [index for index in range(len(folded)) if folded.startswith(needle, index)]
    if not starts:
        return Missing()
    if len(starts) > 1 and not edit.replace_all:
        numbers = [folded.count("\n", 0, start) + 1 for start in starts[:10]]
        counted = Places(min(len(starts), PLACES_COUNTED_MAX), is_bound=len(starts) >= PLACES_COUNTED_MAX)
        return Ambiguous(places=counted, lines=tuple(dict.fromkeys(numbers)))
    kept: list[int] = []
    for start in starts:
        if not kept or start >= kept[-1] + len(needle):
            kept.append(start)
    spans = [(units[start][1], units[start + len(needle) - 1][2]) for start in kept]
    pieces: list[bytes] = []
    position = 0
    for start, (raw_start, raw_end) in zip(kept, spans, strict=True):
        pieces += [data[position:raw_start], _replacement(data, units, start, start + len(needle), edit.new_string)]
        position = raw_end
    pieces.append(data[position:])
    return Content(
        data=b"".join(pieces),
        replacements=len(spans),
        prefix_bytes=spans[0][0],
        suffix_bytes=len(data) - spans[-1][1],
    )


def _units(data: bytes) -> Iterator[tuple[str, int, int]]:
    """Yield each visible character with its raw start and end; CRLF is one newline, a byte order mark is none."""
    position = len(BOM) if data.startswith(BOM) else 0
    text = data[position:].decode()
    index = 0
    while index < len(text):
        raw = "\r\n" if text.startswith("\r\n", index) else text[index]
        yield "\n" if raw == "\r\n" else raw, position, position + len(raw.encode())
        position += len(raw.encode())
        index += len(raw)


def _replacement(data: bytes, units: list[tuple[str, int, int]], start: int, end: int, new_string: str) -> bytes:
    def endings(of: list[tuple[str, int, int]]) -> list[bytes]:
        return [data[raw_start:raw_end] for character, raw_start, raw_end in of if character == "\n"]

    replaced, after, before = endings(units[start:end]), endings(units[end:]), endings(units[:start])
    usable = replaced or after[:1] or before[-1:] or [b"\n"]
    first, *lines = new_string.replace("\r\n", "\n").split("\n")
    result = first.encode()
    for index, line in enumerate(lines):
        result += usable[min(index, len(usable) - 1)] + line.encode()
    return result
