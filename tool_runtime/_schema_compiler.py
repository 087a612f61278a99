"""Compiling a foreign JSON Schema so that no value can make checking it slow: linear patterns, counted references.

The one module that knows the validation library.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Generator, Iterator
from contextlib import contextmanager
from functools import cached_property
from typing import Any, Protocol, cast
from urllib.parse import unquote

from jsonschema_rs import FancyRegexOptions, RegexOptions, ValidationError, Validator, meta, validator_for
from pydantic import JsonValue

from tool_runtime._schema_references import REFERENCES, References, is_reference, targets
from tool_runtime.payload import JsonObject, encode, path_text
from tool_runtime.problems import cut

__all__ = ["COUNTED", "CompiledSchema", "Validity", "is_in_form", "panics_as_errors"]

# Marks, in the compiled copy alone, a place where the validator is to count a reference.
COUNTED = "seamfs-counted"

# The compiler of the library takes time quadratic in a chain of references: 5,000 take 0.1 s.
_REFERENCES_MAX = 5_000
# Following a reference costs 1.5 µs: a value that needs more of them is refused, after a second or so.
_FOLLOWED_MIN = 100_000
_FOLLOWED_PER_BYTE = 1

# The library recurses once for each of these on the way to the next level of the value. A stack of 8 MiB holds 40,000.
_SAME_LEVEL = frozenset({*REFERENCES, "allOf", "anyOf", "oneOf", "not", "if", "dependentSchemas", "dependencies"})
_STACKED_MAX = 20_000
# Deeper values are no JSON to `tool_runtime.payload`.
_LEVELS_MAX = 200

# `unevaluated...` makes the library walk all branches once more, for each of them that is nested: 16 take minutes.
_UNEVALUATED_MAX = 4
_UNEVALUATED_REFERENCES_MAX = 16

_PATTERNS = RegexOptions(size_limit=1_048_576)
_REASON_CHARS_MAX = 300

# Their values map names to schemas.
_NAMED = frozenset({"properties", "patternProperties", "$defs", "definitions", "dependentSchemas", "dependencies"})
# Their values are data.
_DATA = frozenset({"enum", "const", "default", "examples"})
# Where a schema that accepts more makes the whole accept less.
_NOT_MONOTONE = frozenset({"not", "oneOf", "if"})
_UNEVALUATED = frozenset({"unevaluatedProperties", "unevaluatedItems"})

_DIALECT = re.compile(r"https?://json-schema\.org/(draft-0[467]/|draft/(2019-09|2020-12)/)schema#?")
# What a schema that names none of these is read as: the first of which its meta-schema accepts it.
_ASSUMED = (
    "https://json-schema.org/draft/2020-12/schema",
    "http://json-schema.org/draft-07/schema#",
    "http://json-schema.org/draft-04/schema#",
)


class Validity(Protocol):
    """A compiled schema that says yes or no."""

    def is_valid(self, instance: object) -> bool:
        """Whether a plain JSON value matches."""
        ...


class CompiledSchema:
    """A schema as it is enforced.

    Attributes:
        document: The schema that was compiled: the given one, without what is not enforced.
        is_reference_alone: Whether its draft ignores what stands beside a `$ref`.

    Raises:
        ValueError: On construction: it is not a valid schema, refers to something outside itself, or has more than
            5,000 references or, with references, 20,000 places that combine subschemas.
    """

    def __init__(self, schema: JsonObject) -> None:
        text = encode(schema)
        references = sum(text.count(f'"{name}":'.encode()) for name in REFERENCES)
        if references > _REFERENCES_MAX:
            raise ValueError(f"a JSON Schema may hold at most {_REFERENCES_MAX} references, this has {references}")
        self._followed_left = 0
        self._dialect = _dialect(schema)
        self.is_reference_alone = "/draft-0" in self._dialect
        unevaluated = text.count(b'"unevaluated')
        left_out = frozenset(_backtracking(schema)) if b'"pattern' in text else frozenset[str]()
        is_costly = unevaluated > _UNEVALUATED_MAX or references > _UNEVALUATED_REFERENCES_MAX
        # What a keyword that is left out evaluated would count as unevaluated.
        keywords = _UNEVALUATED if unevaluated and (is_costly or left_out) else frozenset[str]()
        relax = _relaxation(left_out, keywords) if left_out or keywords else _same
        self.document: JsonObject = {**schema, "$schema": self._dialect}
        if references or relax is not _same:
            mark = _marked_alone if self.is_reference_alone else _marked
            data = frozenset[str]() if _leads_into_data(schema) else _DATA
            # Not the root itself: pointers lead through it, and what leads back to it is marked anyway.
            self.document = {
                key: value if key in data else _mapped(value, relax, mark, data, is_named=key in _NAMED)
                for key, value in relax(self.document).items()
            }
        stacked = sum(not node.keys().isdisjoint(_SAME_LEVEL) for node in _objects(self.document)) if references else 0
        if stacked > _STACKED_MAX:
            raise ValueError(f"a JSON Schema may combine at most {_STACKED_MAX} subschemas, this combines {stacked}")
        self._levels_max = _STACKED_MAX // stacked if stacked else _LEVELS_MAX
        self._validator = self._compile(self.document)

    def accepts(self, value: JsonValue, *, size_bytes: int) -> bool:
        """Whether a value matches.

        Args:
            value: Plain JSON.
            size_bytes: Length of its text, by which the number of references that may be followed is measured.

        Raises:
            ValueError: It cannot be decided in reasonable time.
        """
        if self._levels_max < _LEVELS_MAX and (levels := _levels(value)) > self._levels_max:
            raise ValueError(f"nested {levels} levels deep, of which its schema lets {self._levels_max} be checked")
        self._followed_left = _FOLLOWED_MIN + _FOLLOWED_PER_BYTE * size_bytes
        is_valid = self._validator.is_valid(value)
        if self._followed_left < 0:
            raise ValueError("takes too many steps to check against its schema")
        return is_valid

    def part(self, keywords: JsonObject) -> Validity | None:
        """Compile some keywords by themselves, in the same draft; they must hold no references.

        Returns:
            None if they come from an embedded schema of another draft, and are not valid in this one.
        """
        try:
            return type(self._validator)(keywords, pattern_options=_PATTERNS, validate_formats=False, offline=True)
        except ValidationError:
            return None

    @cached_property
    def references(self) -> References:
        """Where the references of the document lead."""
        return References(self.document, identifier="id" if "draft-04" in self._dialect else "$id")

    # What the library calls when it meets the mark, and, on what that returns, for every value.
    def _counter(self, _parent: object, _value: object, _path: object) -> CompiledSchema:
        return self

    def validate(self, _instance: object) -> None:
        """Count one followed reference.

        Raises:
            ValueError: Too many were; from then on every reference fails, which ends the validation soon.
        """
        self._followed_left -= 1
        if self._followed_left < 0:
            raise ValueError(COUNTED)

    def _compile(self, document: JsonObject) -> Validator:
        try:
            return validator_for(
                document,
                pattern_options=_PATTERNS,
                validate_formats=False,
                offline=True,
                keywords=cast("dict[str, Any]", {COUNTED: self._counter}),
            )
        except ValidationError as error:
            place = f"{path_text(error.instance_path)}: " if error.instance_path else ""
            reason = cut(f"{place}{error.message}", _REASON_CHARS_MAX)
            raise ValueError(f"not a valid JSON Schema: {reason}") from error


@contextmanager
def panics_as_errors() -> Generator[None]:
    """Raise `ValueError` where the library panics, which is no `Exception` and would end the process."""
    try:
        yield
    except BaseException as error:
        # The class that pyo3 raises cannot be imported.
        if type(error).__name__ == "PanicException":
            raise ValueError(f"the JSON Schema library failed: {cut(str(error), _REASON_CHARS_MAX)}") from error
        raise


def is_in_form(schema: JsonObject, *, draft: str | None) -> bool:
    """Whether the meta-schema of a draft accepts a schema; by default that of the draft it would be read under."""
    with panics_as_errors():
        return meta.is_valid({**schema, "$schema": draft or _dialect(schema)})


def _dialect(schema: JsonObject) -> str:
    """Return the draft a schema names, or else the newest one that accepts it; the newest of all if none does."""
    named = schema.get("$schema")
    if isinstance(named, str) and _DIALECT.fullmatch(named):
        return named
    return next((draft for draft in _ASSUMED if meta.is_valid({**schema, "$schema": draft})), _ASSUMED[0])


def _leads_into_data(schema: JsonObject) -> bool:
    """Whether a reference leads to a schema that stands where data do."""
    pointers = (unquote(target) for node in _objects(schema) for target in targets(node))
    return any(not _DATA.isdisjoint(pointer.split("/")) for pointer in pointers)


def _backtracking(schema: JsonObject) -> Iterator[str]:
    """Yield the patterns that only a backtracking engine could match, or only at the price of much memory."""
    for pattern in dict.fromkeys(_patterns(schema)):
        if not _compiles(pattern, _PATTERNS) and _compiles(pattern, FancyRegexOptions()):
            yield pattern


def _compiles(pattern: str, engine: RegexOptions | FancyRegexOptions) -> bool:
    try:
        validator_for({"pattern": pattern}, pattern_options=engine, offline=True)
    except ValueError:
        return False
    return True


def _patterns(schema: JsonValue) -> Iterator[str]:
    for node in _objects(schema):
        pattern, named = node.get("pattern"), node.get("patternProperties")
        if isinstance(pattern, str):
            yield pattern
        if isinstance(named, dict):
            yield from named


def _relaxation(patterns: frozenset[str], keywords: frozenset[str]) -> Callable[[JsonObject], JsonObject]:
    """Return what makes a subschema accept at least what it did, without these patterns and keywords."""

    def is_affected(child: JsonValue) -> bool:
        # What a reference leads to may be affected, so it counts: to be lenient is always right here.
        return any(pattern in patterns for pattern in _patterns(child)) or any(
            is_reference(node) or not node.keys().isdisjoint(keywords) for node in _objects(child)
        )

    def relaxed(node: JsonObject) -> JsonObject:
        gone = {key for key in _NOT_MONOTONE & node.keys() if is_affected(node[key])} | keywords
        if "if" in gone:
            gone |= {"then", "else"}
        if is_affected(node.get("contains")):
            gone.add("maxContains")
        pattern = node.get("pattern")
        if isinstance(pattern, str) and pattern in patterns:
            gone.add("pattern")
        kept = {key: value for key, value in node.items() if key not in gone}
        named = kept.get("patternProperties")
        if isinstance(named, dict) and not named.keys().isdisjoint(patterns):
            kept["patternProperties"] = {key: value for key, value in named.items() if key not in patterns}
            # The keys that such a pattern would have matched are no longer told from the others.
            kept.pop("additionalProperties", None)
        return kept

    return relaxed


def _same(node: JsonObject) -> JsonObject:
    return node


def _marked(node: JsonObject) -> JsonObject:
    """Return a subschema with its references behind a mark, and all else where pointers find it."""
    # A schema that leads back to itself would confuse `unevaluated...` beside it, unless they stay together.
    if not is_reference(node) or not node.keys().isdisjoint(_UNEVALUATED):
        return _marked_alone(node)
    references: JsonObject = {name: node[name] for name in REFERENCES if name in node}
    rest = {key: value for key, value in node.items() if key not in references}
    branches = node.get("allOf")
    return {**rest, "allOf": [*(branches if isinstance(branches, list) else ()), {COUNTED: True}, references]}


def _marked_alone(node: JsonObject) -> JsonObject:
    """Return a subschema behind a mark if it refers, as it is in drafts in which nothing beside a reference counts."""
    return {"allOf": [{COUNTED: True}, node]} if is_reference(node) else node


def _objects(node: JsonValue) -> Iterator[JsonObject]:
    if isinstance(node, dict):
        yield node
    for child in node.values() if isinstance(node, dict) else node if isinstance(node, list) else ():
        yield from _objects(child)


def _levels(value: JsonValue) -> int:
    """Return how many containers are nested in each other."""
    level, levels = [value], 0
    while level := [part for part in level if isinstance(part, dict | list)]:
        levels += 1
        level = [child for part in level for child in (part.values() if isinstance(part, dict) else part)]
    return levels


def _mapped(
    node: JsonValue,
    before: Callable[[JsonObject], JsonObject],
    after: Callable[[JsonObject], JsonObject],
    data: frozenset[str],
    *,
    is_named: bool = False,
) -> JsonValue:
    """Return a copy in which every object was changed before its parts were, and after.

    An object that maps names to schemas has no keywords, so `before` passes it by. What the keywords `data` hold stays.
    """
    if isinstance(node, list):
        return [_mapped(child, before, after, data) for child in node]
    if not isinstance(node, dict):
        return node
    if is_named:
        return after({name: _mapped(part, before, after, data) for name, part in node.items()})
    return after(
        {
            key: part if key in data else _mapped(part, before, after, data, is_named=key in _NAMED)
            for key, part in before(node).items()
        }
    )
