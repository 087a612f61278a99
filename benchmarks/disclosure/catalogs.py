"""Catalogs of any size, of real tools: those of the public set again and again, under new names."""

from collections.abc import Sequence
from dataclasses import replace
from itertools import cycle, islice
from typing import Any

from tool_runtime import Tool

__all__ = ["catalog_of"]


def catalog_of(count: int, tools: Sequence[Tool[Any]]) -> list[Tool[Any]]:
    """Return so many tools, all with different names."""
    return [
        replace(tool, name=f"{tool.name[:48]}_{number:05}") for number, tool in enumerate(islice(cycle(tools), count))
    ]
