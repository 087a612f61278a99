"""Progressive disclosure: what a model sees of a large catalog of tools. Presentation only; the runtime decides."""

from progressive.disclosure import Disclosure, SurfaceError
from progressive.options import DisclosureOptions
from progressive.protocol import Mode
from progressive.surface import Surface

__all__ = ["Disclosure", "DisclosureOptions", "Mode", "Surface", "SurfaceError"]
