"""Checking against a JSON Schema that came without a model, as tools of other servers do."""

from __future__ import annotations

from collections.abc import Mapping
from typing import cast

from pydantic import JsonValue

from tool_runtime._schema_compiler import CompiledSchema, panics_as_errors
from tool_runtime._schema_faults import find_problems
from tool_runtime.payload import JsonObject, NotJsonError, decode, detached
from tool_runtime.problems import MismatchError, Problem

__all__ = ["SchemaChecker"]

_UNEXPLAINED = Problem((), "does not match its JSON Schema, and no single place is at fault")


class SchemaChecker:
    """Checks with a JSON Schema; the value is an object of plain JSON types."""

    def __init__(self, schema: Mapping[str, JsonValue]) -> None:
        self.schema = cast("JsonObject", detached(schema))
        with panics_as_errors():
            self._compiled = CompiledSchema(self.schema)

    def parse(self, payload: bytes) -> JsonValue:
        """Return the plain value; see `Checker.parse`."""
        try:
            value = decode(payload)
        except NotJsonError as fault:
            raise MismatchError([Problem((), str(fault))]) from fault
        try:
            with panics_as_errors():
                if self._compiled.accepts(value, size_bytes=len(payload)):
                    return value
                problems = find_problems(self._compiled, value)
        except ValueError as fault:
            raise MismatchError([Problem((), str(fault))]) from fault
        raise MismatchError(problems or [_UNEXPLAINED])
