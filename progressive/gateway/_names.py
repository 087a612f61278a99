"""Names of mounted tools."""

from __future__ import annotations

import hashlib
import re
from collections import Counter
from collections.abc import Iterable

__all__ = ["exposed_names", "name_prefix"]

_CHARS_MAX = 64
_HASH_CHARS = 8
_UNUSABLE = re.compile(r"[^A-Za-z0-9_-]")


def name_prefix(server: str) -> str:
    """Return what the names of all tools of a server begin with."""
    return f"mcp__{server}__"


def exposed_names(server: str, tools: Iterable[str]) -> dict[str, str]:
    """Return the name that each tool of a server is registered under: `mcp__<server>__<tool>`.

    Characters that providers refuse become `_`. A name over 64 characters, and every one of several that would come out
    the same, ends with a hash of the original instead. The order of the tools makes no difference.
    """
    originals = sorted(set(tools))
    plain = {tool: f"{name_prefix(server)}{_UNUSABLE.sub('_', tool)}" for tool in originals}
    hashed = {tool for tool, name in plain.items() if len(name) > _CHARS_MAX}
    while True:
        names = {tool: _with_hash(name, server, tool) if tool in hashed else name for tool, name in plain.items()}
        times = Counter(names.values())
        shared = {tool for tool, name in names.items() if times[name] > 1} - hashed
        if not shared:
            return names
        # A hash may itself be the plain name of another tool, so look again.
        hashed |= shared


def _with_hash(name: str, server: str, tool: str) -> str:
    digest = hashlib.sha256(f"{name_prefix(server)}{tool}".encode("utf-8", "surrogatepass")).hexdigest()[:_HASH_CHARS]
    return f"{name[: _CHARS_MAX - _HASH_CHARS - 1]}_{digest}"
