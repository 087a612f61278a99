"""What is compared: one cell of the matrix, those who take part in it, and those who cannot."""

from collections.abc import Callable
from dataclasses import dataclass

__all__ = ["Absent", "Case", "Contender", "NotInstalled", "size_text"]

_UNITS = ((1 << 30, "GB"), (1 << 20, "MB"), (1 << 10, "KB"))


@dataclass(frozen=True, slots=True, kw_only=True)
class Case:
    """One cell of the matrix. Cases of the same group, operation and store are rows of one table.

    Attributes:
        group: pagination, editing or backends.
        operation: What is done, such as "page, warm".
        size_bytes: Of the file; `None` where there is none.
        content: What the file holds, see `benchmarks.measure.content`.
        store: Where the file is.
        position: Where in the file the work is done.
        concurrency: How many do it at once.
        latency_ms: Added to every round trip.
    """

    group: str
    operation: str
    size_bytes: int | None = None
    content: str = ""
    store: str = "local disk"
    position: str = ""
    concurrency: int = 1
    latency_ms: int = 0

    @property
    def row(self) -> str:
        """Return what tells this case from others of its table."""
        parts = [
            "" if self.size_bytes is None else size_text(self.size_bytes),
            self.content,
            self.position,
            f"{self.concurrency} at once" if self.concurrency > 1 else "",
            f"{self.latency_ms} ms latency" if self.latency_ms else "",
        ]
        return ", ".join(part for part in parts if part) or self.operation


@dataclass(frozen=True, slots=True)
class Contender:
    """One way to do what a case is about.

    Attributes:
        name: The column of the table.
        run: What is timed; an awaitable that it returns is awaited. It raises if the work was not done.
        prepare: Done before every single `run`, and not timed: restoring a file, forgetting what was cached.
        note: What it leaves out that others do, such as "no total" or "no fsync"; a footnote of the table.
        may_be_slow: Whether it is repeated even if it takes seconds.
    """

    name: str
    run: Callable[[], object]
    prepare: Callable[[], object] | None = None
    note: str = ""
    may_be_slow: bool = False


@dataclass(frozen=True, slots=True)
class NotInstalled:
    """One who would take part after the command `install`."""

    name: str
    install: str


@dataclass(frozen=True, slots=True)
class Absent:
    """One without times, and why."""

    name: str
    reason: str


def size_text(size_bytes: int) -> str:
    """Return a size in the largest unit that it has at least one of."""
    for unit_bytes, unit in _UNITS:
        if size_bytes >= unit_bytes:
            return f"{size_bytes / unit_bytes:.3g} {unit}"
    return f"{size_bytes} B"
