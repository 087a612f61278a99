"""What a program prints, up to a bound."""

__all__ = ["Printed"]


class Printed:
    """Collects printed text; what passes the bound is cut there."""

    def __init__(self, bytes_max: int) -> None:
        self._bytes_left = bytes_max
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

    def take(self, text: str) -> bool:
        """Add text; tell whether all of it fitted."""
        encoded = text.encode()
        if self.is_full or len(encoded) > self._bytes_left:
            self.is_full = True
            text = encoded[: self._bytes_left].decode(errors="ignore")
            encoded = text.encode()
        self._parts.append(text)
        self._bytes_left -= len(encoded)
        return not self.is_full
