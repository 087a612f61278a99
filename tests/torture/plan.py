"""What one worker process is told: its plan, then the layout when the run begins; a line of JSON each."""

from pathlib import Path
from typing import Final, Literal

from pydantic import BaseModel, ConfigDict

from backends.options import BackendOptions
from tests.torture.contents import Shape

__all__ = ["APPENDED", "FILES_PER_SHAPE", "STORES", "Layout", "Plan", "StoreName"]

StoreName = Literal["local", "s3", "sftp"]
STORES: Final[tuple[StoreName, ...]] = ("local", "s3", "sftp")

APPENDED: Final = "appended"
"""Stands in a journal for the content before and with a token after it: a change of whatever was there."""

FILES_PER_SHAPE: Final = 2
"""So few that everybody meets everybody else on each of them."""

_NS: Final = 1_000_000_000


class Layout(BaseModel):
    """Which files are fought over at which moment, the same for all processes: by the clock that they share.

    A generation of files lasts `generation_s`: so no file and no history of one grows for ever.
    """

    model_config = ConfigDict(frozen=True)

    start_ns: int
    end_ns: int
    generation_s: float
    races_per_s: float = 1.0

    def changed(self, shape: Shape, number: int, now_ns: int) -> str:
        """Return one of `FILES_PER_SHAPE` files that are changed again and again."""
        return f"{shape}-{number}/{self._generation(now_ns):04}.txt"

    def raced_for(self, now_ns: int) -> str:
        """Return a new name that everybody tries to create."""
        number = int((now_ns - self.start_ns) * self.races_per_s / _NS)
        return f"race/{self._generation(now_ns):04}/{number}.txt"

    def nested(self, choice: int, token: str, now_ns: int) -> str:
        """Return a name of one's own below directories that several others make at the same time."""
        return f"nest/{self._generation(now_ns):04}/{choice % 2}/{choice // 2 % 2}/{token}.txt"

    def _generation(self, now_ns: int) -> int:
        return int((now_ns - self.start_ns) / (self.generation_s * _NS))


class Plan(BaseModel):
    """One worker: the store, its agents, and where it notes what happens. The journal is made when it is ready."""

    model_config = ConfigDict(frozen=True)

    url: str
    options: BackendOptions
    event_loop: Literal["asyncio", "trio"]
    guarded: tuple[str, ...]
    unguarded: tuple[str, ...]
    seed: int
    journal: Path
    notes: Path
    mutation: str | None = None
