"""What went wrong in a program, in one line for the model."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from tool_runtime.problems import cut

__all__ = ["ProgramText", "TypeFaults", "one_line", "text_fault"]

_LINE_CHARS_MAX: Final = 160
_MESSAGE_CHARS_MAX: Final = 1_000
_TYPE_FAULTS_TOLD_MAX: Final = 5

_TYPE_FAULT: Final = re.compile(r"^[^:\n]*:(\d+):\d+: error\[([\w-]+)\] (.*)$", re.MULTILINE)
_SYNTAX_RULE: Final = "invalid-syntax"
_ENDS_TOO_EARLY: Final = "the program ends inside an open bracket, string or block"


def text_fault(code: str, bytes_max: int) -> str | None:
    """Return why a text is no program at all, before anything looks at its syntax."""
    try:
        size_bytes = len(code.encode())
    except UnicodeEncodeError as error:
        return f"the program holds a lone surrogate at character {error.start}, which is not Unicode text"
    if size_bytes > bytes_max:
        return f"the program has {size_bytes} bytes, at most {bytes_max} are run; let it get large data from tools"
    return None


@dataclass(frozen=True, slots=True)
class TypeFaults:
    """What a type checker has against a program.

    Attributes:
        message: The first faults, each with its line.
        is_syntax: Whether the program could not even be read.
    """

    message: str
    is_syntax: bool


class ProgramText:
    """The lines of a program, inside a longer text."""

    def __init__(self, code: str) -> None:
        self._lines = code.replace("\r\n", "\n").replace("\r", "\n").split("\n")

    def located(self, message: str, lines: Sequence[int]) -> str:
        """Return a message with the place where it happened.

        Args:
            message: What happened.
            lines: On the way there, counted from the first line of the program, the last one being the place. Those
                outside are the sandbox's own.
        """
        inside = [line for line in lines if 1 <= line <= len(self._lines)]
        if not inside:
            return one_line(message)
        caller = f" (called from line {inside[-2]})" if len(inside) > 1 else ""
        return f"{self._place(inside[-1])}: {one_line(message)}{caller}"

    def syntax_fault(self, message: str, lines: Sequence[int]) -> str:
        """Return the message of a syntax error; one behind the end is about the end."""
        if lines and lines[-1] > len(self._lines):
            return self.located(_ENDS_TOO_EARLY, [len(self._lines)])
        return self.located(message, lines)

    def type_faults(self, diagnostics: str, lines_before: int) -> TypeFaults | None:
        """Return the errors in what a type checker wrote, one line each (`file:line:column: error[rule] message`).

        None if it only warned.
        """
        errors = [(int(line) - lines_before, rule, text) for line, rule, text in _TYPE_FAULT.findall(diagnostics)]
        syntax = [error for error in errors if error[1] == _SYNTAX_RULE]
        if syntax:
            line, _, text = syntax[0]
            return TypeFaults(self.syntax_fault(text, [line]), is_syntax=True)
        if not errors:
            return None
        told = [self.located(text, [line]) for line, _, text in errors[:_TYPE_FAULTS_TOLD_MAX]]
        if len(errors) > len(told):
            told.append(f"and {len(errors) - len(told)} more")
        return TypeFaults("; ".join(told), is_syntax=False)

    def _place(self, line: int) -> str:
        return f"line {line}, `{cut(self._lines[line - 1].strip(), _LINE_CHARS_MAX)}`"


def one_line(text: str) -> str:
    """Return the beginning of a text on one line; of a long one no more is looked at than it takes."""
    return cut(" ".join(text[: 2 * _MESSAGE_CHARS_MAX].split()), _MESSAGE_CHARS_MAX)
