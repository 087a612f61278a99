"""Being told how far a search has come, for whoever shows it to somebody."""

from collections.abc import Generator
from contextlib import contextmanager
from contextvars import ContextVar

from fs_core.search.bounds import Watch

__all__ = ["current_watch", "watched"]

_watch: ContextVar[Watch | None] = ContextVar("_watch", default=None)


@contextmanager
def watched(watch: Watch) -> Generator[None]:
    """Have the searches that are made in the block tell `watch` now and then, on the event loop."""
    token = _watch.set(watch)
    try:
        yield
    finally:
        _watch.reset(token)


def current_watch() -> Watch | None:
    """Return who is to be told of a search that begins now."""
    return _watch.get()
