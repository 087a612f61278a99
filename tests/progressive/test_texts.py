import pytest
from hypothesis import given
from hypothesis import strategies as st

from progressive.texts import clean, cut_text, is_longer, one_line

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


def test_one_line_has_single_spaces_and_is_cut() -> None:
    assert one_line(" a\n\tb\u2028c  ", 9) == "a b c"
    assert one_line("a " * 100_000, 5) == "a a a…"


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("a\r\nb\rc\u2028d\x85e", "a\nb\nc\nd\ne"),
        ("\x1b[31mred\x00", "[31mred"),
        ("\u202eevil\u2066\ufeff\u200b\U000e0041", "evil"),
        (FAMILY, FAMILY),
        ("می\u200cخواهم", "می\u200cخواهم"),
        ("tab\there", "tab\there"),
        ("lone \ud800", "lone "),
    ],
)
def test_what_cannot_be_seen_is_left_out(text: str, shown: str) -> None:
    assert clean(text) == shown
