"""What the lines of a `.gitignore` say, as regular expressions. Pure.

`pathspec` says what a line means. Lines without effect are left out: those that are no UTF-8 or longer than
`LINE_BYTES_MAX`, and those that git would not take either.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

from pathspec.patterns.gitignore.spec import GitIgnoreSpecPattern

__all__ = ["BY_NAME", "BY_PATH", "Rule", "rules_of"]

LINE_BYTES_MAX: Final = 1_024

BY_NAME: Final = 0
BY_PATH: Final = -1

_BYTE_ORDER_MARK: Final = b"\xef\xbb\xbf"

# Sets of characters by name, which `pathspec` does not know.
_CLASSES: Final = {
    "alnum": "0-9A-Za-z",
    "alpha": "A-Za-z",
    "digit": "0-9",
    "lower": "a-z",
    "space": " \t\v\f",
    "upper": "A-Z",
    "xdigit": "0-9A-Fa-f",
}
_CLASS: Final = re.compile(rf"(?:(?<=\[)|(?<=\[[!^]))\[:({'|'.join(_CLASSES)}):\]")

_NEGATED_SET: Final = re.compile(r"\[\^(\]?)")
_MAY_HIDE_SLASH: Final = re.compile(r"[\\\[]|\*\*|//")


@dataclass(frozen=True, slots=True)
class Rule:
    """What one line says.

    Attributes:
        regex: Reaches to the end of a path, below the directory of the file, that the line names.
        ignores: Whether the line leaves out, or takes back in.
        scope: How many names such a path has; `BY_NAME` if its last name decides, whatever stands before it, `BY_PATH`
            if that may be any number.
    """

    regex: str
    ignores: bool
    scope: int


def rules_of(data: bytes, *, size_chars_max: int) -> Iterator[Rule]:
    """Return the rules of a `.gitignore` in order, as far as their expressions have room."""
    for line in _usable_lines(data):
        if (rule := _rule(line)) is not None:
            size_chars_max -= len(rule.regex)
            if size_chars_max < 0:
                return
            yield rule


def _usable_lines(data: bytes) -> Iterator[str]:
    """Return the lines of UTF-8 text, without comments and what git takes off their ends."""
    for raw in data.removeprefix(_BYTE_ORDER_MARK).split(b"\n"):
        if not raw or raw.startswith(b"#") or len(raw) > LINE_BYTES_MAX:
            continue
        try:
            line = raw.removesuffix(b"\r").decode()
        except UnicodeDecodeError:
            continue
        yield _trimmed(line)


def _trimmed(line: str) -> str:
    """Return a line without spaces at its end, as far as no backslash keeps one; other white space is kept."""
    trimmed = line.rstrip(" ")
    backslashes = len(trimmed) - len(trimmed.rstrip("\\"))
    if backslashes % 2 and trimmed != line:
        return f"{trimmed} "
    return f"{trimmed[:-1]}[{trimmed[-1]}]" if trimmed[-1:].isspace() else trimmed


def _rule(line: str) -> Rule | None:
    if line.endswith(("/**", "/**/")):  # what is below, not the directory itself
        line = f"{line}/*" if line.endswith("*") else f"{line}*/"
    line = _CLASS.sub(lambda match: _CLASSES[match[1]], line)
    try:
        regex, ignores = GitIgnoreSpecPattern.pattern_to_regex(line)
    except ValueError:
        return None
    if regex is None or ignores is None:
        return None
    whole = _NEGATED_SET.sub(r"[^\1/", regex.replace("(?P<ps_d>", "(?:"))  # which stands for no /
    return Rule(f"(?:{whole}$)", ignores=ignores, scope=_scope(line))


def _scope(line: str) -> int:
    names = line.removeprefix("!").removesuffix("/")
    if "/" not in names.removeprefix("**/"):
        return BY_NAME
    return BY_PATH if _MAY_HIDE_SLASH.search(line) else names.removeprefix("/").count("/") + 1
