"""Ports for servers that are told theirs, and bind it only some time after it was chosen."""

import random
import socket
from typing import Final

__all__ = ["free_port"]

_FIRST: Final = 10_000
_END: Final = 32_768
"""From here on Linux gives ports to whoever asks for any."""
_TRIES_MAX: Final = 200
_DICE: Final = random.SystemRandom()


def free_port(*others: int) -> int:
    """Return a port that is free, as are those that lie `others` above it.

    The kernel gives none of them to one who asks for any port, so they stay free until one who asks here is given them.
    """
    for _ in range(_TRIES_MAX):
        port = _DICE.randrange(_FIRST, _END - max(others, default=0))
        if all(_is_free(port + other) for other in (0, *others)):
            return port
    raise AssertionError("there are no free ports")


def _is_free(port: int) -> bool:
    with socket.socket() as listener:
        try:
            listener.bind(("127.0.0.1", port))
        except OSError:
            return False
    return True
