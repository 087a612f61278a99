"""Progressive disclosure: what a model sees of a large catalog of tools. Presentation only; the runtime decides.

The names below load on first use, so that settings can be read without the libraries that rank tools.
"""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from progressive.disclosure import Disclosure, SurfaceError
    from progressive.options import DisclosureOptions
    from progressive.protocol import Mode
    from progressive.surface import Surface

__all__ = ["Disclosure", "DisclosureOptions", "Mode", "Surface", "SurfaceError"]

_HOMES = {
    "Disclosure": "progressive.disclosure",
    "DisclosureOptions": "progressive.options",
    "Mode": "progressive.protocol",
    "Surface": "progressive.surface",
    "SurfaceError": "progressive.disclosure",
}


def __getattr__(name: str) -> object:
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from importlib import import_module

    value: object = getattr(import_module(_HOMES[name]), name)
    globals()[name] = value
    return value
