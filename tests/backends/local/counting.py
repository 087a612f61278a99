"""Counting calls of the operating system."""

import os
from typing import Any

__all__ = ["CountingOs"]


class CountingOs:
    """Stands in for the module `os` and notes which of its functions are called."""

    def __init__(self) -> None:
        self.calls: list[str] = []

    def __getattr__(self, name: str) -> Any:
        value: Any = getattr(os, name)
        if not callable(value) or name == "fsencode":
            return value

        def counted(*args: Any, **kwargs: Any) -> Any:
            self.calls.append(name)
            return value(*args, **kwargs)

        return counted
