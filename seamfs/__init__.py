"""seamfs: one filesystem seam for language-model agents, over local disk, S3, SFTP and any fsspec store.

The names below load on first use, so that `import seamfs` costs nothing and no store's library is loaded by it.
"""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from seamfs.config import Settings, load_settings
    from seamfs.workspace import Workspace, open_workspace

__all__ = ["Settings", "Workspace", "load_settings", "open_workspace"]

_HOMES = {
    "Settings": "seamfs.config",
    "load_settings": "seamfs.config",
    "Workspace": "seamfs.workspace",
    "open_workspace": "seamfs.workspace",
}


def __getattr__(name: str) -> object:
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from importlib import import_module

    value: object = getattr(import_module(_HOMES[name]), name)
    globals()[name] = value
    return value
