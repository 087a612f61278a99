import re
import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fs_core.edit import Edit, Missing, apply_edit
from fs_core.mismatch import EXPLANATION_CHARS_MAX, explain_mismatch
from fs_core.text import BOM

PIECES = [
    "a",
    "b1",
    "return x",
    "\n",
    "\n\n",
    "\r\n",
    "\r",
    " ",
    "  ",
    "\t",
    "\\n",
    '\\"',
    '"',
    "’",
    "'",
    "—",
    "（",
    "(",
    "3: ",
    "&lt;",
    "<",
    "é",
    "e\u0301",
    "が",
    "\u304b\u3099",
    "\u200b",
    "\ufeff",
    "\xa0",
    "中文",
    "A",
    "ß",
    "😀",
    "}",
]
texts = st.one_of(
    st.lists(st.sampled_from(PIECES), max_size=25).map("".join),
    st.text(st.characters(exclude_categories=("Cs",), exclude_characters="\0"), max_size=40),
)
needles = st.one_of(texts, st.text(max_size=10)).filter(bool)
words = st.lists(st.text("abcdefgh", min_size=3, max_size=6), min_size=3, max_size=8, unique=True)
blocks = st.lists(st.text("abcdefgh é\t“", min_size=6, max_size=120), min_size=1, max_size=6)
distinct_lines = st.lists(
    st.text("abcdefgh ", min_size=5, max_size=20).filter(str.strip), min_size=3, max_size=8, unique=True
)


@given(data=texts, old=needles, marked=st.booleans())
def test_any_text_and_any_needle_give_one_bounded_line(data: str, old: str, *, marked: bool) -> None:
    raw = (BOM if marked else b"") + data.encode()
    edit = Edit(old, "x")
    text = explain_mismatch(raw, edit)
    assert 0 < len(text) <= EXPLANATION_CHARS_MAX
    assert text.splitlines() == [text]
    assert not {unicodedata.category(character) for character in text.replace("\t", "")} & {"Cc", "Cs", "Zl", "Zp"}
    assert explain_mismatch(raw, edit) == text


@given(data=st.binary(max_size=60), old=needles)
def test_bytes_that_are_no_text_are_no_fault(data: bytes, old: str) -> None:
    assert explain_mismatch(data, Edit(old, "x"))


@given(lines=blocks, ending=st.sampled_from(["\n", "\r\n"]), at=st.floats(0, 1))
def test_a_line_that_is_quoted_stands_in_the_file(lines: list[str], ending: str, at: float) -> None:
    data = ending.join(lines)
    place = int(at * (len(data) - 1))
    text = explain_mismatch(data.encode(), Edit(f"{data[:place]}#{data[place + 1 :]}", "x"))
    for quote in re.findall(r'; the file has there "(.*)"(?:\.\.\.)?(?:; before that, .*)?$', text):
        assert any(quote in line for line in lines)


FORMS = [
    (" ", "  ", "matches but for white space"),
    (" ", "\u00a0", "U+00A0"),
    ("", "\u200b", "U+200B"),
    ("(", "（", "U+FF08"),
    ("é", "e\u0301", "NFD"),
    ("“", '"', "U+201C"),
    ("–", "-", "U+2013"),
    ('"', '\\"', "escaping"),
    ("<", "&lt;", "escaping"),
    ("X", "x", "letter case"),
]


@given(form=st.sampled_from(FORMS), parts=words, at=st.data(), before=st.integers(0, 50))
def test_a_difference_of_form_is_found_wherever_it_is(
    form: tuple[str, str, str], parts: list[str], at: st.DataObject, before: int
) -> None:
    there, sought, says = form
    place = at.draw(st.integers(1, len(parts) - 1))
    head, tail = " ".join(parts[:place]), " ".join(parts[place:])
    data = ("filler\n" * before + head + there + tail + "\n").encode()
    edit = Edit(head + sought + tail, "y")
    assert apply_edit(data, edit) == Missing()
    text = explain_mismatch(data, edit)
    assert text.startswith(f"line {before + 1} matches but for ")
    assert says in text
    assert f"column {len(head) + 1}: " in text


@given(lines=distinct_lines, at=st.data())
def test_other_text_in_one_line_of_a_block_is_named_by_line_and_character(lines: list[str], at: st.DataObject) -> None:
    number = at.draw(st.integers(1, len(lines) - 1))
    column = at.draw(st.sampled_from([index for index, character in enumerate(lines[number]) if character != " "]))
    other = f"{lines[number][:column]}#{lines[number][column + 1 :]}"
    data = ("\n".join(lines) + "\n").encode()
    text = explain_mismatch(data, Edit("\n".join([*lines[:number], other, *lines[number + 1 :]]) + "\n", "y"))
    assert f"line {number + 1}, column {column + 1}: the file has U+{ord(lines[number][column]):04X} " in text
    assert 'old_string has U+0023 "#"' in text


SIZE = 2_000_000
HOSTILE = {
    "one letter": "a" * SIZE,
    "lines of one letter": ("a" * 99 + "\n") * (SIZE // 100),
    "newlines": "\n" * SIZE,
    "spaces": " " * SIZE,
    "pairs": "ab" * (SIZE // 2),
    "capitals": "A" * SIZE,
    "quotes": "“" * (SIZE // 3),
    "marks": "e\u0301" * (SIZE // 3),
    "backslashes": "\\n" * (SIZE // 2),
    "mixed endings": "a b\r\n\tc\n" * (SIZE // 8),
    "ideographs": "".join(chr(0x4E00 + index * 7919 % 20_000) for index in range(SIZE // 3)),
}


@pytest.mark.timeout(60)
@pytest.mark.parametrize("data", [pytest.param(text, id=name) for name, text in HOSTILE.items()])
def test_hostile_needles_are_explained_in_good_time(data: str) -> None:
    raw = data.encode()
    for old in (
        "a" * 50_000 + "b" + "a" * 50_000,
        "b" + "A" * 3_000,
        "\n" * 3_000 + "x",
        "\t\n" * 3_000 + "x",
        'a\\n\\tb"&lt;é',
        '"' * 3_000 + "b",
        "é" * 3_000 + "x",
        " " * 100_000 + "x",
        f"#{data}",
        f"{data[: len(data) // 2]}#{data[len(data) // 2 :]}",
    ):
        assert len(explain_mismatch(raw, Edit(old, "x"))) <= EXPLANATION_CHARS_MAX
