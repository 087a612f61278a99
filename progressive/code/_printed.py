"""What a program prints, up to a bound."""

from collections.abc import Callable

__all__ = ["Printed"]


class Printed:
    """Collects printed text; a print that would pass the bound is cut there."""

    def __init__(self, bytes_max: int, on_full: Callable[[], object]) -> None:
        """Start empty; `on_full` is called once, by the thread that passes the bound."""
        self._bytes_left = bytes_max
        self._on_full = on_full
        self._parts: list[str] = []
        self.is_full = False

    @property
    def text(self) -> str:
        """All of it so far."""
        return "".join(self._parts)

    @property
    def bytes_left(self) -> int:
        """What may still be printed."""
        return self._bytes_left

    def take(self, text: str) -> None:
        """Add text."""
        if self.is_full:
            return
        encoded = text.encode()
        if len(encoded) <= self._bytes_left:
            self._parts.append(text)
            self._bytes_left -= len(encoded)
            return
        self.is_full = True
        self._parts.append(encoded[: self._bytes_left].decode(errors="ignore"))
        self._on_full()
