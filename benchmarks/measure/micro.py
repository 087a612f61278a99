"""pyperf, which times single functions in processes of their own. Its types are unknown, and it may be missing."""

from collections.abc import Callable
from importlib import import_module
from typing import Any, Protocol, cast

__all__ = ["MicroRunner", "micro_runner"]


class MicroRunner(Protocol):
    """What is used of `pyperf.Runner`."""

    def bench_func(self, name: str, func: Callable[..., object], *args: object) -> object:
        """Time one function; options such as `--fast` and `-o FILE` are those of the command line."""
        ...


def micro_runner() -> MicroRunner:
    """Return a runner, whose options are taken from the command line.

    Raises:
        ImportError: pyperf is not installed: `pip install --group bench`.
    """
    return cast("MicroRunner", cast("Any", import_module("pyperf")).Runner())
