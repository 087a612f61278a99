"""Checking a JSON text against a pydantic model or a JSON Schema, strictly, with every mismatch found at once."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final, Generic, Protocol, TypeVar, cast

from pydantic import BaseModel, JsonValue, TypeAdapter, ValidationError
from pydantic_core import CoreSchema, ErrorDetails, SchemaValidator
from typing_extensions import is_typeddict

from tool_runtime.payload import JsonObject, NotJsonError, decode, encode
from tool_runtime.problems import MismatchError, Path, Problem, shown, unknown_key
from tool_runtime.schema import compact_schema, property_names

__all__ = ["DRAFT_2020_12", "Checker", "ModelChecker", "checker_for", "is_schema"]

DRAFT_2020_12: Final = "https://json-schema.org/draft/2020-12/schema"

ValueT_co = TypeVar("ValueT_co", covariant=True)
ModelT_co = TypeVar("ModelT_co", covariant=True)

_RECORD_TYPES: Final = frozenset(
    {"typed-dict", "typed-dict-field", "str", "int", "bool", "none", "list", "literal", "nullable", "definitions"}
    | {"definition-ref"}
)
"""Of a TypedDict whose checked values are plain JSON: a float may be no number, and other types are none of JSON's."""

_NO_SCHEMAS: Final = frozenset({"metadata", "expected"})
"""Keys of a schema of pydantic's core that may hold lists and mappings which are none."""


class Checker(Protocol[ValueT_co]):
    """A compiled schema."""

    @property
    def schema(self) -> JsonObject:
        """The JSON Schema; shared, so copy it before handing it out."""
        ...

    def parse(self, payload: bytes) -> ValueT_co:
        """Return the value of a JSON text that matches.

        Raises:
            MismatchError: It does not match.
        """
        ...

    def plain(self, value: object) -> JsonValue:
        """Return a copy of a tool's value that shares nothing with it, in plain JSON types.

        Raises:
            MismatchError: It does not match.
            NotJsonError: It has no JSON form.
        """
        ...

    def float_integers(self, payload: bytes, /) -> list[Path]:
        """Return where a JSON text that matches holds a number like `12.0` and an integer is expected.

        Raises:
            MismatchError: It cannot be decided.
        """
        ...


def checker_for(
    source: type[BaseModel | Mapping[str, object]] | Mapping[str, JsonValue],
) -> Checker[Any]:
    """Compile a model, a TypedDict, or a JSON Schema.

    The fields of a TypedDict are texts, integers, booleans, None, literals, lists and TypedDicts; values of it are
    checked as they are, which is several times as fast as by way of their JSON text.

    A JSON Schema is read under the draft it names; without one under 2020-12, or if it is no valid schema of that
    draft, under draft 7 or 4. An empty one accepts any JSON.

    Raises:
        ValueError: The mapping is not a valid JSON Schema, or the TypedDict has other fields.
    """
    if isinstance(source, type):
        return RecordChecker[object](source) if is_typeddict(source) else ModelChecker[object](source)
    if not source:
        return _AnyChecker()
    # A model or an empty schema needs no library, which takes a tenth of a second to load.
    from tool_runtime._schema_checker import SchemaChecker

    return SchemaChecker(source)


def is_schema(value: JsonObject, *, draft: str | None = None) -> bool:
    """Whether an object is a JSON Schema as its meta-schema sees it; far quicker than compiling it.

    References and patterns are not looked at, so `checker_for` may still refuse it.

    Args:
        value: Plain JSON types.
        draft: Which draft's meta-schema, such as `DRAFT_2020_12`, whatever draft it names itself; by default the draft
            that `checker_for` would read it under.

    Raises:
        ValueError: It cannot be decided.
    """
    from tool_runtime._schema_compiler import is_in_form

    return is_in_form(value, draft=draft)


class ModelChecker(Generic[ModelT_co]):
    """Checks with a pydantic model: JSON types taken strictly, unknown keys refused at every level."""

    def __init__(self, model: type[ModelT_co]) -> None:
        self._adapter: TypeAdapter[ModelT_co] = TypeAdapter(model)
        self.schema = compact_schema(self._adapter.json_schema())

    def parse(self, payload: bytes) -> ModelT_co:
        """Return the model instance; see `Checker.parse`."""
        try:
            return self._adapter.validate_json(payload, strict=True, extra="forbid")
        except ValidationError as error:
            raise MismatchError(self._problems(payload, error)) from error

    def plain(self, value: object) -> JsonValue:
        """Return a copy; see `Checker.plain`."""
        payload = encode(value)
        self.parse(payload)
        return decode(payload)

    def float_integers(self, _payload: bytes, /) -> list[Path]:
        """Return nothing: strictly, `12.0` is no integer."""
        return []

    def _problems(self, payload: bytes, error: ValidationError) -> list[Problem]:
        try:
            value = decode(payload)
        except NotJsonError as fault:
            return [Problem((), str(fault))]
        grouped: dict[Path, list[ErrorDetails]] = {}
        for detail in error.errors(include_url=False, include_context=False):
            grouped.setdefault(_path(value, detail), []).append(detail)
        return [self._problem(path, details) for path, details in grouped.items()]

    def _problem(self, path: Path, details: Sequence[ErrorDetails]) -> Problem:
        kinds = {detail["type"] for detail in details}
        if "extra_forbidden" in kinds:
            return Problem(path, unknown_key(property_names(self.schema, path[:-1])))
        if "missing" in kinds:
            return Problem(path, "is required")
        # A union reports one error per member at the same place: any of them would do. That null would do is no advice.
        details = [detail for detail in details if detail["type"] != "none_required"] or details
        wanted = " or ".join(dict.fromkeys(_clause(detail) for detail in details))
        is_about_the_whole = not path and kinds == {"value_error"}
        got = "" if is_about_the_whole else f", got {shown(details[0]['input'])}"
        return Problem(path, f"{wanted}{got}", integer_expected="int_type" in kinds)


class RecordChecker(ModelChecker[ModelT_co]):
    """Checks with a TypedDict in the same way; a value that matches is copied as it is checked.

    Raises:
        ValueError: On construction: a field whose checked value need not be plain JSON.
    """

    def __init__(self, record: type[ModelT_co]) -> None:
        super().__init__(record)
        schema = self._adapter.core_schema
        foreign = sorted(_types(schema) - _RECORD_TYPES)
        if foreign:
            raise ValueError(f"{record.__name__}: a TypedDict for a value of a tool has no field of {foreign}")
        self._copier = SchemaValidator(cast("CoreSchema", _with_texts_looked_at(schema)))

    def plain(self, value: object) -> JsonValue:
        """Return a copy; see `Checker.plain`."""
        try:
            return cast("JsonValue", self._copier.validate_python(value, strict=True, extra="forbid"))
        except ValidationError:
            # By way of the JSON text tuples pass too, and every problem is told in the same words.
            return super().plain(value)


class _AnyChecker:
    """Lets every value pass."""

    def __init__(self) -> None:
        self.schema: JsonObject = {}

    def parse(self, payload: bytes) -> JsonValue:
        """Return the plain value; see `Checker.parse`."""
        try:
            return decode(payload)
        except NotJsonError as fault:
            raise MismatchError([Problem((), str(fault))]) from fault

    def plain(self, value: object) -> JsonValue:
        """Return a copy; see `Checker.plain`."""
        return self.parse(encode(value))

    def float_integers(self, _payload: bytes, /) -> list[Path]:
        """Return nothing: no integer is expected."""
        return []


def _types(schema: object) -> set[str]:
    """Return which types of pydantic's core a schema is made of."""
    if isinstance(schema, list):
        return set[str]().union(*map(_types, cast("list[object]", schema)))
    if not isinstance(schema, dict):
        return set()
    node = cast("dict[str, object]", schema)
    inner = [value for key, value in node.items() if key not in _NO_SCHEMAS]
    own = node.get("type")
    return ({own} if isinstance(own, str) else set[str]()) | _types(inner)


def _with_texts_looked_at(schema: object) -> object:
    """Return a schema of pydantic's core that refuses lone surrogates.

    It hands a text on unseen unless there is a rule for it, such as a length that every text has.
    """
    if isinstance(schema, list):
        return [_with_texts_looked_at(part) for part in cast("list[object]", schema)]
    if not isinstance(schema, dict):
        return schema
    node = cast("dict[str, object]", schema)
    inner = {key: part if key in _NO_SCHEMAS else _with_texts_looked_at(part) for key, part in node.items()}
    return {**inner, "min_length": 0} if node.get("type") == "str" else inner


def _clause(detail: ErrorDetails) -> str:
    message = detail["msg"].removeprefix("Value error, ").removeprefix("Assertion failed, ")
    if message.startswith("Input should "):
        return f"must {message.removeprefix('Input should ')}"
    return message


def _path(value: JsonValue, detail: ErrorDetails) -> Path:
    """Return the part of an error's location that exists in the value: unions and keys add parts that do not."""
    path: list[str | int] = []
    node: object = value
    for part in detail["loc"]:
        if isinstance(node, dict) and part in node:
            node = cast("dict[object, object]", node)[part]
        elif isinstance(node, list) and isinstance(part, int):
            node = cast("list[object]", node)[part]
        else:
            continue
        path.append(part)
    if detail["type"] == "missing":
        path.append(detail["loc"][-1])
    return tuple(path)
