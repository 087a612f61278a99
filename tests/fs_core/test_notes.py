import pytest

from fs_core.notes import write_notes
from fs_core.text import BOM
from fs_core.types import NoteKind


@pytest.mark.parametrize(
    ("before", "after", "detail"),
    [
        pytest.param(b"a\r\nb\r\n", b"a\nb\n", "from CRLF to LF", id="crlf to lf"),
        pytest.param(b"a\n", b"a\r\n", "from LF to CRLF", id="lf to crlf"),
        pytest.param(b"a\r\nb\n", b"a\nb\n", "from mixed LF and CRLF to LF", id="mixed to lf"),
        pytest.param(b"a\nb\n", b"a\r\nb\n", "from LF to mixed LF and CRLF", id="lf to mixed"),
        pytest.param(b"a\rb", b"a\nb", "from CR to LF", id="cr to lf"),
    ],
)
def test_changed_line_endings_are_told(before: bytes, after: bytes, detail: str) -> None:
    (note,) = write_notes(before, after)
    assert note.kind is NoteKind.LINE_ENDINGS_CHANGED
    assert note.detail == f"line endings changed {detail}"


def test_a_lost_byte_order_mark_is_told() -> None:
    (note,) = write_notes(BOM + b"a", b"b")
    assert note.kind is NoteKind.BYTE_ORDER_MARK_CHANGED


@pytest.mark.parametrize(
    ("before", "after"),
    [
        pytest.param(b"a\r\n", b"b\r\nc\r\n", id="same endings"),
        pytest.param(b"a", b"b\r\n", id="a single line had none"),
        pytest.param(b"a\r\n", b"b", id="a single line has none"),
        pytest.param(b"", b"b\n", id="new file"),
        pytest.param(BOM + b"a\n", BOM + b"b\n", id="byte order mark kept"),
    ],
)
def test_nothing_is_told_of_what_stayed(before: bytes, after: bytes) -> None:
    assert write_notes(before, after) == ()
