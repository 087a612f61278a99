"""Where settings are found besides the command line. Loads nothing that is not needed to tell whether there are any."""

import os
from pathlib import Path
from typing import Final

__all__ = ["CONFIG_FILE", "ENV_PREFIX", "found_settings", "set_variables"]

ENV_PREFIX: Final = "SEAMFS_"
CONFIG_FILE: Final = Path("seamfs.toml")

_NOT_SETTINGS: Final = frozenset({"SEAMFS_REQUIRE_REAL"})
"""Variables with our prefix that are read by the test suite and mean nothing here."""


def set_variables() -> list[str]:
    """Return the names of the environment variables that may be settings; those count in any case of letters."""
    return [name for name in os.environ if name.upper().startswith(ENV_PREFIX) and name not in _NOT_SETTINGS]


def found_settings() -> bool:
    """Tell whether the environment or the working directory may hold settings."""
    return bool(set_variables()) or CONFIG_FILE.is_file()
