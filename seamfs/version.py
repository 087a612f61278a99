"""Which version this is. Asking the installed distribution takes longer than all else that `--version` does."""

from typing import Final

__all__ = ["VERSION"]

VERSION: Final = "0.1.0"
