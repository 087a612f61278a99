"""Settings of the layer, checked when they are made."""

from collections import Counter
from typing import Annotated

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, PositiveInt, field_validator

from progressive.names import RESERVED

__all__ = ["DisclosureOptions"]


def _no_bool(value: object) -> object:
    if isinstance(value, bool):
        raise ValueError("must be a positive integer")  # noqa: TRY004 - pydantic turns a ValueError into its own
    return value


_Count = Annotated[PositiveInt, BeforeValidator(_no_bool)]


class DisclosureOptions(BaseModel):
    """What is declared up front, and the bounds of the discovery tools. Characters are counted as graphemes.

    Raises:
        ValidationError: On construction: an unknown key, a bound that is not a positive integer, or an eager name
            that is empty, reserved or given twice.
    """

    model_config = ConfigDict(extra="forbid", frozen=True)

    eager_tools: tuple[str, ...] = Field(default=(), description="exact names of tools that stay declared directly")
    max_search_results: _Count = Field(default=10, description="ranked matches of one search")
    max_describe_tools: _Count = Field(default=5, description="names in one describe_tools call")
    max_summary_chars: _Count = Field(default=240, description="characters of a description in search results")
    max_query_chars: _Count = 500
    max_tool_name_chars: _Count = 200
    max_result_bytes: _Count = Field(default=1_048_576, description="size of one discovery result as JSON")

    @field_validator("eager_tools")
    @classmethod
    def _names_are_usable(cls, names: tuple[str, ...]) -> tuple[str, ...]:
        if "" in names:
            raise ValueError("a name is empty")
        twice = sorted(name for name, times in Counter(names).items() if times > 1)
        if twice:
            raise ValueError(f"given twice: {', '.join(twice)}")
        reserved = sorted(RESERVED.intersection(names))
        if reserved:
            raise ValueError(f"reserved for the discovery tools: {', '.join(reserved)}")
        return names
