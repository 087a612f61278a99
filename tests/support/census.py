"""What this process holds, and a look whether more of it is held afterwards.

One look is not enough. Servers in this process see a moment later that a client has left, a thread that has let go of
its work holds its socket for a moment, and what an earlier test has left may be closed meanwhile.
"""

import gc
import re
import threading
from collections import Counter
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Final, NoReturn

import anyio

from tests.support.processes import children
from tests.support.waiting import until, wait_until

__all__ = ["Census"]

_NUMBER: Final = re.compile(r"\d+")
_POOLED: Final = ("AnyIO worker", "Trio thread", "asyncio_", "fsspecIO")


@dataclass(frozen=True)
class Census:
    """What this process holds. Idle threads that event loops keep for later are not counted: they hold nothing."""

    counts: Counter[str]
    """How many descriptors, children, tasks of the running event loop, and threads of each name.

    Numbers in the names of threads do not count: a server's thread may end and another one take its place.
    """

    @classmethod
    def take(cls) -> "Census":
        """Count now."""
        names = (thread.name for thread in threading.enumerate() if not thread.name.startswith(_POOLED))
        counts = Counter(f"threads {_NUMBER.sub('', name)}" for name in names)
        counts["descriptors"] = sum(1 for _ in Path("/proc/self/fd").iterdir())
        counts["children"] = len(children())
        counts["tasks"] = _running_tasks()
        return cls(counts)

    def excess(self) -> dict[str, int]:
        """Return of what this process holds more than this, and how much."""
        return {what: count for what, count in Census.take().counts.items() if count > self.counts[what]}

    def with_room(self, **room: int) -> "Census":
        """Return the same with some more that may come and go."""
        return Census(self.counts + Counter(room))

    async def is_back(self) -> None:
        """Check that no more is held than this, after a while; one look that finds it so is enough."""
        with suppress(TimeoutError):
            await until(self._is_covered)
            return
        self._fail()

    def wait_until_back(self) -> None:
        """Check as `is_back` does, in a test that runs no event loop."""
        with suppress(TimeoutError):
            wait_until(self._is_covered)
            return
        self._fail()

    def _fail(self) -> NoReturn:
        raise AssertionError(f"more is held than {self.counts}: {self.excess()}")

    def _is_covered(self) -> bool:
        if not self.excess():
            return True
        gc.collect()  # what garbage holds is soon given back
        return not self.excess()


def _running_tasks() -> int:
    try:
        return len(anyio.get_running_tasks())
    except anyio.NoEventLoopError:
        return 0
