"""References of a JSON Schema, and where they lead inside it."""

from __future__ import annotations

from collections.abc import Iterator
from urllib.parse import unquote, urljoin

from pydantic import JsonValue

from tool_runtime.payload import JsonObject

__all__ = ["REFERENCES", "References", "is_reference", "targets"]

REFERENCES = ("$ref", "$dynamicRef", "$recursiveRef")

_ANCHORS = ("$anchor", "$dynamicAnchor")


def targets(node: JsonObject) -> Iterator[str]:
    """Yield what a subschema refers to, as it is written."""
    for name in REFERENCES:
        if isinstance(target := node.get(name), str):
            yield target


def is_reference(node: JsonObject) -> bool:
    """Whether a subschema stands, in part at least, for another."""
    return any(True for _ in targets(node))


class References:
    """What the references of one document lead to: by pointer, by anchor or by the name of an embedded schema."""

    def __init__(self, document: JsonObject, *, identifier: str) -> None:
        """Find what can be referred to by a name; `identifier` is the keyword that gives one, `id` in draft 4."""
        self._identifier = identifier
        self._named: dict[str, JsonValue] = {"": document}
        self._base_of: dict[int, str] = {}
        pending: list[tuple[JsonValue, str]] = [(document, "")]
        while pending:
            node, base = pending.pop()
            if isinstance(node, dict):
                base = self._enter(node, base)
            children = node.values() if isinstance(node, dict) else node if isinstance(node, list) else ()
            pending.extend((child, base) for child in children)

    def target(self, node: JsonObject, reference: str) -> JsonValue:
        """Return what a reference in a subschema leads to; True, which everything matches, if not into the document."""
        name, _, fragment = _joined(self._base_of.get(id(node), ""), reference).partition("#")
        if fragment and not fragment.startswith("/"):
            return self._named.get(f"{name}#{fragment}", True)
        found = self._named.get(name, True)
        for step in unquote(fragment).split("/")[1:]:
            key = step.replace("~1", "/").replace("~0", "~")
            if isinstance(found, dict) and key in found:
                found = found[key]
            elif isinstance(found, list) and key.isdecimal() and int(key) < len(found):
                found = found[int(key)]
            else:
                return True
        return found

    def _enter(self, node: JsonObject, base: str) -> str:
        """Record how a subschema may be referred to, and return the address that references inside it start from."""
        if isinstance(name := node.get(self._identifier), str):
            address = _joined(base, name)
            # Up to draft 7 a name that is a fragment alone is an anchor.
            if not name.startswith("#"):
                address = base = address.partition("#")[0]
            self._named.setdefault(address, node)
        for key in _ANCHORS:
            if isinstance(anchor := node.get(key), str):
                self._named.setdefault(f"{base}#{anchor}", node)
        self._base_of[id(node)] = base
        return base


def _joined(base: str, reference: str) -> str:
    # `urljoin` knows no `urn:`.
    if reference.startswith("#"):
        return f"{base}{reference}"
    try:
        return urljoin(base, reference)
    except ValueError:
        # No address, such as `http://[`; what looks like a name may as well be data.
        return reference
