"""Counting calls of the operating system."""

import os
from typing import Any

__all__ = ["CountingOs"]


class CountingOs:
    """Stands in for the module `os`, or for what stands in for it, and notes which of its functions are called."""

    def __init__(self, module: Any = os) -> None:
        self.calls: list[str] = []
        self._module = module

    def __getattr__(self, name: str) -> Any:
        value: Any = getattr(self._module, name)
        if not callable(value) or name == "fsencode":
            return value

        def counted(*args: Any, **kwargs: Any) -> Any:
            self.calls.append(name)
            return value(*args, **kwargs)

        return counted
