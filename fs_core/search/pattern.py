"""Patterns from a model: what is wrong with one, and where."""

__all__ = ["PatternError"]


class PatternError(ValueError):
    """A pattern or glob that cannot be used, in one line.

    Attributes:
        position: Where in the pattern the fault begins, in characters counted from 0, if it is at one place.
    """

    def __init__(self, message: str, *, position: int | None = None) -> None:
        super().__init__(message)
        self.position = position
