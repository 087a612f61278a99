"""Checking against a JSON Schema that came without a model, as tools of other servers do."""

from __future__ import annotations

import re
from collections.abc import Generator, Mapping
from contextlib import contextmanager
from typing import cast

from pydantic import JsonValue

from tool_runtime._schema_compiler import CompiledSchema, panics_as_errors
from tool_runtime._schema_faults import find_float_integers, find_problems
from tool_runtime.payload import JsonObject, decode, detached, encode
from tool_runtime.problems import MismatchError, Path, Problem

__all__ = ["SchemaChecker"]

# As `tool_runtime.payload` writes them; those with an exponent are too large to be exact.
_FLOAT_INTEGER = re.compile(rb"[0-9]\.0\b")
_UNEXPLAINED = Problem((), "does not match its JSON Schema, and no single place is at fault")


class SchemaChecker:
    """Checks with a JSON Schema; the value is an object of plain JSON types."""

    def __init__(self, schema: Mapping[str, JsonValue]) -> None:
        self.schema = cast("JsonObject", detached(schema))
        with panics_as_errors():
            self._compiled = CompiledSchema(self.schema)

    def parse(self, payload: bytes) -> JsonValue:
        """Return the plain value; see `Checker.parse`."""
        with _faults_as_mismatch():
            value = decode(payload)
            if self._compiled.accepts(value, size_bytes=len(payload)):
                return value
            problems = find_problems(self._compiled, value)
        raise MismatchError(problems or [_UNEXPLAINED])

    def plain(self, value: object) -> JsonValue:
        """Return a copy; see `Checker.plain`."""
        return self.parse(encode(value))

    def float_integers(self, payload: bytes, /) -> list[Path]:
        """Return the places; see `Checker.float_integers`."""
        if not _FLOAT_INTEGER.search(payload):
            return []
        with _faults_as_mismatch():
            return find_float_integers(self._compiled, decode(payload))


@contextmanager
def _faults_as_mismatch() -> Generator[None]:
    """Refuse a value that is no JSON, or that cannot be checked."""
    try:
        with panics_as_errors():
            yield
    except ValueError as fault:
        raise MismatchError([Problem((), str(fault))]) from fault
