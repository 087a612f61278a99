"""Values that must not come back out of a server in a log, a reason or an error."""

from __future__ import annotations

from collections.abc import Iterable
from urllib.parse import parse_qsl, unquote, urlsplit

from progressive.gateway.mounts import HttpMount, Mount, StdioMount, revealed

__all__ = ["Secrets"]

# Shorter ones (a flag, a port) would blacken every text and guard nothing.
_CHARS_MIN = 6


class Secrets:
    """The secret values of one mount."""

    def __init__(self, values: Iterable[str]) -> None:
        # Longest first: one value may be part of another.
        self._values = sorted({value for value in values if len(value) >= _CHARS_MIN}, key=len, reverse=True)

    @classmethod
    def of(cls, mount: Mount) -> Secrets:
        """Collect what a mount sends: environment values, header values, and what its URL carries."""
        match mount:
            case StdioMount():
                return cls(revealed(mount.env).values())
            case HttpMount():
                return cls([*_of_headers(mount), *_of_url(mount.url)])

    def hidden_in(self, text: str) -> str:
        """Return a text with every secret value replaced."""
        for value in self._values:
            text = text.replace(value, "***")
        return text


def _of_headers(mount: HttpMount) -> list[str]:
    values = list(revealed(mount.headers).values())
    # `Bearer TOKEN`: a server that repeats it repeats the token alone.
    return [*values, *(part for value in values for part in value.split())]


def _of_url(url: str) -> list[str]:
    parts = urlsplit(url)
    userinfo = parts.netloc.rpartition("@")[0]
    pieces = [parts.query, userinfo, *userinfo.split(":"), *(value for _, value in parse_qsl(parts.query))]
    return [*pieces, *map(unquote, pieces)]
