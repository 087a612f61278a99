"""Local disk: kernel-checked creation, atomic replacement under a lock that all processes of this library share."""

from backends.local._probe import LocalProbe
from backends.local.backend import LocalBackend, open_local

__all__ = ["LocalBackend", "LocalProbe", "open_local"]
