"""Arguments of the three tools. The names are a public contract and the same on every backend."""

from typing import Annotated, Self

from pydantic import AfterValidator, BaseModel, Field, WithJsonSchema, model_validator
from pydantic.config import JsonDict
from pydantic.json_schema import SkipJsonSchema

from fs_core.edit import Edit

__all__ = ["EditArgs", "ReadArgs", "WriteArgs"]


def _first_line(value: int) -> int:
    if value < 1:
        raise ValueError("lines start at 1")
    return value


def _line_count(value: int) -> int:
    if value < 1:
        raise ValueError("must be at least 1")
    return value


def _not_empty(value: str) -> str:
    if not value:
        raise ValueError("must not be empty; to create a file or replace it whole, use write")
    return value


def _without_default(schema: JsonDict) -> None:
    schema.pop("default", None)


_POSITIVE = WithJsonSchema({"type": "integer", "minimum": 1})
_FirstLine = Annotated[int, AfterValidator(_first_line), _POSITIVE]
_LineCount = Annotated[int, AfterValidator(_line_count), _POSITIVE]
_Path = Annotated[str, Field(description="Path of the file, relative to the root.")]


class ReadArgs(BaseModel):
    """Which lines of which file. A null counts as left out."""

    file_path: _Path
    offset: _FirstLine | SkipJsonSchema[None] = Field(
        default=None, description="First line to return, counting from 1.", json_schema_extra=_without_default
    )
    limit: _LineCount | SkipJsonSchema[None] = Field(
        default=None, description="How many lines to return at the most.", json_schema_extra=_without_default
    )


class WriteArgs(BaseModel):
    """A file and its whole new content."""

    file_path: _Path
    content: str = Field(description="The whole content of the file, written exactly as given.")


class EditArgs(BaseModel):
    """A literal replacement in a file."""

    file_path: _Path
    old_string: Annotated[str, AfterValidator(_not_empty)] = Field(
        description="Text to replace, exactly as it stands in the file, without line numbers.",
        json_schema_extra={"minLength": 1},
    )
    new_string: str = Field(description="Text to put in its place; empty deletes.")
    replace_all: bool = Field(default=False, description="Replace every place; otherwise there must be exactly one.")

    @model_validator(mode="after")
    def _must_change(self) -> Self:
        if self.edit.changes_nothing:
            raise ValueError("old_string and new_string are identical (CRLF counts as LF); nothing would change")
        return self

    @property
    def edit(self) -> Edit:
        """The replacement."""
        return Edit(old_string=self.old_string, new_string=self.new_string, replace_all=self.replace_all)
