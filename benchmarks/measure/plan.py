"""How much is measured."""

from dataclasses import dataclass
from pathlib import Path
from typing import Final, Literal

__all__ = ["GB", "KB", "MB", "Plan"]

KB: Final = 1 << 10
MB: Final = 1 << 20
GB: Final = 1 << 30


@dataclass(frozen=True, slots=True)
class Plan:
    """What a run measures, and how long a comparison may take.

    Attributes:
        mode: quick measures the cells that goals are about, full the whole matrix.
        is_huge: Whether files of 1 GB are made.
        scratch: An empty directory for files, removed afterwards.
    """

    mode: Literal["quick", "full"]
    is_huge: bool
    scratch: Path

    @property
    def is_full(self) -> bool:
        """Whether the whole matrix is measured."""
        return self.mode == "full"

    @property
    def rounds(self) -> int:
        """Return how many rounds a comparison has if the budget allows it."""
        return 30 if self.is_full else 15

    @property
    def budget_s(self) -> float:
        """Return when a comparison is content with fewer rounds."""
        return 4.0 if self.is_full else 2.0
