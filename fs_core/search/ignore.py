"""What `.gitignore` files leave out, as git does, in linear time. Pure.

`pathspec` says what a line means and RE2 finds it, in the names of many directories at once. The rules of git
(https://git-scm.com/docs/gitignore): the file that is nearest decides, in a file the last line that names a path, and
nothing below a directory that is left out is looked at. Lines that git would take and this does not are without effect:
those that are no UTF-8, longer than `LINE_BYTES_MAX`, or too large for RE2.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import Final

from pathspec.patterns.gitignore.spec import GitIgnoreSpecPattern

from fs_core.search._re2 import Expression, ExpressionError, compile_expression

__all__ = ["IGNORE_FILE_BYTES_MAX", "IGNORE_FILE_NAME", "VERSION_CONTROL_NAMES", "IgnoreRules", "Names"]

IGNORE_FILE_NAME: Final = ".gitignore"
IGNORE_FILE_BYTES_MAX: Final = 256 << 10
"""A larger `.gitignore` is passed over as a whole."""
LINE_BYTES_MAX: Final = 1_024
RULES_MAX: Final = 4_096
"""Of one file; what follows is without effect."""
FILES_IN_FORCE_MAX: Final = 64
"""Files that count in one directory; those in directories further down are passed over."""
VERSION_CONTROL_NAMES: Final = frozenset({".git", ".hg", ".svn", ".jj", ".bzr", "CVS"})

_BYTE_ORDER_MARK: Final = b"\xef\xbb\xbf"
_LINE_FEED_STAND_IN: Final = "\0"
"""Is in no name."""

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


@dataclass(frozen=True, slots=True)
class Names:
    """Names in one directory. `prefix` is its path below the root with a `/` at its end, or empty."""

    prefix: str
    files: Sequence[str]
    directories: Sequence[str]


@dataclass(frozen=True, slots=True)
class _Segment:
    """Neighbouring lines of a file that all leave out, or all take back in."""

    expressions: Sequence[Expression]
    ignores: bool


@dataclass(frozen=True, slots=True, eq=False)
class _RuleFile:
    """The rules of the `.gitignore` in the directory at `prefix`."""

    prefix: str
    segments: Sequence[_Segment]

    def decided(self, directories: Sequence[Names]) -> Mapping[str, bool]:
        """Return the paths below the root that this file names, and whether it leaves them out."""
        text = "\n".join(_lines(directories, skipped_chars=len(self.prefix))).encode()
        decided: dict[str, bool] = {}
        for segment in reversed(self.segments):
            for expression in segment.expressions:
                for line in _found(expression, text):
                    path = self.prefix + line.decode().replace(_LINE_FEED_STAND_IN, "\n")
                    decided.setdefault(path, segment.ignores)
        return decided


@dataclass(frozen=True, slots=True, eq=False)
class IgnoreRules:
    """The rules in force in a directory; those of the nearest file come first."""

    files: tuple[_RuleFile, ...] = ()

    def with_file(self, prefix: str, data: bytes) -> "IgnoreRules":
        """Return the rules in force in the directory at `prefix`, whose `.gitignore` holds `data`."""
        segments = _segments(data) if len(self.files) < FILES_IN_FORCE_MAX else ()
        return IgnoreRules((_RuleFile(prefix, segments), *self.files)) if segments else self

    def ignored(self, directories: Sequence[Names]) -> frozenset[str]:
        """Return the paths below the root, of all names in `directories`, that are left out.

        A path of a directory ends with `/`. All of `directories` are where the nearest file is, or below.
        """
        decided: dict[str, bool] = {}
        for file in self.files:
            for path, ignores in file.decided(directories).items():
                decided.setdefault(path, ignores)
        return frozenset(path for path, ignores in decided.items() if ignores)


def _lines(directories: Sequence[Names], *, skipped_chars: int) -> Iterator[str]:
    """Return every path on a line, without its first characters."""
    for names in directories:
        prefix = names.prefix[skipped_chars:]
        for listed, mark in ((names.files, ""), (names.directories, "/")):
            if not listed:
                continue
            lines = prefix + f"{mark}\n{prefix}".join(listed) + mark
            if lines.count("\n") >= len(listed):  # a name holds one
                lines = "\n".join((prefix + name + mark).replace("\n", _LINE_FEED_STAND_IN) for name in listed)
            yield lines


def _found(expression: Expression, text: bytes) -> Iterator[bytes]:
    """Return the lines of `text` in which there is a match, which reaches to the end of the line."""
    position, end = 0, len(text)
    while (match := expression.search(text, position, end)) is not None:
        stop = match.span()[1]
        yield text[text.rfind(b"\n", 0, stop) + 1 : stop]
        position = stop + 1
        if position > end:
            return


def _segments(data: bytes) -> Sequence[_Segment]:
    """Return the rules of a `.gitignore` in order."""
    rules = [rule for line in _usable_lines(data)[:RULES_MAX] if (rule := _rule(line)) is not None]
    segments = (
        _Segment(tuple(_expressions([regex for regex, _ in group])), ignores=ignores)
        for ignores, group in groupby(rules, key=lambda rule: rule[1])
    )
    return tuple(segment for segment in segments if segment.expressions)


def _usable_lines(data: bytes) -> Sequence[str]:
    """Return the lines of UTF-8 text, without comments and what git takes off their ends."""
    lines: list[str] = []
    for raw in data.removeprefix(_BYTE_ORDER_MARK).split(b"\n"):
        if not raw or raw.startswith(b"#") or len(raw) > LINE_BYTES_MAX:
            continue
        try:
            line = raw.removesuffix(b"\r").decode()
        except UnicodeDecodeError:
            continue
        lines.append(_trimmed(line))
    return lines


def _trimmed(line: str) -> str:
    """Return a line without spaces at its end, as far as no backslash keeps one; other white space is kept."""
    trimmed = line.rstrip(" ")
    backslashes = len(trimmed) - len(trimmed.rstrip("\\"))
    if backslashes % 2 and trimmed != line:
        return f"{trimmed} "
    return f"{trimmed[:-1]}[{trimmed[-1]}]" if trimmed[-1:].isspace() else trimmed


def _rule(line: str) -> tuple[str, bool] | None:
    """Return a regular expression that reaches to the end of a path that a line names, and whether it leaves out."""
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
    return f"(?:{whole}$)", ignores


def _expressions(regexes: Sequence[str]) -> Iterator[Expression]:
    """Return as few expressions as there can be of `regexes`, without those that cannot be used."""
    try:
        yield compile_expression(f"(?m){'|'.join(regexes)}", ignore_case=False)
    except ExpressionError:
        if len(regexes) > 1:
            middle = len(regexes) // 2
            yield from _expressions(regexes[:middle])
            yield from _expressions(regexes[middle:])
