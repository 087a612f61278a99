from collections.abc import Sequence
from itertools import pairwise

from hypothesis import example, given
from hypothesis import strategies as st

from fs_core.search.lines import Found, LineScanner, LineSearch, Room, search_whole
from fs_core.search.outcomes import SkipReason
from tests.fs_core.search import lines_reference as reference

pieces = st.sampled_from(
    [
        "a",
        "b",
        "ab",
        "foo",
        "fo",
        "é",
        "日本",
        "\r",
        "\n",
        "\r\n",
        "\n\n",
        " ",
        "\t",
        "x" * 30,
        "\ufeff",
        "_",
        "A",
        "Foo",
    ]
)
texts = st.lists(pieces, max_size=30).map(lambda parts: "".join(parts).encode())
contents = st.one_of(
    texts,
    texts.map(lambda text: b"\xef\xbb\xbf" + text),
    st.tuples(texts, st.sampled_from([b"\0", b"\xff", b"\xc3", b"\xff\0"]), texts).map(b"".join),
)
# Written alike for `re` and for RE2 and meaning the same on ASCII classes, which is all that the texts tell apart.
atoms = st.sampled_from(
    ["a", "b", "fo", "foo", "é", "日", ".", r"\.", "[ab]", "[^a]", r"(?:a|fo)", "(?:b)", r"\r", "x", "^", "$", r"\A"]
)
repeated = st.tuples(atoms, st.sampled_from(["", "", "", "*", "+", "?", "{2}", "{1,3}", "+?", "*?"])).map(
    lambda parts: parts[0] if parts[0] in {"^", "$", r"\A"} else "".join(parts)
)
patterns = st.one_of(
    st.lists(repeated, min_size=1, max_size=5).map("".join),
    st.tuples(st.lists(repeated, min_size=1, max_size=3).map("".join), repeated).map("|".join),
    st.sampled_from(["foo", "a", "é", "foo.*b", "^$", "$", "", "x{20,}", "(?i)foo", "(?:fo(?:o|x)|日)+"]),
)
contexts = st.integers(min_value=0, max_value=3)
rooms = st.builds(
    Room, matches=st.sampled_from([0, 1, 2, 3, 1_000]), size_bytes=st.sampled_from([0, 10, 40, 1_000_000])
)
cuts = st.lists(st.integers(min_value=0, max_value=200), max_size=8)


@given(data=contents, pattern=patterns, context=contexts, room=rooms, ignore_case=st.booleans())
@example(data=b"foo_foo\n\na", pattern="[fa]", context=1, room=Room(matches=2, size_bytes=8), ignore_case=False)
def test_a_search_finds_what_looking_at_each_line_by_itself_finds(
    data: bytes, pattern: str, context: int, room: Room, ignore_case: bool
) -> None:
    search = reference.search(pattern, context=context, ignore_case=ignore_case)
    assert search_whole(data, search, room) == reference.expected(
        data, pattern, context=context, room=room, ignore_case=ignore_case
    )


@given(
    data=contents,
    pattern=patterns,
    context=contexts,
    room=rooms,
    at=cuts,
    line_chars_max=st.sampled_from([1, 5, 500]),
    line_bytes_max=st.sampled_from([3, 40, 1_000]),
)
def test_however_a_file_is_cut_into_pieces_its_scan_gives_what_the_search_of_the_whole_gives(
    *, data: bytes, pattern: str, context: int, room: Room, at: list[int], line_chars_max: int, line_bytes_max: int
) -> None:
    search = reference.search(pattern, context=context, line_chars_max=line_chars_max)
    search.pattern.line_bytes_max = line_bytes_max
    search.pattern.step_bytes = min(line_bytes_max, 7)
    assert _scanned(_chunks(data, at), search, room) == search_whole(data, search, room)
    assert _scanned([data[index : index + 1] for index in range(len(data))], search, room) == search_whole(
        data, search, room
    )


@given(data=texts, pattern=patterns, context=contexts, steps=st.integers(min_value=1, max_value=20))
def test_steps_of_any_length_find_the_same(data: bytes, pattern: str, context: int, steps: int) -> None:
    stepped, at_once = reference.search(pattern, context=context), reference.search(pattern, context=context)
    stepped.pattern.step_bytes = steps
    assert search_whole(data, stepped, reference.room()) == search_whole(data, at_once, reference.room())


@given(data=texts, pattern=patterns, line_chars_max=st.integers(min_value=1, max_value=12))
def test_what_is_shown_of_a_line_is_a_part_of_it_of_the_length_that_is_told(
    data: bytes, pattern: str, line_chars_max: int
) -> None:
    found = search_whole(data, reference.search(pattern, context=1, line_chars_max=line_chars_max), reference.room())
    assert not isinstance(found, SkipReason)
    lines = reference.texts(data)
    for shown in found.lines if found is not None else ():
        line = lines[shown.number - 1]
        assert shown.text == line[shown.from_char : shown.from_char + line_chars_max]
        assert shown.length_chars == (len(line) if len(line) > line_chars_max else None)


def _chunks(data: bytes, at: Sequence[int]) -> list[bytes]:
    positions = [0, *sorted(min(position, len(data)) for position in at), len(data)]
    return [data[start:end] for start, end in pairwise(positions)]


def _scanned(chunks: Sequence[bytes], search: LineSearch, room: Room) -> Found | SkipReason | None:
    scanner = LineScanner(search, room)
    for chunk in chunks:
        buffer = bytearray(chunk)
        if not scanner.feed(buffer):
            break
        buffer[:] = b"\n" * len(buffer)  # the next piece may come in the same buffer
    return scanner.finish()
