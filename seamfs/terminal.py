"""What is different when a person reads the output: control characters, colour."""

import os
import re
import time
from collections.abc import Callable
from typing import Final, TextIO

__all__ = ["Display", "StatusLine", "write_json", "write_text"]

# Control characters but for tab and newline, and the invisible ones that reorder text.
_UNSAFE: Final = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u200e\u200f\u202a-\u202e\u2066-\u2069]")

_ERASE: Final = "\r\x1b[K"
_SGR: Final = {"bold": "1", "dim": "2", "red": "31", "green": "32", "yellow": "33", "cyan": "36"}


class Display:
    """Lines for people on one stream: coloured and escaped on a terminal, as they are in a pipe.

    Colour is left out where the environment has NO_COLOR (no-color.org).

    Attributes:
        is_terminal: Whether somebody reads it as it is written.
        has_colour: Whether styles are shown.
    """

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream
        self.is_terminal = stream.isatty()
        self.has_colour = self.is_terminal and not os.environ.get("NO_COLOR")

    def text(self, text: str, style: str | None = None) -> str:
        """Return a part of a line, in a style: bold, dim, red, green, yellow or cyan."""
        shown = _escaped(text) if self.is_terminal else text
        return f"\x1b[{_SGR[style]}m{shown}\x1b[0m" if self.has_colour and style is not None else shown

    def line(self, *parts: str) -> None:
        """Write one line of parts made by `text`."""
        _write("".join((*parts, "\n")), self._stream)


class StatusLine:
    """One line on a terminal that says how far long work has come, and is gone at its end. Nothing in a pipe."""

    FIRST_AFTER_S: Final = 0.5
    PERIOD_S: Final = 0.1

    def __init__(self, stream: TextIO, *, clock_s: Callable[[], float] = time.monotonic) -> None:
        """Begin with the work; quick work is over before anything is shown."""
        self._stream = stream
        self._clock_s = clock_s
        self._next_s = clock_s() + self.FIRST_AFTER_S if stream.isatty() else float("inf")
        self._is_shown = False

    def show(self, text: str) -> None:
        """Show how far the work is, unless that was shown a moment ago."""
        now_s = self._clock_s()
        if now_s >= self._next_s:
            self._next_s = now_s + self.PERIOD_S
            self._is_shown = True
            _write(f"{_ERASE}{text}", self._stream)

    def clear(self) -> None:
        """Take the line away."""
        if self._is_shown:
            _write(_ERASE, self._stream)


def write_json(value: object, stream: TextIO) -> None:
    """Write one JSON value as a line; ASCII on a terminal, UTF-8 into anything else."""
    # Most commands print text.
    import json

    write_text(json.dumps(value, ensure_ascii=stream.isatty()) + "\n", stream)


def write_text(text: str, stream: TextIO) -> None:
    """Write text that may come from a file: escaped on a terminal, exactly as it is (UTF-8) into anything else."""
    _write(_escaped(text) if stream.isatty() else text, stream)


def _write(text: str, stream: TextIO) -> None:
    stream.flush()
    stream.buffer.write(text.encode("utf-8", "backslashreplace"))
    stream.flush()


def _escaped(text: str) -> str:
    return _UNSAFE.sub(lambda match: repr(match.group())[1:-1], text)
