"""Arguments of the search tools. The names are a public contract and the same on every backend.

A null counts as left out, and so does an empty text where one may be: models that have to name every argument send it.
Libraries for patterns are loaded with the first search.
"""

from typing import TYPE_CHECKING, Annotated, Self

from pydantic import AfterValidator, BaseModel, BeforeValidator, Field, WithJsonSchema, model_validator
from pydantic.config import JsonDict
from pydantic.json_schema import SkipJsonSchema

if TYPE_CHECKING:
    from fs_core.search.grepping import LineQuery

__all__ = ["GlobArgs", "GrepArgs", "ListDirArgs"]


def _level_count(value: int) -> int:
    if value < 1:
        raise ValueError("must be at least 1")
    return value


def _line_count(value: int) -> int:
    if value < 0:
        raise ValueError("must be at least 0")
    return value


def _glob(pattern: str) -> str:
    from fs_core.search.globs import parse_glob

    parse_glob(pattern)
    return pattern


def _glob_or_nothing(pattern: str) -> str:
    return _glob(pattern) if pattern else pattern


def _not_empty(pattern: str) -> str:
    if not pattern:
        raise ValueError("must not be empty; to find files whatever they hold, use glob")
    return pattern


def _false_if_null(value: object) -> object:
    return False if value is None else value


def _without_default(schema: JsonDict) -> None:
    schema.pop("default", None)


_Levels = Annotated[int, AfterValidator(_level_count), WithJsonSchema({"type": "integer", "minimum": 1})]
_Lines = Annotated[int, AfterValidator(_line_count), WithJsonSchema({"type": "integer", "minimum": 0})]


class ListDirArgs(BaseModel):
    """Which directory, and how far down."""

    path: str | SkipJsonSchema[None] = Field(
        default=None,
        description="Directory to list, relative to the root; without it the root.",
        json_schema_extra=_without_default,
    )
    depth: _Levels | SkipJsonSchema[None] = Field(
        default=None, description="How many levels to list; without it 1.", json_schema_extra=_without_default
    )


class GlobArgs(BaseModel):
    """Which names, below which directory."""

    pattern: Annotated[str, AfterValidator(_glob)] = Field(description="Glob, such as *.py or src/**/test_*.py.")
    path: str | SkipJsonSchema[None] = Field(
        default=None,
        description="Directory to search, relative to the root; without it the root.",
        json_schema_extra=_without_default,
    )


class GrepArgs(BaseModel):
    """Which lines, of which files, and how much around them."""

    pattern: Annotated[str, AfterValidator(_not_empty)] = Field(
        description="Regular expression (RE2 syntax), matched with each line.", json_schema_extra={"minLength": 1}
    )
    path: str | SkipJsonSchema[None] = Field(
        default=None,
        description="Directory or file to search, relative to the root; without it the root.",
        json_schema_extra=_without_default,
    )
    include: Annotated[str, AfterValidator(_glob_or_nothing)] | SkipJsonSchema[None] = Field(
        default=None,
        description="Glob that a file must match, such as *.py or src/**/*.{js,ts}.",
        json_schema_extra=_without_default,
    )
    context: _Lines | SkipJsonSchema[None] = Field(
        default=None, description="Lines to show before and after each match.", json_schema_extra=_without_default
    )
    ignore_case: Annotated[bool, BeforeValidator(_false_if_null)] = Field(
        default=False, description="Match letters of either case."
    )

    @model_validator(mode="after")
    def _pattern_is_usable(self) -> Self:
        from fs_core.search.pattern import line_pattern

        line_pattern(self.pattern, ignore_case=self.ignore_case)
        return self

    def query(self, *, context_max: int) -> "LineQuery":
        """Return what is searched for, with at most so many lines around each match."""
        from fs_core.search.grepping import LineQuery

        return LineQuery(
            self.pattern,
            include=self.include or None,
            context=min(self.context or 0, context_max),
            ignore_case=self.ignore_case,
        )
