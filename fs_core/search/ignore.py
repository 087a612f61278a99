"""What `.gitignore` files leave out, as git does, in linear time. Pure.

`pathspec` says what a line means and RE2 finds it, in the names of many directories at once. The rules of git
(https://git-scm.com/docs/gitignore): the file that is nearest decides, in a file the last line that names a path, and
nothing below a directory that is left out is looked at. What git would take and this does not is without effect: lines
that are no UTF-8 or longer than `LINE_BYTES_MAX`, and lines beyond `RULE_CHARS_MAX` and
`SEGMENTS_MAX`. `?` and `[...]` stand for one
character, for git for one byte.
"""

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby, islice
from typing import Final

from pathspec.patterns.gitignore.spec import GitIgnoreSpecPattern

from fs_core.search._re2 import Expression, ExpressionError, compile_expression

__all__ = ["IGNORE_FILE_BYTES_MAX", "IGNORE_FILE_NAME", "VERSION_CONTROL_NAMES", "IgnoreRules", "Names"]

IGNORE_FILE_NAME: Final = ".gitignore"
IGNORE_FILE_BYTES_MAX: Final = 256 << 10
"""A larger `.gitignore` is passed over as a whole."""
LINE_BYTES_MAX: Final = 1_024
RULE_CHARS_MAX: Final = 128 << 10
"""Characters of the regular expressions in force in one directory: some thousand lines."""
FILES_IN_FORCE_MAX: Final = 64
"""Files that count in one directory; those in directories further down are passed over."""
SEGMENTS_MAX: Final = 64
"""How often lines that leave out and lines that take back in alternate in a file; what follows is without effect."""
EXPRESSION_CHARS_MAX: Final = 4 << 10
"""With longer ones RE2 needs long for each byte sooner."""
EXPRESSION_MEMORY_BYTES_MAX: Final = 1 << 20
STEP_CHARS_MAX: Final = 8 << 10
"""Names that are looked through at a time; in the worst case that takes a quarter of a second for one expression."""
VERSION_CONTROL_NAMES: Final = frozenset({".git", ".hg", ".svn", ".jj", ".bzr", "CVS"})

_BYTE_ORDER_MARK: Final = b"\xef\xbb\xbf"
_NAMES_AT_ONCE: Final = 256
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

    def decided(self, directories: Sequence[Names], check: Callable[[], None]) -> Mapping[str, bool]:
        """Return the paths below the root that this file names, and whether it leaves them out."""
        decided: dict[str, bool] = {}
        for text in _texts(directories, skipped_chars=len(self.prefix)):
            for segment in reversed(self.segments):
                for expression in segment.expressions:
                    check()
                    for line in _found(expression, text):
                        path = self.prefix + line.decode().replace(_LINE_FEED_STAND_IN, "\n")
                        decided.setdefault(path, segment.ignores)
        return decided


@dataclass(frozen=True, slots=True, eq=False)
class IgnoreRules:
    """The rules in force in a directory; those of the nearest file come first.

    Attributes:
        size_chars: How many characters the regular expressions of all files have.
    """

    files: tuple[_RuleFile, ...] = ()
    size_chars: int = 0

    def with_file(self, prefix: str, data: bytes) -> "IgnoreRules":
        """Return the rules in force in the directory at `prefix`, whose `.gitignore` holds `data`."""
        if len(self.files) >= FILES_IN_FORCE_MAX:
            return self
        rules = _first_rules(data, size_chars_max=RULE_CHARS_MAX - self.size_chars)
        size_chars, segments = self.size_chars, list[_Segment]()
        for ignores, group in islice(groupby(rules, key=lambda rule: rule[1]), SEGMENTS_MAX):
            regexes = [regex for regex, _ in group]
            size_chars += sum(map(len, regexes))
            segments.append(_Segment(tuple(_expressions(regexes)), ignores=ignores))
        return IgnoreRules((_RuleFile(prefix, segments), *self.files), size_chars) if segments else self

    def ignored(self, directories: Sequence[Names], *, check: Callable[[], None] = lambda: None) -> frozenset[str]:
        """Return the paths below the root, of all names in `directories`, that are left out.

        A path of a directory ends with `/`. All of `directories` are where the nearest file is, or below. `check` is
        called between steps of bounded work; what it raises ends this.
        """
        decided: dict[str, bool] = {}
        for file in self.files:
            for path, ignores in file.decided(directories, check).items():
                decided.setdefault(path, ignores)
        return frozenset(path for path, ignores in decided.items() if ignores)


def _texts(directories: Sequence[Names], *, skipped_chars: int) -> Iterator[bytes]:
    """Return every path on a line, without its first characters, in texts of about the size of a step."""
    lines: list[str] = []
    size_chars = 0
    for names in directories:
        prefix = names.prefix[skipped_chars:]
        for listed, mark in ((names.files, ""), (names.directories, "/")):
            for first in range(0, len(listed), _NAMES_AT_ONCE):
                some = _lines(prefix, listed[first : first + _NAMES_AT_ONCE], mark)
                lines.append(some)
                size_chars += len(some)
                if size_chars >= STEP_CHARS_MAX:
                    yield "\n".join(lines).encode()
                    lines, size_chars = [], 0
    if lines:
        yield "\n".join(lines).encode()


def _lines(prefix: str, names: Sequence[str], mark: str) -> str:
    lines = prefix + f"{mark}\n{prefix}".join(names) + mark
    if lines.count("\n") < len(names):
        return lines
    return "\n".join((prefix + name + mark).replace("\n", _LINE_FEED_STAND_IN) for name in names)


def _found(expression: Expression, text: bytes) -> Iterator[bytes]:
    """Return the lines of `text` in which there is a match, which reaches to the end of the line."""
    position, end = 0, len(text)
    while (match := expression.search(text, position, end)) is not None:
        stop = match.span()[1]
        yield text[text.rfind(b"\n", 0, stop) + 1 : stop]
        position = stop + 1
        if position > end:
            return


def _first_rules(data: bytes, *, size_chars_max: int) -> Iterator[tuple[str, bool]]:
    """Return the rules of a `.gitignore` in order, as far as they have room."""
    for line in _usable_lines(data):
        if (rule := _rule(line)) is not None:
            size_chars_max -= len(rule[0])
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
    """Return few expressions for `regexes`, without those that RE2 does not take."""
    if len(regexes) > 1 and sum(map(len, regexes)) > EXPRESSION_CHARS_MAX:
        yield from _expressions_of_halves(regexes)
        return
    pattern = f"(?m){'|'.join(regexes)}"
    try:
        yield compile_expression(pattern, ignore_case=False, memory_bytes_max=EXPRESSION_MEMORY_BYTES_MAX)
    except ExpressionError:
        if len(regexes) > 1:
            yield from _expressions_of_halves(regexes)


def _expressions_of_halves(regexes: Sequence[str]) -> Iterator[Expression]:
    middle = len(regexes) // 2
    yield from _expressions(regexes[:middle])
    yield from _expressions(regexes[middle:])
