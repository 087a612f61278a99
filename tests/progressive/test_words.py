import unicodedata
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from snowballstemmer.english_stemmer import EnglishStemmer

from progressive.words import FUNCTION_WORDS, REQUEST_WORDS, is_unspaced, normalized, spelling, stem, words
from tests.support.growth import growth

TEXTS = st.text(max_size=200)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("read_file", ["read", "file"]),
        ("get-weread-rank", ["get", "weread", "rank"]),
        ("my-tool.v2", ["my", "tool", "v2"]),
        ("mcp__fs__read_file", ["mcp", "fs", "read", "file"]),
        ("readFile", ["read", "file", "readfile"]),
        ("HTTPServer", ["http", "server", "httpserver"]),
        ("HTTPServerStatus", ["http", "server", "status", "httpserverstatus"]),
        ("getURL", ["get", "url", "geturl"]),
        ("userIDs", ["user", "ids", "userids"]),
        ("GitHub", ["git", "hub", "github"]),
        ("PDF2Text", ["pdf", "text", "pdf2text"]),
        ("mp3 S3 2D", ["mp", "mp3", "s3", "2d"]),
        ("covid-19", ["covid", "19"]),
        ("eMail", ["mail", "email"]),
        ("convertcurrency", ["convertcurrency"]),
        ("A", ["a"]),
        ("It's a URL.", ["it", "s", "a", "url"]),
        ("Straße", ["strasse"]),
        ("ŁódźMiasto", ["łódź", "miasto", "łódźmiasto"]),
        ("हिन्दी", ["हिन्दी"]),
        ("ＦＵＬＬ ｗｉｄｔｈ", ["full", "width"]),
        ("ﬁle", ["file"]),
        ("cafe\u0301", ["café"]),
        ("查询日历", ["查询", "询日", "日历"]),
        ("查", ["查"]),
        ("PDF转换tool", ["pdf", "转换", "tool"]),
        ("カレンダー", ["カレ", "レン", "ンダ", "ダー"]),
        ("ｶﾚﾝﾀﾞｰ", ["カレ", "レン", "ンダ", "ダー"]),
        ("날씨", ["날씨"]),
        ("👩‍👩‍👧‍👦 ** -- \x00", []),
        ("", []),
    ],
)
def test_text_gives_words(text: str, expected: list[str]) -> None:
    assert words(text, chars_max=100) == expected


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("currencies", "currency"),
        ("cities", "city"),
        ("boxes", "box"),
        ("converting", "convert"),
        ("translation", "translate"),
        ("generated", "generation"),
    ],
)
def test_forms_of_an_english_word_have_one_term(one: str, other: str) -> None:
    assert stem(one) == stem(other)


@pytest.mark.parametrize("word", ["s3", "éditions", "日历", "2024", "mp3s", ""])
def test_word_that_is_not_of_english_letters_is_its_own_term(word: str) -> None:
    assert stem(word) == word


# What the English stemmer looks at in each of its steps.
ENDINGS = (
    *("s", "e", "y", "ed", "eed", "ly", "edly", "eedly", "ing", "ingly", "us", "ss", "sses", "ied", "ies", "at", "bl"),
    *("iz", "bb", "dd", "tt", "tional", "enci", "anci", "abli", "entli", "izer", "ization", "ational", "ation", "ator"),
    *("alism", "aliti", "alli", "fulness", "ousli", "ousness", "iveness", "iviti", "biliti", "bli", "ogi", "ogist"),
    *("fulli", "lessli", "li", "icate", "ative", "alize", "iciti", "ical", "ful", "ness", "al", "ance", "ence", "er"),
    *("ic", "able", "ible", "ant", "ement", "ment", "ent", "ism", "ate", "iti", "ous", "ive", "ize", "ion", "l", "ll"),
)
ENGLISH: Any = EnglishStemmer()
LETTERS = st.text("abcdefghijklmnopqrstuvwxyz", max_size=6)


@given(LETTERS, st.lists(st.sampled_from(ENDINGS), max_size=3).map("".join), st.sampled_from(["", "x", "k", "r", "n"]))
def test_stem_is_that_of_the_english_stemmer(beginning: str, ending: str, last: str) -> None:
    word = f"{beginning}{ending}{last}"
    assert stem(word) == ENGLISH.stemWord(word)


def test_word_longer_than_english_ones_is_its_own_term() -> None:
    assert stem("read" * 7 + "ings") == "read" * 7
    assert stem("read" * 8 + "ings") == "read" * 8 + "ings"


@pytest.mark.parametrize("name", ["convertCurrency", "convert_currency", "Convert Currency", "convert-currency!"])
def test_identifiers_that_differ_in_case_and_separators_have_one_spelling(name: str) -> None:
    assert spelling(name, chars_max=100) == "convertcurrency"


def test_text_without_letters_and_digits_has_no_spelling() -> None:
    assert spelling("++ -- 👩", chars_max=100) == ""


@pytest.mark.parametrize(
    ("word", "expected"), [("日", True), ("日历", True), ("日a", False), ("a", False), ("", False)]
)
def test_script_without_spaces_is_told(word: str, *, expected: bool) -> None:
    assert is_unspaced(word) is expected


def test_text_is_cut_before_and_after_it_grows() -> None:
    assert len(normalized("ﷺ" * 50, chars_max=20)) == 20
    assert words("one two three", chars_max=7) == ["one", "two"]


def test_marks_in_a_row_are_cut_where_unicode_allows_no_more() -> None:
    allowed = "q" + "\u0301\u0323" * 15
    assert normalized(allowed, chars_max=1_000) == unicodedata.normalize("NFKC", allowed)
    assert normalized(allowed + "\u0301" * 500 + "z", chars_max=1_000) == normalized(f"{allowed}z", chars_max=1_000)


def test_endless_word_is_cut() -> None:
    assert words("x" * 10_000, chars_max=10_000) == ["x" * 64]


def test_word_lists_are_words_as_the_analysis_gives_them() -> None:
    for word in FUNCTION_WORDS | REQUEST_WORDS:
        assert words(word, chars_max=100) == [word]
    assert not FUNCTION_WORDS & REQUEST_WORDS


@given(TEXTS)
def test_words_are_folded_and_hold_no_separators(text: str) -> None:
    for word in words(text, chars_max=500):
        assert word
        assert word == word.casefold()
        assert not any(unicodedata.category(char)[0] in "ZP" or unicodedata.category(char) == "Cc" for char in word)


@given(TEXTS, TEXTS)
def test_words_of_two_lines_are_the_words_of_each(one: str, other: str) -> None:
    both = words(f"{one}\n{other}", chars_max=5_000)
    assert both == words(one, chars_max=5_000) + words(other, chars_max=5_000)


@pytest.mark.parametrize(
    "piece",
    ["Aa", "A", "a_", "1a", "字", "\u0301", "ﷺ", "A\u0301", "\ud800", "aB1_", "ー", "\u200d", "IDs", "\u0301\u0323"],
)
def test_cost_grows_in_proportion_to_the_text(piece: str) -> None:
    def read(chars: int) -> None:
        words(piece * (chars // len(piece)), chars_max=chars)

    # Quadratic work would cost 400 times as much; the rest is room for collections of garbage.
    assert growth(lambda: read(10_000), lambda: read(200_000), enough=100, least_s=4e-3) < 100
