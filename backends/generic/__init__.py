"""Any other store that fsspec knows, read only: `github://`, `zip://`, `http://`, `tar://`, ..."""

from backends.generic._fsspec import install_hint, known_protocols
from backends.generic.backend import GenericBackend, open_generic

__all__ = ["GenericBackend", "install_hint", "known_protocols", "open_generic"]
