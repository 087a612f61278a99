"""What is different when a person reads the output: control characters, colour."""

import os
import re
from typing import Final, TextIO

__all__ = ["Style", "colours", "write_text"]

# Control characters but for tab and newline, and the invisible ones that reorder text.
_UNSAFE: Final = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u200e\u200f\u202a-\u202e\u2066-\u2069]")

_SGR: Final = {"bold": "1", "dim": "2", "red": "31", "green": "32", "yellow": "33", "cyan": "36"}


class Style:
    """Colours text, or leaves it alone."""

    def __init__(self, *, enabled: bool) -> None:
        self._enabled = enabled

    def __call__(self, text: str, style: str) -> str:
        """Return `text` in `style`: bold, dim, red, green, yellow or cyan."""
        return f"\x1b[{_SGR[style]}m{text}\x1b[0m" if self._enabled else text


def colours(stream: TextIO) -> Style:
    """Return the style for a stream: coloured on a terminal, unless the environment has NO_COLOR (no-color.org)."""
    return Style(enabled=stream.isatty() and not os.environ.get("NO_COLOR"))


def write_text(text: str, stream: TextIO) -> None:
    """Write text that may come from a file: escaped on a terminal, exactly as it is (UTF-8) into anything else."""
    if stream.isatty():
        stream.write(_UNSAFE.sub(_escape, text))
    else:
        stream.flush()
        stream.buffer.write(text.encode("utf-8", "backslashreplace"))
    stream.flush()


def _escape(match: re.Match[str]) -> str:
    character = match.group()
    return repr(character)[1:-1]
