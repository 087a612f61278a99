"""Foreign text made safe to show: nothing in it that is there and cannot be seen."""

from __future__ import annotations

import regex

__all__ = ["cleaned", "hides_characters", "one_line"]

# Unicode calls everything that is drawn as nothing default ignorable: tags, fillers, joiners, variation selectors.
_UNSEEN = regex.compile(r"[\p{Cf}\p{Cs}\p{Co}\p{Default_Ignorable_Code_Point}]|[\p{Cc}--[\t\n]]", regex.VERSION1)
# Where a text is data and cannot be changed: joiners and the emoji selector are part of words and pictures, and
# control characters are written as escapes in JSON.
_SMUGGLED = regex.compile(
    r"[[\p{Cf}\p{Cs}\p{Co}\p{Default_Ignorable_Code_Point}]--[\u200c\u200d\ufe0f]]", regex.VERSION1
)
_BREAKS = regex.compile(r"\r\n|[\r\v\f\x85\u2028\u2029]")
_GAPS = regex.compile(r"\n{3,}")

# Removing characters shortens a text; a description made of little else than what is removed is not worth reading on.
_SURPLUS = 4


def cleaned(text: str, chars_max: int) -> str:
    """Return a text without control, bidirectional and invisible characters, with sane whitespace, cut to a length."""
    text = text[: chars_max * _SURPLUS]
    text = _UNSEEN.sub("", _BREAKS.sub("\n", text))
    text = _GAPS.sub("\n\n", "\n".join(map(str.rstrip, text.split("\n")))).strip()
    return text if len(text) <= chars_max else f"{text[: chars_max - 1].rstrip()}…"


def one_line(text: str, chars_max: int) -> str:
    """Return the same, as one line."""
    text = " ".join(cleaned(text, chars_max * _SURPLUS).split())
    return text if len(text) <= chars_max else f"{text[: chars_max - 1].rstrip()}…"


def hides_characters(text: str) -> bool:
    """Whether a text that must stay as it is holds characters that nobody would see."""
    return _SMUGGLED.search(text) is not None
