"""Options that programs construct: frozen dataclasses whose values pydantic checks.

While every value is its default, pydantic is not loaded: that takes as long as reading a file by `seamfs read` does.
"""

from collections.abc import Mapping
from dataclasses import dataclass, fields
from functools import cache
from typing import TYPE_CHECKING, Any, ClassVar

if TYPE_CHECKING:
    from pydantic import BaseModel

__all__ = ["CheckedOptions"]


@dataclass(frozen=True, kw_only=True)
class CheckedOptions:
    """Base of options. The metadata of a field are arguments of `pydantic.Field`, such as `gt` and `description`.

    As a field of a pydantic model they are checked in the same way and words.

    Raises:
        ValidationError: On construction: a value is wrong.
    """

    __pydantic_config__: ClassVar[Mapping[str, str]] = {"extra": "forbid"}

    def __post_init__(self) -> None:
        if any(getattr(self, item.name) is not item.default for item in fields(self)):
            for name, value in _model(type(self))(**vars(self)):
                object.__setattr__(self, name, value)


@cache
def _model(options: type[CheckedOptions]) -> "type[BaseModel]":
    from pydantic import Field, create_model

    rules: dict[str, Any] = {
        item.name: (item.type, Field(default=item.default, **item.metadata)) for item in fields(options)
    }
    return create_model(options.__name__, **rules)
