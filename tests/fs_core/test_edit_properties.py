from hypothesis import assume, example, given
from hypothesis import strategies as st

from fs_core.edit import Ambiguous, Edit, Missing, Spliced, apply_edit
from fs_core.text import BOM, find_not_text
from tests.fs_core.edit_reference import expected_outcome

ENDINGS = [b"\n", b"\r\n", b"\r", b"\r\r\n", b"\n\r"]


def files_of(pieces: list[bytes]) -> st.SearchStrategy[bytes]:
    body = st.lists(st.sampled_from(pieces), max_size=24).map(b"".join)
    return st.builds(bytes.__add__, st.sampled_from([b"", b"", BOM]), body)


# Few letters, so that places are frequent and overlap.
WORDS = [b"a", b"a", b"b", "é".encode(), b"\t"]
files = st.one_of(
    files_of([*WORDS, b"\n"]),
    files_of([*WORDS, b"\r\n"]),
    files_of([*WORDS, *ENDINGS]),
    files_of([b"\r", b"\n", b"\r\n"]),
)
snippets = st.lists(st.sampled_from(["a", "b", "é", "\t", "\n", "\r\n", "\r", "\ufeff"]), max_size=6).map("".join)


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
def test_an_edit_does_what_folding_finding_and_mapping_back_does(case: tuple[bytes, Edit]) -> None:
    data, edit = case
    assert apply_edit(data, edit) == expected_outcome(data, edit)


@given(files_and_edits())
def test_all_bytes_around_the_replaced_ones_stay(case: tuple[bytes, Edit]) -> None:
    data, edit = case
    outcome = apply_edit(data, edit)
    if not isinstance(outcome, Spliced):
        assert isinstance(outcome, Missing | Ambiguous)
        return
    end = len(data) - outcome.suffix_bytes
    assert outcome.data.startswith(data[: outcome.prefix_bytes])
    assert outcome.data.endswith(data[end:])
    assert len(outcome.data) >= outcome.prefix_bytes + outcome.suffix_bytes
    assert find_not_text(outcome.data) is None
    assert outcome.data.startswith(BOM) or not data.startswith(BOM)


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
    outcome = apply_edit(data, edit)
    back = apply_edit(outcome.data, Edit(edit.new_string, edit.old_string)) if isinstance(outcome, Spliced) else None
    # A file whose only line ending was replaced does not remember which one it was.
    if isinstance(outcome, Spliced) and isinstance(back, Spliced) and (b"\n" in outcome.data or b"\r\n" not in data):
        assert back.data == data
    else:
        assert not isinstance(outcome, Missing)
