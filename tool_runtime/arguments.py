"""Arguments as language models send them: snapshot, the leniency for integers, and a refusal that teaches."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any, TypeVar, cast

from pydantic import JsonValue

from tool_runtime.checks import Checker
from tool_runtime.payload import JsonObject, decode, encode
from tool_runtime.problems import MismatchError, Path

__all__ = ["call_text", "check_arguments"]

ArgsT = TypeVar("ArgsT")

_DECIMAL = re.compile(r"-?[0-9]{1,18}")
# Above 2**53 a float no longer tells which integer was meant.
_EXACT_FLOAT_MAX = 2**53


def check_arguments(checker: Checker[ArgsT], payload: bytes) -> tuple[ArgsT, bytes]:
    """Return the arguments that a JSON text holds, and that text with every lenient integer made a real one.

    Where an integer is expected, `"12"` and `12.0` count as 12, up to 18 digits and 2**53.

    Raises:
        MismatchError: The arguments do not match; it carries every problem.
    """
    try:
        args = checker.parse(payload)
    except MismatchError as error:
        mended = _with_integers(payload, [problem.path for problem in error.problems if problem.integer_expected])
        if mended is None:
            raise
        args, payload = checker.parse(mended), mended
    exact = _with_integers(payload, checker.float_integers(payload))
    return (args, payload) if exact is None else (checker.parse(exact), exact)


def call_text(name: str, arguments: Mapping[str, JsonValue]) -> str:
    """Return a call as text: `read({"file_path":"a.txt"})`."""
    return f"{name}({encode(arguments).decode()})"


def _with_integers(payload: bytes, paths: Sequence[Path]) -> bytes | None:
    """Return the text with integers at these places, or None if nothing there can be made one."""
    if not paths:
        return None
    arguments = cast("JsonObject", decode(payload))
    mended = False
    for path in filter(None, paths):
        holder = _at(arguments, path[:-1])
        whole = _whole(holder[path[-1]])
        if whole is not None:
            holder[path[-1]] = whole
            mended = True
    return encode(arguments) if mended else None


def _at(value: Any, path: tuple[str | int, ...]) -> Any:  # noqa: ANN401 - a JSON container indexed by either kind of key
    for part in path:
        value = value[part]
    return value


def _whole(value: object) -> int | None:
    if isinstance(value, float) and value.is_integer() and abs(value) <= _EXACT_FLOAT_MAX:
        return int(value)
    if isinstance(value, str) and _DECIMAL.fullmatch(value):
        return int(value)
    return None
