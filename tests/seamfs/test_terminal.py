"""What a terminal is spared, and what a pipe gets."""

import io

import pytest

from seamfs.terminal import colours, write_text

RAW = "red\x1b[31m \x07bell \u202eright\u202c caf\u00e9\ttab\r\n"


class Terminal(io.TextIOWrapper):
    def isatty(self) -> bool:
        return True


def written(kind: type[io.TextIOWrapper], text: str) -> bytes:
    buffer = io.BytesIO()
    stream = kind(buffer, encoding="utf-8", newline="")
    write_text(text, stream)
    return buffer.getvalue()


def test_a_terminal_gets_control_and_reordering_characters_escaped() -> None:
    shown = written(Terminal, RAW).decode()
    assert shown == "red\\x1b[31m \\x07bell \\u202eright\\u202c caf\u00e9\ttab\\r\n"


def test_a_pipe_gets_the_raw_text() -> None:
    assert written(io.TextIOWrapper, RAW) == RAW.encode()


def test_a_lone_surrogate_does_not_break_the_output() -> None:
    assert written(io.TextIOWrapper, "a\udc80b") == b"a\\udc80b"


def test_colour_is_for_terminals_without_no_color(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("NO_COLOR", raising=False)
    assert colours(Terminal(io.BytesIO()))("x", "red") == "\x1b[31mx\x1b[0m"
    assert colours(io.TextIOWrapper(io.BytesIO()))("x", "red") == "x"
    monkeypatch.setenv("NO_COLOR", "1")
    assert colours(Terminal(io.BytesIO()))("x", "red") == "x"
