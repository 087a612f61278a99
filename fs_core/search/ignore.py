"""What `.gitignore` files leave out, as git does, in linear time. Pure.

`_ignore_lines` says what a line means and RE2 finds it, in the names of many directories at once. The rules of git
(https://git-scm.com/docs/gitignore): the file that is nearest decides, in a file the last line that names a path, and
nothing below a directory that is left out is looked at. What git would take and this does not is without effect: lines
that are no UTF-8 or very long, and lines beyond `RULE_CHARS_MAX` and `SEGMENTS_MAX`. `?` and `[...]` stand for one
character, for git for one byte.
"""

from bisect import bisect_right
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import groupby, islice
from typing import Final, NamedTuple

from fs_core.search._ignore_lines import BY_NAME, BY_PATH, rules_of
from fs_core.search._re2 import Expression, ExpressionError, compile_expression

__all__ = ["IGNORE_FILE_BYTES_MAX", "IGNORE_FILE_NAME", "VERSION_CONTROL_NAMES", "IgnoreRules", "Names", "ignored"]

IGNORE_FILE_NAME: Final = ".gitignore"
IGNORE_FILE_BYTES_MAX: Final = 256 << 10
"""A larger `.gitignore` is passed over as a whole."""
RULE_CHARS_MAX: Final = 128 << 10
"""Characters of the regular expressions in force in one directory: some thousand lines."""
FILES_IN_FORCE_MAX: Final = 64
"""Files that count in one directory; those in directories further down are passed over."""
SEGMENTS_MAX: Final = 64
"""How often lines that leave out and lines that take back in alternate in a file; what follows is without effect."""
EXPRESSION_CHARS_MAX: Final = 4 << 10
"""With longer ones RE2 needs long for each byte sooner."""
EXPRESSION_MEMORY_BYTES_MAX: Final = 1 << 20
KEPT_BYTES_MAX: Final = 1 << 10
"""The rules of files up to this size are kept: many directories have the same, and the next search has them again."""
KEPT_FILES_MAX: Final = 8
"""Measured for rules made to be slow: one takes 0.7 MB once it was compared with names."""
STEP_BYTES_MAX: Final = 8 << 10
"""Names that are looked through at a time; in the worst case that takes a quarter of a second for one expression."""
VERSION_CONTROL_NAMES: Final = frozenset({".git", ".hg", ".svn", ".jj", ".bzr", "CVS"})

_NAMES_AT_ONCE: Final = 4_096
_LINE_FEED_STAND_IN: Final = "\0"
"""Is in no name."""


class Names(NamedTuple):
    """Names in one directory. `prefix` is its path below the root with a `/` at its end, or empty."""

    prefix: str
    files: Sequence[str]
    directories: Sequence[str]


@dataclass(frozen=True, slots=True)
class _Segment:
    """Neighbouring lines of a file that all leave out, or all take back in, by their scopes."""

    expressions: Mapping[int, Sequence[Expression]]
    ignores: bool


@dataclass(frozen=True, slots=True, eq=False)
class _RuleFile:
    """The rules of the `.gitignore` in the directory at `prefix`."""

    prefix: str
    segments: Sequence[_Segment]

    def decided(self, directories: Sequence[Names], check: Callable[[], None]) -> Mapping[str, bool]:
        """Return the paths below the root that this file names, and whether it leaves them out."""
        last: dict[str, int] = {}
        for scope in {scope: None for segment in self.segments for scope in segment.expressions}:
            for text in self._texts(scope, directories):
                for index, segment in enumerate(self.segments):
                    for expression in segment.expressions.get(scope, ()):
                        for path in text.found(expression, check):
                            last[path] = max(index, last.get(path, 0))
        return {path: self.segments[index].ignores for path, index in last.items()}

    def _texts(self, scope: int, directories: Sequence[Names]) -> Iterator["_Text"]:
        """Return what rules of a scope are compared with: names, or paths from this file on, of one depth or all."""
        start = len(self.prefix)
        if scope == BY_NAME:
            return _texts((names.prefix, "", names) for names in directories)
        return _texts(
            (self.prefix, names.prefix[start:], names)
            for names in directories
            if scope == BY_PATH or names.prefix.count("/", start) == scope - 1
        )


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
        compiled = _kept_compiled if len(data) <= KEPT_BYTES_MAX else _compiled
        segments, size_chars = compiled(data, RULE_CHARS_MAX - self.size_chars)
        if not segments:
            return self
        return IgnoreRules((_RuleFile(prefix, segments), *self.files), self.size_chars + size_chars)


def ignored(listed: Sequence[tuple[IgnoreRules, Names]], *, check: Callable[[], None] = lambda: None) -> frozenset[str]:
    """Return the paths below the root, of names in several directories, that the rules in force in each leave out.

    A path of a directory ends with `/`. `check` is called between steps of bounded work; what it raises ends this.
    """
    having: dict[_RuleFile, list[Names]] = {}
    for rules, names in listed:
        for file in rules.files:
            having.setdefault(file, []).append(names)
    decided: dict[str, bool] = {}
    for file in sorted(having, key=lambda file: len(file.prefix), reverse=True):  # the nearest first
        for path, ignores in file.decided(having[file], check).items():
            decided.setdefault(path, ignores)
    return frozenset(path for path, ignores in decided.items() if ignores)


def _compiled(data: bytes, size_chars_max: int) -> tuple[Sequence[_Segment], int]:
    """Return the rules of a `.gitignore`, and how many characters their expressions have."""
    size_chars, segments = 0, list[_Segment]()
    rules = rules_of(data, size_chars_max=size_chars_max)
    for ignores, group in islice(groupby(rules, key=lambda rule: rule.ignores), SEGMENTS_MAX):
        regexes: dict[int, list[str]] = {}
        for rule in group:
            regexes.setdefault(rule.scope, []).append(rule.regex)
            size_chars += len(rule.regex)
        segments.append(_Segment({scope: tuple(_expressions(some)) for scope, some in regexes.items()}, ignores))
    return segments, size_chars


_kept_compiled: Final = lru_cache(maxsize=KEPT_FILES_MAX)(_compiled)


class _Text:
    """Names, or paths, on a line each."""

    def __init__(self, lines: Sequence[str], *, before: Sequence[str], ends: Sequence[int]) -> None:
        """Take `lines` with what stands before those of each directory in paths below the root, and where they end."""
        text = "\n".join(lines)
        if text.count("\n") >= len(lines):
            text = "\n".join([line.replace("\n", _LINE_FEED_STAND_IN) for line in lines])
        self._text = text.encode()
        self._lines = lines
        self._before = before
        self._ends = ends

    def found(self, expression: Expression, check: Callable[[], None]) -> Iterator[str]:
        """Return the paths below the root of lines in which there is a match, which reaches to the end of the line."""
        text = self._text
        position = number = counted = 0
        while position < len(text):
            check()
            end = self._step_end(position)
            while position < end and (match := expression.search(text, position, end)) is not None:
                stop = match.span()[1]
                number += text.count(b"\n", counted, stop)
                yield self._before[bisect_right(self._ends, number)] + self._lines[number]
                counted, position = stop, stop + 1
            position = end + 1

    def _step_end(self, start: int) -> int:
        """Return the end of the last line that ends within a step, or else of the first."""
        text, stop = self._text, start + STEP_BYTES_MAX
        if stop >= len(text):
            return len(text)
        end = text.rfind(b"\n", start, stop)
        if end < 0:
            end = text.find(b"\n", stop)
        return end if end >= 0 else len(text)


def _texts(directories: Iterable[tuple[str, str, Names]]) -> Iterator[_Text]:
    """Return lines for names of directories, each given with what stands before a line in a path, and in a line."""
    lines, befores, ends = list[str](), list[str](), list[int]()
    for before, within, names in directories:
        for some in _lines(within, names):
            lines += some
            befores.append(before)
            ends.append(len(lines))
            if len(lines) >= _NAMES_AT_ONCE:
                yield _Text(lines, before=befores, ends=ends)
                lines, befores, ends = [], [], []
    if lines:
        yield _Text(lines, before=befores, ends=ends)


def _lines(within: str, names: Names) -> Iterator[Sequence[str]]:
    """Return the names, with `within` before each and a `/` behind those of directories, so many at once."""
    _, files, directories = names
    if not within and len(files) <= _NAMES_AT_ONCE:
        yield files
    else:
        yield from ([within + name for name in some] for some in _parts(files))
    if directories:
        yield from ([f"{within}{name}/" for name in some] for some in _parts(directories))


def _parts(names: Sequence[str]) -> Iterator[Sequence[str]]:
    return (names[first : first + _NAMES_AT_ONCE] for first in range(0, len(names), _NAMES_AT_ONCE))


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
