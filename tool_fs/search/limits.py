"""Bounds of one search, configurable."""

from pydantic import BaseModel, ConfigDict, Field, PositiveFloat, PositiveInt

__all__ = ["SearchLimits"]


class SearchLimits(BaseModel):
    """How much `list_dir`, `glob` and `grep` look at and show at once."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    max_entries: PositiveInt = Field(default=1_000, description="entries or paths of a result")
    max_matches: PositiveInt = Field(default=200, description="matching lines of a result")
    max_result_bytes: PositiveInt = Field(default=51_200, description="bytes of text of a result")
    max_line_chars: PositiveInt = Field(default=500, description="characters shown of one line")
    max_depth: PositiveInt = Field(default=20, description="the largest depth of list_dir")
    max_context: PositiveInt = Field(default=20, le=10_000, description="the largest context of grep")
    max_directory_entries: PositiveInt = Field(default=200_000, description="names of one directory that are looked at")
    max_file_bytes: PositiveInt = Field(default=256 * 1024 * 1024, description="larger files are not searched")
    timeout_s: PositiveFloat = Field(default=30.0, description="then a search ends with what it has found")
    gitignore: bool = Field(default=True, description="leave out .git and the like, and what .gitignore files name")
