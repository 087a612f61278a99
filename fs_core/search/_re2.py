"""The one place that calls RE2. Its expressions take linear time in the text, whatever they are.

It has no type stubs. Its search releases the interpreter's lock and one expression may be used by several threads.
"""

from typing import Final, Protocol, cast

import re2

__all__ = ["Expression", "ExpressionError", "check_expression", "compile_expression"]

MEMORY_BYTES_MAX: Final = 8 << 20
"""Of one expression, for its program and the states that a search makes; with less, searches are slower sooner."""

_CHECK_BYTES_MAX: Final = 1 << 20
"""Takes programs of some 25,000 instructions, within 10 ms or so. Those that take more are refused."""


class ExpressionError(Exception):
    """Raised for what is no expression: `fault` names it in RE2's words, `fragment` is the part that it is about."""

    def __init__(self, fault: str, fragment: str) -> None:
        super().__init__(fault, fragment)
        self.fault = fault
        self.fragment = fragment


class _Match(Protocol):
    def span(self) -> tuple[int, int]: ...


class Expression(Protocol):
    """A compiled expression over UTF-8."""

    @property
    def programsize(self) -> int:
        """How many instructions it has, to which the time for one byte is proportional at worst."""
        ...

    def search(self, text: bytes, pos: int, endpos: int, /) -> _Match | None:
        """Return the leftmost match between two positions; what stands around them counts for assertions."""
        ...


class _Options(Protocol):
    log_errors: bool
    max_mem: int
    never_capture: bool
    never_nl: bool
    case_sensitive: bool


class _Re2(Protocol):
    """What is used of the library. Of an expression that it refuses it tells in bytes."""

    @property
    def error(self) -> type[Exception]: ...

    def Options(self) -> _Options: ...  # noqa: N802 - its name there

    def compile(self, pattern: str, options: _Options, /) -> Expression: ...

    def purge(self) -> None: ...


_library: Final = cast("_Re2", re2)


def check_expression(pattern: str) -> None:
    """Find out quickly whether `pattern` is an expression.

    Raises:
        ExpressionError: it is none, or too large a one.
    """
    _compile(pattern, memory_bytes_max=_CHECK_BYTES_MAX, ignore_case=False)


def compile_expression(pattern: str, *, ignore_case: bool, memory_bytes_max: int = MEMORY_BYTES_MAX) -> Expression:
    """Return what matches `pattern`; nothing matches an LF.

    Raises:
        ExpressionError: it is none, or too large a one.
    """
    return _compile(pattern, memory_bytes_max=memory_bytes_max, ignore_case=ignore_case)


def _compile(pattern: str, *, memory_bytes_max: int, ignore_case: bool) -> Expression:
    options = _library.Options()
    options.log_errors = False  # they would go to standard error
    options.max_mem = memory_bytes_max
    options.never_capture = True
    options.never_nl = True
    options.case_sensitive = not ignore_case
    try:
        return _library.compile(pattern, options)
    except _library.error as error:
        told: bytes = error.args[0]
        fault, _, fragment = told.decode(errors="replace").partition(": ")
        raise ExpressionError(fault, fragment) from error
    finally:
        _library.purge()  # its own cache would hold on to a hundred expressions with all their memory
