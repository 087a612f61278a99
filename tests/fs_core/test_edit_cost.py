"""What an edit takes: work in proportion to the file whatever is sought, and next to no memory besides the file."""

import time
import tracemalloc
from collections.abc import Callable

import pytest

from fs_core import _bytes_search, _matching
from fs_core.diff import unified_diff
from fs_core.edit import Ambiguous, Edit, Missing, Spliced, apply_edit

LINE = b"    return the_value_of(something, else_)"
SIZE_BYTES = 8 << 20
ENDINGS = {
    "lf": LINE + b"\n",
    "crlf": LINE + b"\r\n",
    "mixed": LINE + b"\n" + LINE + b"\r\n",
    "lone cr": LINE + b"\r-\n",
}


def a_file(kind: str, *, size_bytes: int = SIZE_BYTES) -> bytes:
    body = ENDINGS[kind] * (size_bytes // 2 // len(ENDINGS[kind]))
    return body + b"first of all\r\nsecond\n third of it\r\n" + body


def peak_bytes(work: Callable[[], object]) -> int:
    tracemalloc.start()
    try:
        before, _ = tracemalloc.get_traced_memory()
        work()
        return tracemalloc.get_traced_memory()[1] - before
    finally:
        tracemalloc.stop()


@pytest.mark.parametrize("kind", ENDINGS)
@pytest.mark.parametrize(
    ("old", "outcome"),
    [
        pytest.param("of all\nsecond\n third", Spliced, id="one place"),
        pytest.param("of all\nsecond\n thrd", Missing, id="no place"),
        pytest.param(LINE.decode(), Ambiguous, id="many places"),
    ],
)
def test_an_edit_holds_next_to_nothing_besides_the_file(kind: str, old: str, outcome: type) -> None:
    data = a_file(kind)
    edit = Edit(old, "one\ntwo\n")

    def work() -> None:
        result = apply_edit(data, edit)
        assert isinstance(result, outcome)
        if isinstance(result, Spliced):
            assert "+first one" in unified_diff(result.splice, path="a.txt")

    # Places that are counted are remembered, a hundred bytes or two each.
    assert peak_bytes(work) < SIZE_BYTES // 32 + (2 << 20 if outcome is Ambiguous else 0)


@pytest.mark.parametrize("kind", ENDINGS)
def test_replacing_every_line_holds_what_is_replaced_and_little_more(kind: str) -> None:
    data = a_file(kind)
    edit = Edit("value_of(", "value_for(", replace_all=True)
    results: list[object] = []
    assert peak_bytes(lambda: results.append(apply_edit(data, edit))) < 1.3 * SIZE_BYTES
    [result] = results
    assert isinstance(result, Spliced)
    assert result.replacements == data.count(b"value_of(")
    assert result.splice.joined() == data.replace(b"value_of(", b"value_for(")


@pytest.mark.parametrize("kind", ["lf", "crlf", "mixed"])
@pytest.mark.parametrize(("old", "new"), [("return", "yield"), ("return", "a\nb"), ("else_)\n", "\n")])
def test_tens_of_thousands_of_places_are_hundreds_of_replacements(kind: str, old: str, new: str) -> None:
    data = a_file(kind, size_bytes=1 << 20)
    result = apply_edit(data, Edit(old, new, replace_all=True))
    assert isinstance(result, Spliced)
    assert result.replacements > 20_000
    assert len(result.splice.replacements) < 300


PERIODIC = [
    pytest.param(b"abcdefgh", b"abcdefgh", b"abcdegfh", b"abcdefgh", id="two letters exchanged in the middle"),
    pytest.param(b"a", b"a", b"b", b"a", id="another letter in the middle"),
    pytest.param(b"a", b"a", b"", b"b", id="another end"),
    pytest.param(b"a\r\na\n", b"a\n", b"b\n", b"a\n", id="lines of mixed endings"),
    pytest.param(b"\r\n\n", b"\n", b"a", b"\n", id="newlines of mixed kinds"),
    pytest.param(b"\r\n", b"\n", b"\r\r", b"\n", id="a cr among crlf"),
]


@pytest.mark.parametrize("needle_bytes", [1_000, None])
@pytest.mark.parametrize(("unit", "before", "odd", "after"), PERIODIC)
def test_periodic_text_that_nearly_matches_everywhere_takes_linear_time(
    unit: bytes, before: bytes, odd: bytes, after: bytes, needle_bytes: int | None
) -> None:
    def seconds(size: int) -> float:
        data = unit * (size // len(unit))
        half = (needle_bytes or size // 8) // 2
        needle = before * (half // len(before)) + odd + after * (half // len(after))
        start = time.thread_time()
        assert apply_edit(data, Edit(needle.decode(), "x")) == Missing()
        return time.thread_time() - start

    small = min(seconds(1 << 16) for _ in range(3))
    # 16 times the size, and of the needle that grows with it: linear time is 16 times as long, quadratic 256 times.
    # What else a machine does can make it longer, though hardly every time.
    assert any(seconds(1 << 20) < 80 * small + 0.01 for _ in range(20))


def test_a_long_needle_is_not_given_to_the_search_that_is_quadratic(monkeypatch: pytest.MonkeyPatch) -> None:
    sizes: list[int] = []

    class Recorder:
        def find(self, text: bytes, substring: bytes, start: int) -> int:
            sizes.append(len(substring))
            return text.find(substring, start)

    monkeypatch.setattr(_bytes_search, "_library", Recorder())
    data = b"abcdefgh" * 10_000
    for size in (1, 2, 1024, 1025, 40_000):
        assert _bytes_search.find(data, data[8 : 8 + size]) == 0 or size == 1
    assert sizes == [2, 1024]


class Candidates:
    """Counts how often a search of the file itself begins."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, data: bytes) -> None:
        self.count = 0
        self._data = data
        monkeypatch.setattr(_matching, "find", self.find)

    def find(self, data: bytes, needle: bytes, start: int = 0) -> int:
        self.count += data is self._data
        return _bytes_search.find(data, needle, start)


@pytest.mark.parametrize(
    ("unit", "old"),
    [
        pytest.param(b"\r\n", "\r", id="a cr that every crlf has"),
        pytest.param(b"}\r\n}\n", "}\n}\n\n", id="a line break that is everywhere"),
        pytest.param(b"\n\n\n\r\n", "\n\n\n\n\n-", id="newlines"),
        pytest.param(b"a\r\nb\nc\n", "a\nb\nc\na\nd\n", id="lines that differ in the last one"),
    ],
)
def test_few_places_are_compared_where_the_text_nearly_stands_everywhere(
    unit: bytes, old: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    data = unit * (SIZE_BYTES // 4 // len(unit))
    candidates = Candidates(monkeypatch, data)
    assert apply_edit(data, Edit(old, "x")) == Missing()
    assert candidates.count < len(data) // 200


def test_a_file_that_is_folded_is_held_window_by_window() -> None:
    data = b"a\r\nb\nc\n" * 500_000
    edit = Edit("b\nc\na\nd", "x")
    assert peak_bytes(lambda: apply_edit(data, edit)) < 2 << 20
