"""As much of Python's lexical structure as it takes to indent a program and to find attributes in it.

Any text is read, right or wrong, in one pass: where it is no Python the interpreter says so afterwards. The module
`ast` will not do: it reads the Python that this runs on, not the newer one of the sandbox, and before 3.12 it does not
know where in an f-string an expression stands.
"""

import keyword
import re
from dataclasses import dataclass, field
from typing import Final

__all__ = ["Attribute", "Layout", "layout"]

_TOKEN: Final = re.compile(
    r"""
    (?P<newline>\n)
    | (?P<blank>[ \t\f]+ | \\\n | \#[^\n]*)
    | (?P<string>(?:[rRuU] | [bB][rR]? | [rR][bB])? (?:\"{3} | '{3} | \" | '))
    | (?P<formatted>(?:[fFtT][rR]? | [rR][fFtT]) (?:\"{3} | '{3} | \" | '))
    | (?P<name>[^\W\d]\w*)
    | (?P<number>\.?\d[\w.]*)
    | (?P<other>.)
    """,
    re.VERBOSE | re.DOTALL,
)
_STRING_END: Final = {
    '"': re.compile(r"\\.|(?P<end>\"|(?=\n))", re.DOTALL),
    "'": re.compile(r"\\.|(?P<end>'|(?=\n))", re.DOTALL),
    '"""': re.compile(r"\\.|(?P<end>\"{3})", re.DOTALL),
    "'''": re.compile(r"\\.|(?P<end>'{3})", re.DOTALL),
}
_TEXT: Final = re.compile(r"\\N\{[^}\n]*\}|\\[^{}]|\{\{|\}\}|[{}\n\"']", re.DOTALL)
_SPEC: Final = re.compile(r"[{}\n\"']")

_OPENERS: Final = "([{"
_CLOSERS: Final = ")]}"
_VALUES: Final = frozenset({"True", "False", "None"})
_KEYWORDS: Final = frozenset(keyword.kwlist) - _VALUES
# Their dots are no attributes: names of modules, and patterns, where a call would be another pattern.
_WITHOUT_ATTRIBUTES: Final = frozenset({"import", "from", "case"})


@dataclass(frozen=True, slots=True)
class Attribute:
    """An attribute that is read or written: `start` is where the expression in front of the dot begins."""

    start: int
    dot: int


@dataclass(frozen=True, slots=True)
class Layout:
    """What a text consists of.

    Attributes:
        lines: Where lines start, those aside that start inside a string.
        attributes: Attributes of the wanted names, in the order of their dots.
    """

    lines: list[int]
    attributes: list[Attribute]


@dataclass(slots=True)
class _Code:
    """A stretch of code: the program itself, or a field of an f-string.

    Attributes:
        is_field: Whether `}` ends it.
        opened: For each open bracket, where the expression that it belongs to begins.
        start: Where the expression begins that the last token ended; None after anything else.
        dot: Position of the dot that was the last token.
        first: The first name of the statement.
    """

    is_field: bool
    opened: list[int] = field(default_factory=list[int])
    start: int | None = None
    dot: int | None = None
    first: str | None = None
    is_after_string: bool = False


@dataclass(slots=True)
class _Text:
    """A stretch of text: of an f-string, or of a format inside one, which `}` ends."""

    quote: str
    is_spec: bool


def layout(code: str, names: frozenset[str]) -> Layout:
    """Return where the lines of a text start, and where it has attributes of these names; every line break is LF."""
    return _Scan(code, names).done()


class _Scan:
    def __init__(self, code: str, names: frozenset[str]) -> None:
        self._code = code
        self._names = names
        self._layout = Layout([0], [])
        self._stack: list[_Code | _Text] = [_Code(is_field=False)]

    def done(self) -> Layout:
        position = 0
        while position < len(self._code):
            top = self._stack[-1]
            position = self._text(top, position) if isinstance(top, _Text) else self._token(top, position)
        return self._layout

    def _token(self, frame: _Code, position: int) -> int:
        match = _TOKEN.match(self._code, position)
        if match is None:
            raise AssertionError("any character is a token")
        kind, end = match.lastgroup, match.end()
        match kind:
            case "newline":
                self._layout.lines.append(end)
                if not frame.opened:
                    frame.start = frame.dot = frame.first = None
            case "blank":
                return end
            case "string" | "formatted":
                self._begin_value(frame, position, is_string=True)
                quote = match.group().lstrip("rRuUbBfFtT")
                if kind == "string":
                    return self._string_end(quote, end)
                self._stack.append(_Text(quote, is_spec=False))
            case "name":
                self._name(frame, match.group(), position)
            case "number":
                self._begin_value(frame, position, is_string=False)
            case _:
                self._other(frame, match.group(), position)
        return end

    def _begin_value(self, frame: _Code, position: int, *, is_string: bool) -> None:
        # Strings side by side are one.
        if not (is_string and frame.is_after_string and frame.start is not None):
            frame.start = position
        frame.is_after_string = is_string
        frame.dot = None

    def _string_end(self, quote: str, position: int) -> int:
        for match in _STRING_END[quote].finditer(self._code, position):
            if match.group("end") is not None:
                return match.end()
        return len(self._code)

    def _name(self, frame: _Code, name: str, position: int) -> None:
        frame.is_after_string = False
        if frame.first is None or name == "if":
            # What follows in a `case` is no pattern any more.
            frame.first = name
        if frame.dot is not None and frame.start is not None:
            if name in self._names and frame.first not in _WITHOUT_ATTRIBUTES:
                self._layout.attributes.append(Attribute(frame.start, frame.dot))
        else:
            frame.start = None if name in _KEYWORDS else position
        frame.dot = None

    def _other(self, frame: _Code, character: str, position: int) -> None:
        start, frame.start, frame.dot, frame.is_after_string = frame.start, None, None, False
        if character == ".":
            if start is not None:
                frame.start, frame.dot = start, position
        elif character in _OPENERS:
            frame.opened.append(position if start is None or character == "{" else start)
        elif character in _CLOSERS and frame.opened:
            frame.start = frame.opened.pop()
        elif frame.is_field and character == "}":
            self._stack.pop()
        elif frame.is_field and character == ":" and not frame.opened:
            self._stack[-1] = _Text(self._quote_around(), is_spec=True)
        elif character in ":;" and not frame.opened:
            frame.first = None

    def _quote_around(self) -> str:
        around = self._stack[-2]
        return around.quote if isinstance(around, _Text) else ""

    def _text(self, frame: _Text, position: int) -> int:
        code = self._code
        match = (_SPEC if frame.is_spec else _TEXT).search(code, position)
        if match is None:
            return len(code)
        found, end = match.group(), match.end()
        if found in {'"', "'"}:
            if code.startswith(frame.quote, match.start()):
                self._end_string()
                return match.start() + len(frame.quote)
        elif found == "\n" and len(frame.quote) == 1:
            # It has no end: the interpreter will say so.
            self._end_string()
            return match.start()
        elif found == "{":
            self._stack.append(_Code(is_field=True))
        elif found == "}" and frame.is_spec:
            self._stack.pop()
        return end

    def _end_string(self) -> None:
        """Leave the string around, with the format inside it that was not ended."""
        while isinstance(top := self._stack[-1], _Code) or top.is_spec:
            self._stack.pop()
        self._stack.pop()
