"""What a command finds missing when it starts, or an adapter when it is imported."""

from collections.abc import Iterable
from importlib.util import find_spec

__all__ = ["MissingExtraError", "NotReadyError", "require_extra"]


class MissingExtraError(ImportError):
    """Raised when something needs packages that are not installed; one line with the command that installs them."""


class NotReadyError(Exception):
    """Raised when another server or the sandbox does not offer what a command needs of it; one line with the reason."""


def require_extra(extra: str, modules: Iterable[str], *, what: str) -> None:
    """Check that the packages of an extra are there, without loading them.

    Raises:
        MissingExtraError: One is not.
    """
    missing = [module for module in modules if find_spec(module) is None]
    if missing:
        packages = ", ".join(missing)
        raise MissingExtraError(f"{what} needs {packages}, not installed here: pip install 'seamfs[{extra}]'")
