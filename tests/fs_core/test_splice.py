import pytest
from hypothesis import given
from hypothesis import strategies as st

from fs_core.digest import content_digest
from fs_core.splice import Replacement, Splice


@st.composite
def splices(draw: st.DrawFn) -> Splice:
    before = draw(st.binary(max_size=40))
    borders = sorted(draw(st.lists(st.integers(0, len(before)), max_size=8)))
    pairs = zip(borders[::2], borders[1::2], strict=False)
    return Splice(before, tuple(Replacement(start, end, draw(st.binary(max_size=4))) for start, end in pairs))


@given(splices())
def test_the_new_content_is_the_old_one_with_every_replacement_made(splice: Splice) -> None:
    expected = splice.before
    for one in reversed(splice.replacements):
        expected = expected[: one.start] + one.data + expected[one.end :]
    assert splice.joined() == expected
    assert b"".join(splice.pieces()) == expected
    assert all(splice.pieces())
    assert splice.size_bytes == len(expected)
    assert splice.digest() == content_digest(expected)


@given(splices(), st.data())
def test_a_part_is_the_new_content_without_the_same_ends(splice: Splice, data: st.DataObject) -> None:
    changed = splice.replacements
    first = data.draw(st.integers(0, changed[0].start if changed else len(splice.before)))
    last = data.draw(st.integers(changed[-1].end if changed else first, len(splice.before)))
    joined = splice.joined()
    assert splice.part(first, last) == joined[first : len(joined) - (len(splice.before) - last)]


def test_what_is_kept_stands_before_between_and_after_the_replacements() -> None:
    splice = Splice(b"0123456789", (Replacement(0, 2, b"a"), Replacement(4, 4, b"b"), Replacement(4, 10, b"")))
    assert list(splice.kept()) == [(0, 0), (2, 4), (4, 4), (10, 10)]


def test_pieces_are_views_of_the_old_bytes() -> None:
    before = b"0123456789"
    pieces = [*Splice(before, (Replacement(3, 4, b"x"),)).pieces()]
    assert [piece.obj for piece in pieces] == [before, b"x", before]
    assert pieces[0].obj is before


@pytest.mark.parametrize(
    "replacements",
    [
        pytest.param([(3, 5), (4, 6)], id="overlap"),
        pytest.param([(4, 6), (1, 2)], id="out of order"),
        pytest.param([(5, 4)], id="end before start"),
        pytest.param([(-1, 2)], id="before the content"),
        pytest.param([(9, 11)], id="beyond the content"),
    ],
)
def test_replacements_that_overlap_or_leave_the_content_are_no_splice(replacements: list[tuple[int, int]]) -> None:
    with pytest.raises(ValueError, match="must stand in order"):
        Splice(b"0123456789", tuple(Replacement(start, end, b"") for start, end in replacements))
