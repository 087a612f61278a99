from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fs_core.search._syntax import parts, required_text
from fs_core.search.pattern import PATTERN_CHARS_MAX, PatternError, line_pattern

LOOK_AROUND = "look-around is not supported"
BACK_REFERENCE = "back-references are not supported"


def lines_found(pattern: str, text: str, *, ignore_case: bool = False) -> list[int]:
    """Return the numbers, from 1, of the lines in which `pattern` is found, in one text of whole lines."""
    compiled, data, position, found = line_pattern(pattern, ignore_case=ignore_case), text.encode(), 0, list[int]()
    end = len(data) - data.endswith(b"\n")
    while position <= end and (span := compiled.find(data, position, end)) is not None:
        assert b"\n" not in data[slice(*span)]
        found.append(data.count(b"\n", 0, span[0]) + 1)
        position = (data.find(b"\n", span[0]) + 1) or len(data) + 1
    return found


def refusal(pattern: str) -> PatternError | None:
    """Return why `pattern` is refused, or `None` if it is compiled."""
    try:
        line_pattern(pattern)
    except PatternError as error:
        return error
    return None


@pytest.mark.parametrize(
    ("pattern", "position", "told"),
    [
        ("(", 0, r"this ( is never closed; write \( for the character"),
        ("a(b(c)", 1, "this ( is never closed"),
        ("a(b(c", 3, "this ( is never closed"),
        (r"\(([)](", 6, "this ( is never closed"),
        ("(?P<n>", 0, "this ( is never closed"),
        ("a)", 1, "there is no ( for this )"),
        (r"(\))[)])x", 7, "there is no ( for this )"),
        ("x[a", 1, r"this [ is never closed; write \[ for the character"),
        ("a[]", 1, "this [ is never closed"),
        ("abc\\", 3, r"nothing follows this backslash; write \\"),
        ("[\\", 1, "nothing follows this backslash"),
        ("*a", 0, r"there is nothing that * could repeat; write \* for the character"),
        ("(x)|+", 4, "there is nothing that + could repeat"),
        ("a**", 1, "** repeats a repetition; put what is repeated into (?:...)"),
        ("[**]a**", 5, "** repeats a repetition"),
        ("xa{2}{3}", 2, "{2}{3} repeats a repetition"),
        (".{1000}{1000}", 1, "{1000}{1000} repeats a repetition"),
        ("éa++", 2, "possessive repetition is not supported, and not needed in linear time; write +"),
        ("za{1001}", 2, "{1001} is no possible repetition"),
        ("a{5,2}", 1, "{5,2} is no possible repetition: the lower number comes first"),
        ("(.{1000}){1000}", 9, "{1000} is no possible repetition"),
        ("é(?=x)", 1, LOOK_AROUND),
        ("[(?=](?=", 5, LOOK_AROUND),
        ("(?!x)", 0, LOOK_AROUND),
        ("[[:alnum:]](?<=x)y", 11, LOOK_AROUND),
        ("a(?<!b)", 1, LOOK_AROUND),
        (r"(a)\1", 3, BACK_REFERENCE),
        (r"(?P<n>a)(?P=n)", 8, BACK_REFERENCE),
        (r"(?P<n>a)\k<n>", 8, BACK_REFERENCE),
        ("(?>a)", 0, "atomic groups are not supported, and not needed in linear time; write (?:"),
        ("a(?x)b c", 1, "the flag x is not supported"),
        ("a(?#b)", 1, "comments are not supported"),
        ("(?P>n)", 0, "recursion is not supported"),
        ("a(?z)", 1, r"this is no kind of group; write \( for the character"),
        ("a(?i)(?", 5, "this is no kind of group"),
        ("(?P<n>a)" * 10 + "x" * 500 + "(?P=n)" + "x" * 500, 580, BACK_REFERENCE),
        (r"\p{L}x" * 50 + r"\p", 300, r"there is no class \p"),
        ("(?P<n-m>a)", 0, "this is no name of a group; write (?P<name>...)"),
        (r"\w\Z", 2, r"\Z is no escape; write $ for the end of a line"),
        (r"[\d\Z]", 3, r"\Z is no escape"),
        (r"x\u0041", 1, r"\u is no escape; write \x{...}"),
        (r"\h+", 0, r"\h is no escape; write [ \t]"),
        (r"C:\yes", 2, r"\y is no escape; write \\ for a backslash"),
        (r"x\x{110000}", 1, r"\x{110000 is no escape"),
        ("a\\\x85", 1, r"\x85 is no escape"),
        ("[b-cz-a]", 4, "the range z-a ends before it begins"),
        (r"z\p{Foo}", 1, r"there is no class \p{Foo}"),
        ("x[[:foo:]]", 2, "there is no class [:foo:]"),
        ("foo\nbar", 3, "lines are matched one by one, so no newline ever matches; write $ for the end of a line"),
        (r"foo\r?\n", 6, "no newline ever matches"),
        (r"(a|\x0a)", 3, "no newline ever matches"),
        (r"\12", 0, "no newline ever matches"),
        ("\\Qa\nb\\E", 0, "no newline ever matches"),
        (r"a\Cb", 1, r"\C matches a part of a character; write . for any character"),
        ("a\ud800", 1, "half a surrogate pair is no character"),
    ],
)
def test_a_bad_pattern_is_refused_with_what_is_wrong_and_where(
    pattern: str, position: int, told: str, capfd: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(PatternError) as refused:
        line_pattern(pattern)
    assert refused.value.position == position
    assert told in str(refused.value)
    assert str(refused.value).startswith(f"bad pattern at position {position}, ")
    assert str(refused.value).isprintable()
    assert "re2" not in "".join(capfd.readouterr())  # where RE2 would tell it, too


@pytest.mark.parametrize("pattern", [".{1000}.{1000}.{1000}", r"\p{L}{900}", r"(\p{L}|\p{N}){400}"])
def test_a_pattern_that_is_too_large_written_out_is_refused(pattern: str, capfd: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(PatternError, match="too large when its repetitions are written out") as refused:
        line_pattern(pattern)
    assert refused.value.position is None
    assert "re2" not in "".join(capfd.readouterr())  # where RE2 would tell it, too


def test_a_pattern_that_is_too_long_is_refused() -> None:
    with pytest.raises(PatternError, match=r"^the pattern has 2049 characters; at most 2048 are searched for$"):
        line_pattern("x" * (PATTERN_CHARS_MAX + 1))


@given(
    pattern=st.lists(
        st.sampled_from([*r"()[]{}*+?|\^$.:-,<>=!#", "a", "é", "1", "(?", "P<", "\\p", "\\Q", "\n", "[:", "{2}"])
    ).map("".join)
)
def test_whatever_the_pattern_it_is_compiled_or_refused_with_a_position_within_it(pattern: str) -> None:
    refused = refusal(pattern)
    if refused is not None:
        assert refused.position is not None
        assert 0 <= refused.position < len(pattern)
        assert str(refused).isprintable()


@pytest.mark.parametrize(
    ("pattern", "text", "numbers"),
    [
        ("foo", "foo\nbar\nafoob", [1, 3]),
        ("^foo$", "foo\nfoo \nfoo", [1, 3]),
        (r"\Afoo\z", "a\nfoo\nb", [2]),
        ("(?-m)^b$", "a\nb\n", [2]),
        ("(?-m:^)b", "a\nb\n", [2]),
        (r"foo\s+bar", "foo\nbar\nfoo \t bar", [3]),
        (r"foo[^x]*bar", "foo\nbar\nfoo bar", [3]),
        (r"(?s)foo.*bar", "foo\nbar\nfoo bar", [3]),
        (r"foo\W*bar", "foo\nbar\nfoo-bar", [3]),
        (r"foo[\s\S]*bar", "foo\nbar\nfoo-bar", [3]),
        (r"[^\n]+z", "x\nyz\n", [2]),
        (r"[[:space:]]", "a\nb\nc d\n", [3]),
        ("^$", "a\n\nb\n\n", [2, 4]),
        ("^$", "a\n", []),
        ("", "a\n\nb\n", [1, 2, 3]),
        ("x*", "a\n\n", [1, 2]),
        (r"\bfoo\b", "foo\nafoo\nfoo-\n", [1, 3]),
        ("é|日", "e\né\n日本\n", [2, 3]),
        (r"\Qa.b(\E", "a.b(\naxb(", [1]),
        (r"a\.b\(", "a.b(\naxb(", [1]),
        (r"\x41\x{e9}", "Aé\nAe", [1]),
        (r"\pL+\d", "é1\n11", [1]),
        ("a{,2}", "a{,2}\naa", [1]),
        ("{", "{\na", [1]),
    ],
)
def test_a_pattern_is_matched_with_each_line_by_itself(pattern: str, text: str, numbers: Sequence[int]) -> None:
    assert lines_found(pattern, text) == numbers


@pytest.mark.parametrize(
    ("pattern", "numbers"),
    [("straße", [1, 2]), ("É", [3, 4]), ("123", [5]), ("(?-i)STRASSE|(?i:é)", [3, 4]), ("a.c", [6])],
)
def test_case_is_no_matter_if_it_is_ignored_unless_the_pattern_says_otherwise(
    pattern: str, numbers: Sequence[int]
) -> None:
    assert lines_found(pattern, "Straße\nSTRAßE\né\nÉ\n123\nABC\n", ignore_case=True) == numbers


@pytest.mark.parametrize(
    ("pattern", "required"),
    [
        ("foo", "foo"),
        (r"\bfoo\b", "foo"),
        (r"\s+class\s\w+\(", "class"),
        ("fo+ba", "fo"),
        ("foo?bar", "bar"),
        ("fo*barx{0}", "bar"),
        ("(foo)bar(baz)?", "bar"),
        ("ab|cd", ""),
        ("(ab|cd)ef", "ef"),
        ("(?i)foo", ""),
        ("foo(?s)?", ""),
        ("foo+(?s)*", ""),
        (r"foo\Q\E{0}", ""),
        (r"foo\Qbar\E?", "foo"),
        ("(?i:a)foo", ""),
        ("(?s:a)foo", "foo"),
        ("[foo]b", "b"),
        (r"a\Qfoo\E*b", "a"),
        (r"\x41bc", "Abc"),
        ("", ""),
    ],
)
def test_a_text_that_stands_in_every_match_is_found_where_it_is_certain(pattern: str, required: str) -> None:
    assert required_text(parts(pattern)) == required


@pytest.mark.parametrize("pattern", ["needle", "needle[0-9]", r"\bneedle\b"])
def test_a_text_without_what_stands_in_every_match_is_told_at_once(pattern: str) -> None:
    compiled = line_pattern(pattern)
    assert not compiled.is_possible(b"needl\nhaystack\n")
    assert compiled.is_possible(b"a needle\n")


@pytest.mark.parametrize(
    ("pattern", "hostile"),
    [
        ("(a*)*b", "a" * 100_000),
        ("(x+x+)+y", "x" * 100_000),
        ("(a|aa)+$", "a" * 100_000 + "b"),
        ("(?:a?){500}a{500}", "a" * 499),
        ("(" * 1_000 + "x" + ")" * 1_000, "y" * 100_000),
        ("(.*)(.*)(.*)(.*)(.*)[0-9]", "x" * 100_000),
    ],
)
def test_a_pattern_that_explodes_elsewhere_takes_linear_time(pattern: str, hostile: str) -> None:
    assert lines_found(pattern, hostile) == []


def test_a_pattern_that_takes_long_for_each_byte_is_searched_in_small_steps_of_short_lines() -> None:
    cheap, dear = line_pattern("a+b"), line_pattern("[a-q].{990}Q")
    assert (cheap.step_bytes, cheap.line_bytes_max) == (1 << 20, 16 << 20)
    assert dear.brief_bytes < dear.step_bytes < 20_000
    assert dear.line_bytes_max < 300_000
