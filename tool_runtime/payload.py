"""JSON text as the form in which arguments and results cross a call: encoding is the deep copy and the JSON check."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from typing import TypeAlias, cast

from pydantic import JsonValue
from pydantic_core import PydanticSerializationError, from_json, to_json

__all__ = ["JsonObject", "LoneSurrogateError", "NotJsonError", "decode", "detached", "encode", "path_text"]

JsonObject: TypeAlias = dict[str, JsonValue]

_SURROGATE = "holds a lone surrogate, which is not Unicode text"

# Deeper values are refused by the JSON parser of pydantic-core; the search for faults stops there too.
_DEPTH_MAX = 200


class NotJsonError(ValueError):
    """Raised when a value has no JSON form; the message names every offending path."""


class LoneSurrogateError(NotJsonError):
    """Raised when nothing but lone surrogates keeps a value from having a JSON form."""


def encode(value: object) -> bytes:
    """Return the JSON text of a value, UTF-8.

    Raises:
        NotJsonError: The value holds a lone surrogate, a number that is not finite, or a type without a JSON form.
    """
    try:
        payload = to_json(value, inf_nan_mode="constants", fallback=_plain_mapping)
    except PydanticSerializationError as error:
        faults = _faults(value)
        kind = LoneSurrogateError if faults and not _other_faults(value) else NotJsonError
        raise kind(faults or str(error).splitlines()[0]) from error
    # The words may also stand inside a string, so only the walk over the value decides.
    if (b"NaN" in payload or b"Infinity" in payload) and (faults := _faults(value)):
        raise NotJsonError(faults)
    return payload


def decode(payload: bytes) -> JsonValue:
    """Return the value of a JSON text; every call gives a fresh one.

    Raises:
        NotJsonError: The text nests deeper than 200 levels.
    """
    try:
        return cast("JsonValue", from_json(payload))
    except ValueError as error:
        raise NotJsonError(str(error)) from error


def detached(value: object) -> JsonValue:
    """Return a deep copy in plain JSON types."""
    return decode(encode(value))


def path_text(path: Sequence[str | int]) -> str:
    """Return a path as people write it: `edits[0].old_string`."""
    text = ""
    for part in path:
        if isinstance(part, int):
            text += f"[{part}]"
        else:
            name = part.encode("utf-8", "backslashreplace").decode("utf-8")
            text += f".{name}" if text else name
    return text


def _plain_mapping(value: object) -> object:
    if isinstance(value, Mapping):
        return dict(cast("Mapping[object, object]", value))
    raise TypeError(f"{type(value).__name__} has no JSON form")


def _faults(value: object) -> str:
    return "; ".join(f"{path_text(path)}: {fault}" if path else fault for path, fault in _each_fault(value, ()))


def _other_faults(value: object) -> bool:
    return any(fault != _SURROGATE for _, fault in _each_fault(value, ()))


def _each_fault(value: object, path: tuple[str | int, ...]) -> Iterator[tuple[tuple[str | int, ...], str]]:
    if len(path) > _DEPTH_MAX:
        yield (), f"nested deeper than {_DEPTH_MAX} levels"
        return
    if isinstance(value, Mapping):
        for key, item in cast("Mapping[object, object]", value).items():
            name = str(key)
            yield from _each_fault(name, (*path, name))
            yield from _each_fault(item, (*path, name))
    elif isinstance(value, list | tuple):
        for index, item in enumerate(cast("Sequence[object]", value)):
            yield from _each_fault(item, (*path, index))
    elif fault := _scalar_fault(value):
        yield path, fault


def _scalar_fault(value: object) -> str | None:
    if isinstance(value, str):
        surrogate = any("\ud800" <= character <= "\udfff" for character in value)
        return _SURROGATE if surrogate else None
    if isinstance(value, float):
        return None if math.isfinite(value) else f"{value} is not a JSON number"
    return None if isinstance(value, int | None) else f"{type(value).__name__} is not a JSON type"
