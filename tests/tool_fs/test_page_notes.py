from typing import NoReturn

import pytest

from fs_core.page import Page, Window
from tests.fs_core.text_reference import scan
from tool_fs.page_notes import page_notes


def notes_of(text: str, *, line_chars_max: int = 2000) -> list[str]:
    page = scan([text.encode()], Window(line_chars_max=line_chars_max))
    assert isinstance(page, Page)
    return [note["text"] for note in page_notes(page)]


@pytest.mark.parametrize(
    ("character", "name"),
    [
        ("\x01", "U+0001 control character"),
        ("\x07", "U+0007 control character"),
        ("\x0b", "U+000B LINE TABULATION"),
        ("\x0c", "U+000C FORM FEED"),
        ("\r", "U+000D CARRIAGE RETURN"),
        ("\x1b", "U+001B ESCAPE"),
        ("\x7f", "U+007F control character"),
        ("\x85", "U+0085 control character"),
        ("\xad", "U+00AD SOFT HYPHEN"),
        ("\u200b", "U+200B ZERO WIDTH SPACE"),
        ("\u200e", "U+200E LEFT-TO-RIGHT MARK"),
        ("\u2028", "U+2028 LINE SEPARATOR"),
        ("\u2029", "U+2029 PARAGRAPH SEPARATOR"),
        ("\u202e", "U+202E RIGHT-TO-LEFT OVERRIDE"),
        ("\u2060", "U+2060 WORD JOINER"),
        ("\u2066", "U+2066 LEFT-TO-RIGHT ISOLATE"),
        ("\ufeff", "U+FEFF ZERO WIDTH NO-BREAK SPACE"),
        ("\U000e0041", "U+E0041 TAG LATIN CAPITAL LETTER A"),
    ],
)
def test_what_cannot_be_seen_is_named_by_code_point(character: str, name: str) -> None:
    assert notes_of(f"plain\na{character}b\n") == [f"line 2 holds {name}"]


@pytest.mark.parametrize("text", ["tab\t", "é e\u0301", "👩\u200d💻", "نمی\u200cخواهم", "日本", "\t日本\t", "\ufffd"])
def test_ordinary_text_needs_no_note(text: str) -> None:
    assert notes_of(f"{text}\n") == []


def test_every_character_of_ascii_but_tab_that_cannot_be_printed_is_named() -> None:
    # A NUL makes a file none of text, and a line feed ends the line.
    characters = [chr(code) for code in range(1, 128) if chr(code) != "\n"]
    named = [character for character in characters if notes_of(f"a{character}b\n")]
    assert named == [character for character in characters if not character.isprintable() and character != "\t"]


@pytest.mark.parametrize("line", ["\tif x:", "\tif 日本:"])
def test_lines_are_not_looked_at_one_by_one_where_nothing_is_unseen(line: str, monkeypatch: pytest.MonkeyPatch) -> None:
    def unwanted(*_: object) -> NoReturn:
        raise AssertionError("every line was looked at")

    monkeypatch.setattr("tool_fs.page_notes.unseen_notes", unwanted)
    assert notes_of(f"{line}\n" * 5) == []


def test_a_character_is_named_once_a_line_and_few_of_them() -> None:
    assert notes_of("\x01\x01\x02\n") == ["line 1 holds U+0001 control character, U+0002 control character"]
    assert notes_of("\x01\x02\x03\x04\x05\n")[0].endswith("U+0004 control character, and others")


def test_only_the_first_lines_are_named_each() -> None:
    notes = notes_of("\x01\n" * 7)
    assert len(notes) == 6
    assert notes[-1] == "2 more lines hold control or invisible characters"
    notes = notes_of("long\n" * 7, line_chars_max=2)
    assert notes[0] == "line 1 is cut: 2 of its 4 characters are shown"
    assert notes[-1] == "2 more lines are cut"


def test_a_missing_final_newline_is_told_at_the_end_alone() -> None:
    page = scan([b"1\n2"], Window(lines_max=1))
    assert isinstance(page, Page)
    assert page_notes(page) == []
    assert notes_of("1\n2") == ["the last line has no newline at its end"]
    assert notes_of("") == []
