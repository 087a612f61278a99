"""Checking against a JSON Schema that came without a model, as tools of other servers do."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any, cast

from jsonschema import Draft202012Validator
from jsonschema.exceptions import SchemaError, ValidationError
from jsonschema.validators import validator_for  # pyright: ignore[reportUnknownVariableType] # stub leaves a default bare
from pydantic import JsonValue
from referencing import Registry
from referencing.jsonschema import Schema

from tool_runtime.payload import JsonObject, NotJsonError, decode, detached
from tool_runtime.problems import MismatchError, Problem, shown, unknown_key

__all__ = ["SchemaChecker"]

# An explicit registry: the default one would fetch a foreign `$ref` over the network in the middle of a call.
_NO_REMOTE_REFS: Registry[Schema] = Registry()

_LIMIT_CHARS_MAX = 120


class SchemaChecker:
    """Checks with a JSON Schema; the value is an object of plain JSON types."""

    def __init__(self, schema: Mapping[str, JsonValue]) -> None:
        self.schema = cast("JsonObject", detached(schema))
        validator_class = validator_for(self.schema, default=Draft202012Validator)
        try:
            validator_class.check_schema(self.schema)
        except SchemaError as error:
            raise ValueError(f"not a valid JSON Schema: {error.message}") from error
        self._validator = validator_class(self.schema, registry=_NO_REMOTE_REFS)

    def parse(self, payload: bytes) -> JsonValue:
        """Return the plain value; see `Checker.parse`."""
        try:
            value = decode(payload)
        except NotJsonError as fault:
            raise MismatchError([Problem((), str(fault))]) from fault
        errors = self._validator.iter_errors(value)  # pyright: ignore[reportUnknownMemberType] # untyped in the stub
        problems = [problem for error in errors for problem in _problems(error)]
        if problems:
            raise MismatchError(dict.fromkeys(problems))
        return value


def _problems(error: ValidationError) -> Iterator[Problem]:
    path = tuple(error.absolute_path)
    match error.validator:
        case "required":
            names = cast("list[str]", error.validator_value)
            present = cast("JsonObject", error.instance)
            yield from (Problem((*path, name), "is required") for name in names if name not in present)
        case "additionalProperties" if error.validator_value is False:
            known, unknown = _keys(error)
            yield from (Problem((*path, key), unknown_key(known)) for key in unknown)
        case _:
            branches = list(error.context or ())
            # A union reports one error per branch at the same place: any of them would do.
            wanted = " or ".join(dict.fromkeys(map(_clause, branches or [error])))
            integer = any(map(_wants_integer, branches or [error]))
            yield Problem(path, f"{wanted}, got {shown(error.instance)}", integer_expected=integer)


def _keys(error: ValidationError) -> tuple[list[str], list[str]]:
    """Return the declared keys of the object an error is about, and those it has beyond them."""
    schema = cast("dict[str, Any]", error.schema)
    known = list(cast("dict[str, Any]", schema.get("properties", {})))
    patterns = list(cast("dict[str, Any]", schema.get("patternProperties", {})))
    instance = cast("dict[str, Any]", error.instance)
    unknown = [key for key in instance if key not in known and not any(re.search(p, key) for p in patterns)]
    return known, unknown


def _types(error: ValidationError) -> list[str]:
    wanted = cast("str | list[str]", error.validator_value)
    return [wanted] if isinstance(wanted, str) else wanted


def _wants_integer(error: ValidationError) -> bool:
    return error.validator == "type" and "integer" in _types(error)


def _clause(error: ValidationError) -> str:
    if error.validator == "type":
        return f"must be of type {' or '.join(_types(error))}"
    wanted = repr(cast("object", error.validator_value))
    limit = wanted if len(wanted) <= _LIMIT_CHARS_MAX else f"{wanted[:_LIMIT_CHARS_MAX]}…"
    return f"must match {error.validator} {limit}"
