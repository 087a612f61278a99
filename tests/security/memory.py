"""How much memory a block takes at its peak."""

import tracemalloc
from collections.abc import Generator
from contextlib import contextmanager

__all__ = ["memory_bounded"]


@contextmanager
def memory_bounded(*, bytes_max: int) -> Generator[None]:
    """Fail if the Python objects of this process grow by more than `bytes_max` at any moment of the block."""
    tracemalloc.start()
    try:
        before, _ = tracemalloc.get_traced_memory()
        tracemalloc.reset_peak()
        yield
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert peak - before <= bytes_max, f"{peak - before} bytes, at most {bytes_max}"
