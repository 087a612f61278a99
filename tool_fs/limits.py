"""Bounds of one page, configurable."""

from pydantic import BaseModel, ConfigDict, Field, PositiveInt

__all__ = ["ReadLimits"]


class ReadLimits(BaseModel):
    """How much `read` shows at once."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    max_lines: PositiveInt = Field(default=2_000, description="lines of a page, and the largest limit")
    max_line_chars: PositiveInt = Field(default=2_000, description="characters shown of one line")
    max_page_bytes: PositiveInt = Field(default=51_200, description="bytes of text of a page")
