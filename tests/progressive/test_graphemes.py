import pytest
from hypothesis import given
from hypothesis import strategies as st

from progressive.graphemes import cut_text, is_longer, one_line

FAMILY = "👩‍👩‍👧‍👦"
ACCENTED = "é"


@pytest.mark.parametrize(
    ("text", "length_max", "shown"),
    [
        ("Ping.", 5, "Ping."),
        ("Ping.", 4, "Ping…"),
        ("two words", 4, "two…"),
        (FAMILY * 3, 2, f"{FAMILY * 2}…"),
        (ACCENTED * 3, 3, ACCENTED * 3),
        (ACCENTED * 3, 2, f"{ACCENTED * 2}…"),
        ("a\r\nb", 2, "a…"),
        ("", 1, ""),
    ],
)
def test_a_text_is_cut_between_graphemes(text: str, length_max: int, shown: str) -> None:
    assert cut_text(text, length_max) == shown


def test_a_letter_under_a_thousand_accents_is_cut_all_the_same() -> None:
    assert len(cut_text("a" + "\u0301" * 100_000, 3)) < 60


@pytest.mark.parametrize(("text", "length"), [("abc", 3), (FAMILY * 2, 2), (ACCENTED, 1), ("\r\n", 1), ("日历", 2)])
def test_length_counts_graphemes(text: str, length: int) -> None:
    assert not is_longer(text, length)
    assert is_longer(text, length - 1)


@given(st.text(), st.integers(1, 20))
@pytest.mark.hypothesis
def test_what_is_cut_is_a_start_within_the_bound(text: str, length_max: int) -> None:
    shown = cut_text(text, length_max)
    if shown == text:
        return
    assert shown.endswith("…")
    assert text.startswith(shown[:-1])
    assert not is_longer(shown[:-1], length_max)


def test_one_line_has_single_spaces() -> None:
    assert one_line(" a\n\tb\u2028c  ") == "a b c"
