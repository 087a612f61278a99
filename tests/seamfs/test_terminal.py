"""What a terminal is spared, and what a pipe gets."""

import io
import sys

import pytest

from seamfs.cli import main
from seamfs.terminal import Display, StatusLine, write_text

pytestmark = pytest.mark.usefixtures("restored_logging")

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


def line_on(kind: type[io.TextIOWrapper]) -> str:
    buffer = io.BytesIO()
    display = Display(kind(buffer, encoding="utf-8", newline=""))
    display.line(display.text("a\x1bb", "red"), display.text("c\x07"))
    return buffer.getvalue().decode()


def test_colour_is_for_terminals_without_no_color_and_is_not_escaped_itself(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("NO_COLOR", raising=False)
    assert line_on(Terminal) == "\x1b[31ma\\x1bb\x1b[0mc\\x07\n"
    assert line_on(io.TextIOWrapper) == "a\x1bbc\x07\n"
    monkeypatch.setenv("NO_COLOR", "1")
    assert line_on(Terminal) == "a\\x1bbc\\x07\n"


def test_a_status_line_is_for_long_work_on_a_terminal_and_leaves_nothing_behind() -> None:
    times_s = iter([0.0, 0.4, 0.6, 0.65, 0.8])
    buffer = io.BytesIO()
    status = StatusLine(Terminal(buffer, encoding="utf-8"), clock_s=lambda: next(times_s))
    for text in ("too early", "first", "too soon after", "second"):
        status.show(text)
    status.clear()
    assert buffer.getvalue() == b"\r\x1b[Kfirst\r\x1b[Ksecond\r\x1b[K"


def test_a_status_line_is_nothing_in_a_pipe_nor_of_quick_work() -> None:
    buffer = io.BytesIO()
    status = StatusLine(io.TextIOWrapper(buffer, encoding="utf-8"), clock_s=lambda: 1e9)
    status.show("long ago")
    status.clear()
    quick = StatusLine(Terminal(buffer, encoding="utf-8"), clock_s=lambda: 0.0)
    quick.show("too early")
    quick.clear()
    assert buffer.getvalue() == b""


def test_a_finding_of_the_doctor_is_coloured_on_a_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("NO_COLOR", raising=False)
    buffer = io.BytesIO()
    monkeypatch.setattr(sys, "stdout", Terminal(buffer, encoding="utf-8"))
    assert main(["doctor", "missing"]) == 1
    assert buffer.getvalue().startswith(b"\x1b[31mfail  \x1b[0m  reachable")
