"""Arguments as language models send them: snapshot, the leniency for integers, and a refusal that teaches."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import Any, TypeVar, cast

from pydantic import JsonValue

from tool_runtime.checks import Checker
from tool_runtime.payload import JsonObject, decode, encode
from tool_runtime.problems import MismatchError, Problem

__all__ = ["call_text", "check_arguments"]

ArgsT = TypeVar("ArgsT")

_DECIMAL = re.compile(r"-?[0-9]{1,18}")
# Above 2**53 a float no longer tells which integer was meant.
_EXACT_FLOAT_MAX = 2**53


def check_arguments(checker: Checker[ArgsT], payload: bytes) -> tuple[ArgsT, bytes]:
    """Return the arguments that a JSON text holds, and that text with every lenient integer made a real one.

    Where an integer is expected, `"12"` and `12.0` count as 12.

    Raises:
        MismatchError: The arguments do not match; it carries every problem.
    """
    try:
        return checker.parse(payload), payload
    except MismatchError as error:
        mended = _with_integers(payload, error.problems)
        if mended is None:
            raise
    return checker.parse(mended), mended


def call_text(name: str, arguments: Mapping[str, JsonValue]) -> str:
    """Return a call as text: `read({"file_path":"a.txt"})`."""
    return f"{name}({encode(arguments).decode()})"


def _with_integers(payload: bytes, problems: Iterable[Problem]) -> bytes | None:
    paths = [problem.path for problem in problems if problem.integer_expected and problem.path]
    if not paths:
        return None
    arguments = cast("JsonObject", decode(payload))
    mended = False
    for path in paths:
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
