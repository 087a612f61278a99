"""Parts of a Messages request: dictionaries, or objects of the SDK, as an agent sends back what it was sent."""

from collections.abc import Iterable, Mapping, Sequence
from typing import cast

__all__ = ["changed", "field", "kind_of", "listed", "text_field", "unmarked"]


def field(part: object, name: str) -> object:
    """Return a field of a dictionary or of an object; None if it has none of that name."""
    if isinstance(part, Mapping):
        return cast("Mapping[str, object]", part).get(name)
    return getattr(part, name, None)


def text_field(part: object, name: str) -> str:
    """Return a field that should be text; empty if it is not."""
    value = field(part, name)
    return value if isinstance(value, str) else ""


def kind_of(block: object) -> str:
    """Return the type of a block."""
    return text_field(block, "type")


def changed(part: object, **fields: object) -> dict[str, object]:
    """Return a part as a dictionary with some fields set; what is in the others is shared with it."""
    if isinstance(part, Mapping):
        return {**cast("Mapping[str, object]", part), **fields}
    # As every pydantic model, those of the SDK iterate over their fields; what was not set is None.
    own = cast("Iterable[tuple[str, object]]", part)
    return {**{name: value for name, value in own if value is not None}, **fields}


def unmarked(part: object) -> object:
    """Return a part without a mark of the cache; the same object if it has none."""
    if field(part, "cache_control") is None:
        return part
    return {name: value for name, value in changed(part).items() if name != "cache_control"}


def listed(parts: object) -> Sequence[object]:
    """Return what can be walked more than once: the same object if it is a sequence, else a list of what it gives."""
    if parts is None:
        return ()
    return cast("Sequence[object]", parts) if isinstance(parts, Sequence) else list(cast("Iterable[object]", parts))
