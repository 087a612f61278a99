import pytest

from fs_core.edit import Edit, Missing, apply_edit
from fs_core.mismatch import EXPLANATION_CHARS_MAX, _places, explain_mismatch
from fs_core.text import BOM

CODE = (
    "import os\n\n\ndef first(a, b):\n\treturn a + b\n\n\n"
    'def second(x):\n    y = x * 2\n    print("it’s")\n    return y\n'
)


def explained(data: bytes, old_string: str) -> str:
    edit = Edit(old_string, "new")
    assert apply_edit(data, edit) == Missing()
    return explain_mismatch(data, edit)


ROWS = [
    pytest.param(
        CODE,
        "5: \treturn a + b",
        'old_string holds line numbers, which are no part of the file ("5: "); without them it occurs once, at line 5',
        id="line number of read",
    ),
    pytest.param(
        CODE,
        "8: def second(x):\n9:     y = x * 2\n",
        'old_string holds line numbers, which are no part of the file ("8: "); without them it occurs once, at line 8',
        id="line numbers of read",
    ),
    pytest.param(
        CODE,
        "     4\tdef first(a, b):\n     5\t\treturn a + b",
        'old_string holds line numbers, which are no part of the file ("     4\t"); '
        "without them it occurs once, at line 4",
        id="line numbers of cat",
    ),
    pytest.param(
        "a\nb\na\n",
        "3→a",
        'old_string holds line numbers, which are no part of the file ("3→"); '
        "without them it occurs 2 times, first at line 1",
        id="line number before an arrow",
    ),
    pytest.param(
        "a\n\nb\n",
        "1: a\n2:\n3: b",
        'old_string holds line numbers, which are no part of the file ("1: "); without them it occurs once, at line 1',
        id="line number of an empty line",
    ),
    pytest.param(
        CODE,
        "4: def first(a, b):\n5:     return a + b",
        'old_string holds line numbers, which are no part of the file ("4: "); without them lines 4-5 match but for '
        "indentation: line 5: the file has 1 tab, old_string has 4 spaces",
        id="line numbers and indentation",
    ),
    pytest.param(
        CODE,
        "9:     y = x * 3\n10:     print",
        'old_string holds line numbers, which are no part of the file ("9: "); without them it does not occur either: '
        "the nearest place, from line 9 on (1 of 2 lines match), differs at line 9, column 13: "
        'the file has U+0032 "2", old_string has U+0033 "3"; the file has there "    y = x * 2"',
        id="line numbers and other text",
    ),
    pytest.param(
        "1: one\n",
        "1: two",
        'the nearest place differs at line 1, column 4: the file has U+006F "o", old_string has U+0074 "t"; '
        'the file has there "1: one"',
        id="a number of the file's own",
    ),
    pytest.param(
        "func f() {\n\treturn 1\n}\n",
        "    return 1",
        "line 2 matches but for indentation: the file has 1 tab, old_string has 4 spaces",
        id="spaces for a tab",
    ),
    pytest.param(
        "if x:\n    y\n",
        "\ty",
        "line 2 matches but for indentation: the file has 4 spaces, old_string has 1 tab",
        id="a tab for spaces",
    ),
    pytest.param(
        "alpha\n   beta\ngamma\n",
        "    beta",
        "line 2 matches but for indentation: the file has 3 spaces, old_string has 4 spaces",
        id="three spaces or four",
    ),
    pytest.param(
        "if x:\n\t  y\n",
        "if x:\n    y",
        "lines 1-2 match but for indentation: line 2: the file has 1 tab, 2 spaces, old_string has 4 spaces",
        id="mixed indentation",
    ),
    pytest.param(
        "a1:\n\tb1\n\tc1\n\td1\n",
        "a1:\n  b1\n  c1\n  d1\n",
        "lines 1-4 match but for indentation: line 2: the file has 1 tab, old_string has 2 spaces (and 2 more like it)",
        id="a block indented otherwise",
    ),
    pytest.param(
        "\tx = 1\n\tx = 1\n",
        "  x = 1",
        "2 places match but for indentation; the first, line 1: the file has 1 tab, old_string has 2 spaces",
        id="two places",
    ),
    pytest.param(
        "a  b\n",
        "a b",
        "line 1 matches but for white space: column 2: the file has 2 spaces, old_string has 1 space",
        id="two spaces for one",
    ),
    pytest.param(
        "f (x)\n",
        "f(x)",
        "line 1 matches but for white space: column 2: the file has 1 space, old_string has nothing",
        id="a space for none",
    ),
    pytest.param(
        "10\u00a0km\n",
        "10 km",
        "line 1 matches but for white space: column 3: the file has U+00A0 NO-BREAK SPACE, old_string has 1 space",
        id="no-break space",
    ),
    pytest.param(
        "one  \ntwo\n",
        "one\ntwo",
        "lines 1-2 match but for white space at the end of a line: line 1: the file has 2 spaces, old_string has none",
        id="trailing space in the file",
    ),
    pytest.param(
        "one\ntwo\n",
        "one\t\ntwo",
        "lines 1-2 match but for white space at the end of a line: line 1: the file has none, old_string has 1 tab",
        id="trailing space in the needle",
    ),
    pytest.param(
        CODE,
        "return a + b\n\n\n\ndef second",
        "lines 5-8 match but for line breaks: after line 5: the file has 3 line breaks, old_string has 4 line breaks",
        id="a line break more in the middle",
    ),
    pytest.param(
        "a1\nb1\n",
        "\n\nb1",
        "line 2 matches but for line breaks: after line 1: the file has 1 line break, old_string has 2 line breaks",
        id="a line break more at the start",
    ),
    pytest.param(
        "a1\nb1\n",
        "b1\n\n",
        "line 2 matches but for line breaks: after line 2: the file has 1 line break, old_string has 2 line breaks",
        id="a line break more at the end",
    ),
    pytest.param(
        "one\ntwo",
        "two\n",
        "line 2 matches but for the newline at the end of the file: "
        "the file ends without a newline, old_string goes on after one",
        id="no final newline",
    ),
    pytest.param(
        "cafe\u0301 x\n",
        "caf\u00e9 x",
        "line 1 matches but for Unicode normalisation: column 4: "
        'the file has U+0065 "e", U+0301 COMBINING ACUTE ACCENT (NFD), old_string has U+00E9 "\u00e9" (NFC)',
        id="decomposed in the file",
    ),
    pytest.param(
        "\u304c\n",
        "\u304b\u3099",
        'line 1 matches but for Unicode normalisation: column 1: the file has U+304C "\u304c" (NFC), old_string has '
        'U+304B "\u304b", U+3099 COMBINING KATAKANA-HIRAGANA VOICED SOUND MARK (NFD)',
        id="composed in the file",
    ),
    pytest.param(
        "\u1112\u1161\u11ab x\n",
        "\ud55c x",
        'line 1 matches but for Unicode normalisation: column 1: the file has U+1112 "\u1112", U+1161 "\u1161", '
        'U+11AB "\u11ab" (NFD), old_string has U+D55C "\ud55c" (NFC)',
        id="decomposed Hangul",
    ),
    pytest.param(
        "Hello\n",
        "hello",
        'line 1 matches but for letter case: column 1: the file has U+0048 "H", old_string has U+0068 "h"',
        id="letter case",
    ),
    pytest.param(
        "（例）：値；\n",
        "(例):値;",
        "line 1 matches but for full-width or other compatibility characters: column 1: "
        'the file has U+FF08 "（", old_string has U+0028 "(" (and 3 more like it)',
        id="full width in the file",
    ),
    pytest.param(
        "（例）\n",
        "(例)",
        "line 1 matches but for full-width or other compatibility characters: column 1: "
        'the file has U+FF08 "（", old_string has U+0028 "(" (and 1 more like it)',
        id="full-width brackets",
    ),
    pytest.param(
        "ＡＢ１\n",
        "AB1",
        "line 1 matches but for full-width or other compatibility characters: column 1: "
        'the file has U+FF21 "Ａ", old_string has U+0041 "A" (and 2 more like it)',
        id="full-width letters",
    ),
    pytest.param(
        "it\u2019s\n",
        "it's",
        'line 1 matches but for quotes or dashes: column 3: the file has U+2019 "\u2019", old_string has U+0027 "\'"',
        id="curly quote",
    ),
    pytest.param(
        "1\u20132 \u2014 3\n",
        "1-2 - 3",
        'line 1 matches but for quotes or dashes: column 2: the file has U+2013 "\u2013", old_string has U+002D "-" '
        "(and 1 more like it)",
        id="dashes",
    ),
    pytest.param(
        "ab\u200bc\n",
        "abc",
        "line 1 matches but for invisible characters: column 3: the file has U+200B ZERO WIDTH SPACE, "
        "old_string has nothing",
        id="invisible in the file",
    ),
    pytest.param(
        "x\nabc\n",
        "x\na\u2060bc",
        "lines 1-2 match but for invisible characters: line 2, column 2: the file has nothing, "
        "old_string has U+2060 WORD JOINER",
        id="invisible in the needle",
    ),
    *(
        pytest.param(
            f"ab{character}c\n",
            "abc",
            f"line 1 matches but for invisible characters: column 3: the file has {name}, old_string has nothing",
            id=name,
        )
        for character, name in [
            ("\ufeff", "U+FEFF ZERO WIDTH NO-BREAK SPACE"),
            ("\u00ad", "U+00AD SOFT HYPHEN"),
            ("\u202e", "U+202E RIGHT-TO-LEFT OVERRIDE"),
            ("\u200e", "U+200E LEFT-TO-RIGHT MARK"),
        ]
    ),
    pytest.param(
        "a1\nb1\n",
        "a1\\nb1",
        "lines 1-2 match but for escaping: line 1, column 3: the file has 1 line break, "
        'old_string has U+005C "\\", U+006E "n"',
        id="escaped line break in the needle",
    ),
    pytest.param(
        'puts("a\\n");\n',
        'puts("a\n");',
        'line 1 matches but for escaping: column 8: the file has U+005C "\\", U+006E "n", old_string has 1 line break',
        id="escaped line break in the file",
    ),
    pytest.param(
        'say "x"\n',
        'say \\"x\\"',
        'line 1 matches but for escaping: column 5: the file has U+0022 """, old_string has U+005C "\\", U+0022 """ '
        "(and 1 more like it)",
        id="escaped quotes",
    ),
    pytest.param(
        "a\\d\n",
        "a\\\\d",
        'line 1 matches but for escaping: column 2: the file has U+005C "\\", old_string has 2 times U+005C "\\"',
        id="doubled backslash",
    ),
    pytest.param(
        "caf\u00e9\n",
        "caf\\u00e9",
        'line 1 matches but for escaping: column 4: the file has U+00E9 "\u00e9", old_string has U+005C "\\", '
        'U+0075 "u", 2 times U+0030 "0" and more',
        id="code point escaped",
    ),
    pytest.param(
        "a < b && c\n",
        "a &lt; b &amp;&amp; c",
        'line 1 matches but for escaping: column 3: the file has U+003C "<", old_string has U+0026 "&", U+006C "l", '
        'U+0074 "t" and more (and 2 more like it)',
        id="html entities in the needle",
    ),
    pytest.param(
        "a &lt; b\n",
        "a < b",
        'line 1 matches but for escaping: column 3: the file has U+0026 "&", U+006C "l", U+0074 "t" and more, '
        'old_string has U+003C "<"',
        id="html entities in the file",
    ),
    pytest.param(
        "\tit\u2019s\n",
        "  it's",
        "line 1 matches but for indentation and quotes or dashes: the file has 1 tab, old_string has 2 spaces; "
        'column 4: the file has U+2019 "\u2019", old_string has U+0027 "\'"',
        id="two kinds",
    ),
    pytest.param(
        "\tIt\u2019s\n",
        "  it's",
        "line 1 matches but for indentation and letter case and more: the file has 1 tab, old_string has 2 spaces; "
        'column 2: the file has U+0049 "I", old_string has U+0069 "i"',
        id="three kinds",
    ),
    pytest.param(
        CODE,
        'def second(x):\n    y = x * 3\n    print("it’s")\n    return y\n',
        "the nearest place, from line 8 on (3 of 4 lines match), differs at line 9, column 13: "
        'the file has U+0032 "2", old_string has U+0033 "3"; the file has there "    y = x * 2"',
        id="the middle differs",
    ),
    pytest.param(
        CODE,
        "def secnd(x):\n    y = x * 2\n    print(",
        "the nearest place, from line 8 on (2 of 3 lines match), differs at line 8, column 8: "
        'the file has U+006F "o", old_string has U+006E "n"; the file has there "def second(x):"',
        id="the first line differs",
    ),
    pytest.param(
        CODE,
        "def first(a, b):\n    return a - b",
        "the nearest place, from line 4 on (1 of 2 lines match), differs at line 5, column 11: "
        'the file has U+002B "+", old_string has U+002D "-"; the file has there "\treturn a + b"; '
        "before that, line 5: the file has 1 tab, old_string has 4 spaces",
        id="the last line differs, and indentation before",
    ),
    pytest.param(
        CODE,
        "def secont(x):",
        'the nearest place differs at line 8, column 10: the file has U+0064 "d", old_string has U+0074 "t"; '
        'the file has there "def second(x):"',
        id="a single line is alike",
    ),
    pytest.param(
        "one\ntwo\nthree\n",
        "three\ntwo\n",
        "each of its lines occurs, but not together in this order (first at lines 3, 2); the nearest place, "
        "from line 3 on (1 of 2 lines match), breaks off: "
        'the file ends after line 3, old_string goes on with U+0074 "t"',
        id="lines in another order",
    ),
    pytest.param(
        "first line\nnew line\nlast line\n",
        "first line\nlast line",
        "each of its lines occurs, but not together in this order (first at lines 1, 3); the nearest place, "
        "from line 1 on (1 of 2 lines match), differs at line 2, column 1: "
        'the file has U+006E "n", old_string has U+006C "l"; the file has there "new line"',
        id="lines that are not adjacent",
    ),
    pytest.param(
        "x\nthe end",
        "the end\nof it",
        "the nearest place, from line 2 on (1 of 2 lines match), breaks off: "
        "the file ends after line 2, old_string goes on with 1 line break",
        id="past the end of the file",
    ),
    pytest.param("hello world\n", "absent", "nothing like it was found in the file", id="nothing alike"),
    pytest.param("", "x", "the file is empty", id="empty file"),
    pytest.param(
        "a\tb",
        "   ",
        "old_string holds nothing but 3 spaces; the file has no such place",
        id="white space alone",
    ),
    pytest.param(
        "two\n",
        "\ud800two",
        'the nearest place differs at line 1, column 1: the file has U+0074 "t", old_string has U+D800; '
        'the file has there "two"',
        id="lone surrogate",
    ),
    pytest.param(
        "a\x07\u202eb = 1\n",
        "a\x07\u202eb = 2",
        'the nearest place differs at line 1, column 8: the file has U+0031 "1", old_string has U+0032 "2"; '
        'the file has there "a<U+0007><U+202E>b = 1"',
        id="control characters are shown by code point",
    ),
]


@pytest.mark.parametrize(("text", "old", "explanation"), ROWS)
def test_the_difference_is_told(text: str, old: str, explanation: str) -> None:
    assert explained(text.encode(), old) == explanation


@pytest.mark.parametrize(("text", "old", "explanation"), ROWS)
def test_line_endings_and_a_byte_order_mark_change_nothing_in_what_is_told(
    text: str, old: str, explanation: str
) -> None:
    data = text.encode()
    assert explained(BOM + data, old) == explanation
    assert explained(data.replace(b"\n", b"\r\n"), old) == explanation
    assert explained(data.replace(b"\n", b"\r\n"), old.replace("\n", "\r\n")) == explanation
    assert explained(BOM + data.replace(b"\n", b"\r\n", 1), old) == explanation


@pytest.mark.parametrize(
    ("data", "old", "explanation"),
    [
        pytest.param(
            b"x\r\na\r\nb",
            "a\r",
            "old_string ends with U+000D (a carriage return), which at line 2 is one half of a line break",
            id="half a line break",
        ),
        pytest.param(
            BOM + b"x\na\n",
            "\ufeffa",
            "old_string begins with U+FEFF, a byte order mark, which is no part of the text; "
            "without it the rest occurs at line 2",
            id="the mark in the needle",
        ),
        pytest.param(BOM, "x", "the file is empty", id="a mark alone"),
        pytest.param(
            b"a1\rb1\r",
            "a1\nb1",
            "line 1 matches but for line breaks: after line 1: the file has no line breaks, "
            "old_string has 1 line break",
            id="CR is no line break",
        ),
    ],
)
def test_what_lies_in_the_bytes_is_told(data: bytes, old: str, explanation: str) -> None:
    assert explained(data, old) == explanation


def test_an_edit_that_has_a_place_is_told_so() -> None:
    assert explain_mismatch(b"a\nword\n", Edit("word", "x")) == "it occurs once, at line 2"


def test_many_places_are_not_all_counted() -> None:
    text = explained(b"\tx1\n" * 1_000, "  x1")
    assert text.startswith("12 or more places match but for indentation; the first, line 1: ")


def test_a_copied_number_before_text_that_is_everywhere_is_not_counted_to_the_end() -> None:
    assert explained(b"word\n" * 1_000, "7: word").endswith("it occurs 100 or more times, first at line 1")


def test_a_long_line_is_quoted_around_the_difference() -> None:
    line = "".join(f"{number} " for number in range(2_000))
    text = explained(line.encode(), line.replace(" 1000 ", " 1OOO "))
    at = line.index(" 1000 ") + 2
    assert f'line 1, column {at + 1}: the file has U+0030 "0", old_string has U+004F "O"' in text
    assert text.endswith(f'the file has there "{line[at - 40 : at + 40]}"...')


@pytest.mark.parametrize("ending", ["\n", "\r\n"])
def test_the_difference_in_a_very_long_text_is_found(ending: str) -> None:
    lines = [f"line number {number}" for number in range(20_000)]
    old = "\n".join([*lines[:15_000], "line nomber 15000", *lines[15_001:]])
    text = explained(ending.join(lines).encode(), old)
    assert 'line 15001, column 7: the file has U+0075 "u", old_string has U+006F "o"' in text


def test_a_text_that_is_too_long_to_be_compared_tells_how_far_it_was() -> None:
    old = ("\tword" * 20 + "\n") * 10_000
    text = explained(old.replace("\tw", "  w").encode(), old)
    assert text == (
        "its characters 1 to 1010 are at lines 1-10, but for indentation and white space: "
        "line 1: the file has 2 spaces, old_string has 1 tab (and 9 more like it); "
        "line 1, column 7: the file has 2 spaces, old_string has 1 tab (and 189 more like it); "
        "the rest was too much to compare"
    )


def test_what_differs_far_before_the_part_that_was_found_is_told_so() -> None:
    tail = "".join(f"{number} " for number in range(2_000))
    text = explained(tail.encode(), "#" * 100_000 + tail)
    assert text == "nothing like it was found in the file"
    text = explained(("x" * 3_000 + tail).encode(), "y" * 3_000 + tail)
    assert text == f"its characters 4921 to {3_000 + len(tail)} are at line 1; what is before them differs"


def test_the_text_is_bounded_whatever_is_in_it() -> None:
    names = "\u1dc0\U000e0041\ufe00" * 30
    assert len(explained(f"a1{names}b1\n".encode(), "a1" + names[::-1] + "b1")) <= EXPLANATION_CHARS_MAX


def test_a_search_that_was_cut_short_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(_places, "WORK_MAX", 0)
    assert explained(b"\tword\n", "  word") == "nothing like it was found in the file; not all of it could be searched"
