from collections.abc import Sequence

import pytest

from fs_core.page import Page, TextScanner, Window
from fs_core.search.lines import Found, LineScanner, LineSearch, search_whole
from fs_core.search.outcomes import MatchLine, SkipReason
from fs_core.search.pattern import line_pattern
from tests.fs_core.search.lines_reference import room, search


def found(data: bytes, pattern: str, *, context: int = 0, line_chars_max: int = 500) -> Sequence[MatchLine]:
    outcome = search_whole(data, search(pattern, context=context, line_chars_max=line_chars_max), room())
    assert outcome is None or isinstance(outcome, Found)
    return () if outcome is None else outcome.lines


def shown(lines: Sequence[MatchLine]) -> list[str]:
    return [f"{line.number}{':' if line.is_match else '-'}{line.text}" for line in lines]


@pytest.mark.parametrize(
    ("data", "pattern", "lines"),
    [
        (b"a\r\nb\r\n", "a$", ["1:a"]),
        (b"a\r\nb\r\n", "^b$", ["2:b"]),
        (b"a\r\nb\r\n", "b.", []),
        (b"a\r\nb\r\n", r"\r", []),
        (b"a\r\r\nb", r"a\r$", ["1:a\r"]),
        (b"a\r\r\nb", "a", ["1:a\r"]),
        (b"a\rb\rc\n", "b", ["1:a\rb\rc"]),
        (b"a\nb\r", "b", ["2:b\r"]),
        (b"a\nb\r", r"\r", ["2:b\r"]),
        (b"\r\n\r\n", "^$", ["1:", "2:"]),
        (b"\xef\xbb\xbfa\nb", "^a", ["1:a"]),
        (b"\xef\xbb\xbfa\n\xef\xbb\xbfb", "\ufeff", ["2:\ufeffb"]),
        (b"\xef\xbb\xbf", "", []),
        (b"", "", []),
        (b"\n", "", ["1:"]),
        (b"a\x0bb\x0cc\xc2\x85d\xe2\x80\xa8e", "e", ["1:a\x0bb\x0cc\x85d\u2028e"]),
        (b"one\ntwo", "two", ["2:two"]),
        (b"one\ntwo\n", "o", ["1:one", "2:two"]),
    ],
)
def test_lines_are_those_that_read_shows(data: bytes, pattern: str, lines: Sequence[str]) -> None:
    assert shown(found(data, pattern)) == lines
    scanner = TextScanner(Window())
    scanner.feed(data)
    page = scanner.finish()
    assert isinstance(page, Page)
    assert {f"{line.number}:{line.text}" for line in page.lines} >= set(lines)


@pytest.mark.parametrize(
    ("context", "lines"),
    [
        (0, ["2:x", "5:x", "6:x", "9:x"]),
        (1, ["1-1", "2:x", "3-3", "4-4", "5:x", "6:x", "7-7", "8-8", "9:x", "10-10"]),
        (2, ["1-1", "2:x", "3-3", "4-4", "5:x", "6:x", "7-7", "8-8", "9:x", "10-10", "11-11"]),
    ],
)
def test_lines_around_matches_are_shown_once_and_marked(context: int, lines: Sequence[str]) -> None:
    data = b"1\nx\n3\n4\nx\nx\n7\n8\nx\n10\n11\n12\n"
    assert shown(found(data, "x", context=context)) == lines


def test_lines_between_matches_that_are_far_from_both_are_left_out() -> None:
    data = b"".join(b"%d\n" % number for number in range(1, 101))
    assert shown(found(data, "^(?:20|50)$", context=1)) == ["19-19", "20:20", "21-21", "49-49", "50:50", "51-51"]


def test_what_there_is_no_room_for_is_not_looked_for_but_told() -> None:
    data = b"x1\nx2\na\nb\nx3\nx4\n"
    outcome = search_whole(data, search("x", context=1), room(matches=2))
    assert isinstance(outcome, Found)
    assert shown(outcome.lines) == ["1:x1", "2:x2", "3-a"]
    assert outcome.has_more
    whole = search_whole(data, search("x"), room(matches=4))
    assert isinstance(whole, Found)
    assert not whole.has_more


@pytest.mark.parametrize(
    ("line", "pattern", "line_chars_max", "shown_line"),
    [
        ("a" * 50, "b*", 10, MatchLine(1, "a" * 10, length_chars=50)),
        ("é" * 50, "é", 10, MatchLine(1, "é" * 10, length_chars=50)),
        ("é" * 50, "é", 50, MatchLine(1, "é" * 50)),
        ("01234567x9" + "." * 40, "x", 10, MatchLine(1, "01234567x9", length_chars=50)),
        ("日" * 30 + "x" + "本" * 30, "x", 8, MatchLine(1, "日日x本本本本本", length_chars=61, from_char=28)),
        ("日" * 30 + "x", "x", 8, MatchLine(1, "日" * 7 + "x", length_chars=31, from_char=23)),
        ("a" * 30 + "x" * 30, "x+", 8, MatchLine(1, "aaxxxxxx", length_chars=60, from_char=28)),
        ("日" * 40, r"\B", 4, MatchLine(1, "日" * 4, length_chars=40)),
    ],
)
def test_a_long_line_is_cut_around_its_first_match_between_characters(
    line: str, pattern: str, line_chars_max: int, shown_line: MatchLine
) -> None:
    assert found(line.encode(), pattern, line_chars_max=line_chars_max) == (shown_line,)


def test_a_long_line_around_a_match_is_cut_at_its_end() -> None:
    lines = found("日".encode() * 20 + b"\nx\n", "x", context=1, line_chars_max=5)
    assert lines == (MatchLine(1, "日" * 5, is_match=False, length_chars=20), MatchLine(2, "x"))


@pytest.mark.parametrize(
    ("data", "reason"),
    [
        (b"x\n\0", SkipReason.BINARY),
        (b"x\n\xff\n\0", SkipReason.BINARY),
        (b"x\n" + b"a" * 2_000 + b"\n\xff", SkipReason.UNDECODABLE),
        (b"x\n\xc3", SkipReason.UNDECODABLE),
        (b"a\n" + b"x" * 1_001, SkipReason.TOO_LARGE),
        (b"x" * 1_001 + b"\nx\n", SkipReason.TOO_LARGE),
        (b"\xff\n" + b"x" * 1_001, SkipReason.UNDECODABLE),
    ],
)
@pytest.mark.parametrize("pattern", ["x", "[x]", "nowhere", "no[w]here"])
def test_a_file_that_is_not_searched_says_why_whatever_is_found_before(
    data: bytes, reason: SkipReason, pattern: str
) -> None:
    searched = search(pattern)
    searched.pattern.line_bytes_max = 1_000
    assert search_whole(data, searched, room(matches=1)) is reason
    scanner = LineScanner(searched, room(matches=1))
    fed = [scanner.feed(data[index : index + 1]) for index in range(len(data))]
    assert scanner.finish() is reason
    assert all(fed[:-1])


def test_a_line_of_the_greatest_length_is_searched_to_its_end() -> None:
    searched = search("[x]")
    searched.pattern.line_bytes_max = 1_000
    data = b"a" * 999 + b"x\r\n" + b"a" * 1_000
    assert search_whole(data.replace(b"\r", b""), searched, room()) is not None
    assert search_whole(data, searched, room()) is SkipReason.TOO_LARGE  # its CR counts


def test_a_scan_tells_at_a_nul_that_no_more_is_needed_and_holds_one_line_at_most() -> None:
    scanner = LineScanner(search("x"), room())
    for _ in range(100):
        assert scanner.feed(bytearray(b"a" * 1_000 + b"\n"))
        assert len(scanner._rest) == 0  # pyright: ignore[reportPrivateUsage]
    assert not scanner.feed(b"\0")
    assert scanner.finish() is SkipReason.BINARY


@pytest.mark.parametrize("pattern", ["[a-q].{990}Q", "([a-q].{60}){3}Q"])
def test_a_search_looks_for_its_end_after_a_bounded_amount_of_work(pattern: str) -> None:
    class EndedError(Exception):
        pass

    checks: list[None] = []

    def check() -> None:
        checks.append(None)
        if len(checks) == 3:
            raise EndedError

    compiled = line_pattern(pattern)
    data = (b"abcdefghij" * 10 + b"\n") * (4 * compiled.step_bytes // 101)
    searched = LineSearch(compiled, context=0, line_chars_max=500, check=check)
    compiled.step_bytes //= 50  # the same in a fiftieth of the time
    with pytest.raises(EndedError):
        search_whole(data, searched, room())
    assert len(checks) == 3


def test_every_line_of_a_large_file_is_numbered_however_far_the_matches_are_apart() -> None:
    data = bytearray(b"line\n" * 300_000)
    data[5 * 99_999 : 5 * 99_999 + 4] = data[5 * 299_999 : 5 * 299_999 + 4] = b"here"
    assert shown(found(bytes(data), "here")) == ["100000:here", "300000:here"]
    assert shown(found(bytes(data), "h[e]re", context=1)) == [
        "99999-line",
        "100000:here",
        "100001-line",
        "299999-line",
        "300000:here",
    ]
