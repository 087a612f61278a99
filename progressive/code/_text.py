"""Foreign text as a part of Python source: names, comments and docstrings that cannot become anything else."""

import keyword
import re
import unicodedata
from inspect import cleandoc
from typing import Final

from progressive.texts import clean

__all__ = ["comment", "docstring", "is_plain", "pascal"]

COMMENT_CHARS_MAX: Final = 300
"""Of 805 descriptions of parameters in the LiveMCPBench catalog, 99 in 100 are shorter than 240 characters."""
DOCSTRING_CHARS_MAX: Final = 4_000
"""The longest description of a tool there has 3,866 characters."""
NAME_CHARS_MAX: Final = 80
"""Type names are made from foreign names, and each is repeated where it is used."""

_ELLIPSIS: Final = "…"


def comment(text: str) -> str:
    """Return text on one line, bounded, for use after `#`; empty if nothing of it is visible."""
    return _cut(" ".join(clean(text).split()), COMMENT_CHARS_MAX)


def docstring(text: str, *, indent: str) -> list[str]:
    """Return the lines of a docstring, without the margin of the text, bounded; none if nothing of it is visible."""
    lines = [line.rstrip() for line in _cut(cleandoc(clean(text)).strip(), DOCSTRING_CHARS_MAX).split("\n")]
    if lines == [""]:
        return []
    body = "\n".join(lines).replace("\\", "\\\\")
    if body.endswith('"'):
        body = f'{body[:-1]}\\"'
    body = body.replace('"""', '\\"\\"\\"')
    source = f'"""{body}"""' if len(lines) == 1 else f'"""{body}\n"""'
    return [f"{indent}{line}" if line else "" for line in source.split("\n")]


def is_plain(name: str) -> bool:
    """Tell whether a name can stand as it is for an attribute: Python would not read, mangle or hide it otherwise."""
    return (
        name.isidentifier()
        and not keyword.iskeyword(name)
        and not name.startswith("_")
        and unicodedata.normalize("NFKC", name) == name
    )


def pascal(name: str) -> str:
    """Return the words of a name in one identifier, as `read_file` gives `ReadFile`; bounded, may be empty."""
    words = re.split(r"[\W_]+", unicodedata.normalize("NFKC", name))
    joined = unicodedata.normalize("NFKC", "".join(word[:1].upper() + word[1:] for word in words))
    kept = "".join(character for character in joined if f"a{character}".isidentifier() and character != "_")
    return kept[:NAME_CHARS_MAX]


def _cut(text: str, chars_max: int) -> str:
    return text if len(text) <= chars_max else text[: chars_max - 1] + _ELLIPSIS
