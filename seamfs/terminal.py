"""What is different when a person reads the output: control characters, colour."""

import os
import re
from typing import Final, TextIO

__all__ = ["Display", "write_text"]

# Control characters but for tab and newline, and the invisible ones that reorder text.
_UNSAFE: Final = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u200e\u200f\u202a-\u202e\u2066-\u2069]")

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


def write_text(text: str, stream: TextIO) -> None:
    """Write text that may come from a file: escaped on a terminal, exactly as it is (UTF-8) into anything else."""
    _write(_escaped(text) if stream.isatty() else text, stream)


def _write(text: str, stream: TextIO) -> None:
    stream.flush()
    stream.buffer.write(text.encode("utf-8", "backslashreplace"))
    stream.flush()


def _escaped(text: str) -> str:
    return _UNSAFE.sub(lambda match: repr(match.group())[1:-1], text)
