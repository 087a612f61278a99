import re

import pytest
from hypothesis import assume, example, given
from hypothesis import strategies as st

import fs_core.edit
from fs_core import _matching
from fs_core.edit import Ambiguous, Edit, Missing, apply_edit
from fs_core.text import BOM, find_not_text
from tests.fs_core.edit_reference import Content, expected_outcome, told

ENDINGS = [b"\n", b"\r\n", b"\r", b"\r\r\n", b"\n\r"]


def files_of(pieces: list[bytes]) -> st.SearchStrategy[bytes]:
    body = st.lists(st.sampled_from(pieces), max_size=24).map(b"".join)
    return st.builds(bytes.__add__, st.sampled_from([b"", b"", BOM]), body)


# Few letters, so that places are frequent and overlap.
WORDS = [b"a", b"a", b"b", "é".encode(), b"\t"]
# Characters beyond the first plane, and ones that any normal form, case folding or trimming would make equal.
ALIKE = [
    "😀",
    "😁",
    "é",
    "e\u0301",
    "e",
    "\u0301",
    "\u212b",
    "Å",
    "ﬁ",
    "fi",
    "Ａ",
    "A",
    "\xa0",
    " ",
    "\u200b",
    "\u2028",
]
files = st.one_of(
    files_of([*WORDS, b"\n"]),
    files_of([*WORDS, b"\r\n"]),
    files_of([*WORDS, *ENDINGS]),
    files_of([b"\r", b"\n", b"\r\n"]),
    files_of([*(character.encode() for character in ALIKE), b"\n", b"\r\n", b"\r"]),
)
snippets = st.one_of(
    st.lists(st.sampled_from(["a", "b", "é", "\t", "\n", "\r\n", "\r", "\ufeff"]), max_size=6).map("".join),
    st.lists(st.sampled_from([*ALIKE, "\n"]), max_size=3).map("".join),
)


@st.composite
def files_and_edits(draw: st.DrawFn) -> tuple[bytes, Edit]:
    data = draw(files)
    text = data.decode().removeprefix("\ufeff")
    start = draw(st.integers(0, len(text)))
    end = draw(st.integers(start, min(len(text), start + 8)))
    part = text[start:end]
    old_string = draw(st.sampled_from([part, part.replace("\r\n", "\n"), draw(snippets)]))
    assume(old_string)
    return data, Edit(old_string, draw(snippets), replace_all=draw(st.booleans()))


@given(files_and_edits())
@example((b"\r\n\r\n\r\n", Edit("\n\n", "x")))
@example((b"a\r\r\n\n", Edit("a\r", "b")))
@example((b"a\r\r\n\n", Edit("\r\n", "b")))
@example(("😀\r\n😁\n".encode(), Edit("\n😁\n", "😁\n😀\n")))
@example(("é e\u0301".encode(), Edit("e\u0301", "é")))
@example((b"1\r\n2\n3\r4\r\n", Edit("1\n2\n3\r4\n", "a\nb\nc\nd")))
def test_an_edit_does_what_folding_finding_and_mapping_back_does(case: tuple[bytes, Edit]) -> None:
    data, edit = case
    assert told(apply_edit(data, edit)) == expected_outcome(data, edit)


@given(case=files_and_edits(), waste_free=st.sampled_from([-(1 << 40), 0, 1_000]), window_bytes=st.integers(1, 9))
@example(case=(b"b\r\na\n" * 4, Edit("a\nb\na\n", "x\ny", replace_all=True)), waste_free=-(1 << 40), window_bytes=1)
@example(case=(b"a\r\n\r\n\n" * 4, Edit("\n\n\n", "b\n", replace_all=True)), waste_free=0, window_bytes=2)
def test_an_edit_is_the_same_where_windows_are_folded_and_runs_are_short(
    case: tuple[bytes, Edit], waste_free: int, window_bytes: int
) -> None:
    data, edit = case
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(_matching, "_WASTE_FREE", waste_free)
        patch.setattr(_matching, "_WINDOW_BYTES", window_bytes)
        patch.setattr(fs_core.edit, "_RUN_BYTES_MIN", window_bytes)
        assert told(apply_edit(data, edit)) == expected_outcome(data, edit)


@given(files_and_edits())
def test_all_bytes_around_the_replaced_ones_stay(case: tuple[bytes, Edit]) -> None:
    data, edit = case
    outcome = told(apply_edit(data, edit))
    if not isinstance(outcome, Content):
        assert isinstance(outcome, Missing | Ambiguous)
        return
    end = len(data) - outcome.suffix_bytes
    assert outcome.data.startswith(data[: outcome.prefix_bytes])
    assert outcome.data.endswith(data[end:])
    assert len(outcome.data) >= outcome.prefix_bytes + outcome.suffix_bytes
    assert find_not_text(outcome.data) is None
    assert outcome.data.startswith(BOM) or not data.startswith(BOM)


@given(files_and_edits())
@example((b"\xef\xbb\xbfa\r\nb", Edit("a\nb", "b\r\na")))
@example((b"x\ra\r\n", Edit("\ra", "\r")))
def test_one_place_is_cut_out_and_the_new_text_put_there(case: tuple[bytes, Edit]) -> None:
    before, edit = case
    outcome = told(apply_edit(before, edit))
    if not isinstance(outcome, Content) or outcome.replacements > 1:
        return
    start, end = outcome.prefix_bytes, len(before) - outcome.suffix_bytes
    replacement = outcome.data[start : len(outcome.data) - outcome.suffix_bytes]
    assert before[:start] + replacement + before[end:] == outcome.data
    assert is_but_for_endings(before[start:end], edit.old_string)
    assert is_but_for_endings(replacement, edit.new_string)


def is_but_for_endings(raw: bytes, text: str) -> bool:
    """Whether `raw` is `text` with LF or CRLF at each of its line ends."""
    lines = text.replace("\r\n", "\n").encode().split(b"\n")
    return re.fullmatch(b"\r?\n".join(map(re.escape, lines)), raw) is not None


@st.composite
def mixed_files_and_edits(draw: st.DrawFn) -> tuple[bytes, Edit]:
    """A file of LF and CRLF, and an edit of a part of it that leaves its number of lines."""
    units = draw(st.lists(st.sampled_from(["a", "b", "é", "😀", "\n", "\r\n"]), min_size=1, max_size=16))
    start = draw(st.integers(0, len(units) - 1))
    part = units[start : draw(st.integers(start + 1, len(units)))]
    words = st.lists(st.sampled_from(["c", "d", "😁", "e\u0301"]), max_size=3).map("".join)
    breaks = sum(unit.endswith("\n") for unit in part)
    new_lines = [draw(words) for _ in range(breaks + 1)]
    data = draw(st.sampled_from([b"", BOM])) + "".join(units).encode()
    return data, Edit("".join(part), "\n".join(new_lines))


@given(mixed_files_and_edits())
@example((b"a\r\nb\na\r\n", Edit("a\nb\n", "c\n\n")))
def test_the_opposite_edit_restores_every_byte_of_mixed_lines(case: tuple[bytes, Edit]) -> None:
    data, edit = case
    outcome = told(apply_edit(data, edit))
    assert not isinstance(outcome, Missing)
    if isinstance(outcome, Ambiguous) or not edit.new_string:
        return
    back = told(apply_edit(outcome.data, Edit(edit.new_string, edit.old_string)))
    assert isinstance(back, Ambiguous) or (isinstance(back, Content) and back.data == data)


@st.composite
def uniform_files_and_edits(draw: st.DrawFn) -> tuple[bytes, Edit]:
    """A file of one line ending, and an edit of a part of it that brings no lone CR and puts some text there."""
    pieces = st.lists(st.sampled_from(["a", "b", "c", "d", "é", "\n"]), min_size=1, max_size=12).map("".join)
    text = draw(pieces)
    start = draw(st.integers(0, len(text) - 1))
    end = draw(st.integers(start + 1, len(text)))
    ending = draw(st.sampled_from(["\n", "\r\n"]))
    return text.replace("\n", ending).encode(), Edit(text[start:end], draw(pieces))


@given(uniform_files_and_edits())
def test_the_opposite_edit_of_a_uniform_file_restores_it(case: tuple[bytes, Edit]) -> None:
    data, edit = case
    outcome = told(apply_edit(data, edit))
    opposite = Edit(edit.new_string, edit.old_string)
    back = told(apply_edit(outcome.data, opposite)) if isinstance(outcome, Content) else None
    # A file whose only line ending was replaced does not remember which one it was.
    if isinstance(outcome, Content) and isinstance(back, Content) and (b"\n" in outcome.data or b"\r\n" not in data):
        assert back.data == data
    else:
        assert not isinstance(outcome, Missing)
