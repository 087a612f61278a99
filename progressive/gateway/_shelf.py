"""The tools of one server in the runtime, kept as its list says."""

from __future__ import annotations

import logging
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from progressive.gateway._definitions import definition_of, fingerprint
from progressive.gateway._listing import Listing
from progressive.gateway._names import exposed_names
from progressive.gateway._pace import Breather
from progressive.gateway._text import one_line
from progressive.gateway._tools import ToolMaker
from progressive.gateway.options import GatewayOptions
from tool_runtime import Disposer, DuplicateNameError, JsonObject, Runtime, Tool

__all__ = ["Shelf"]

logger = logging.getLogger(__name__)

_LINE_CHARS_MAX = 200
_UNUSABLE_TOLD_MAX = 10


@dataclass(frozen=True, slots=True)
class _Entry:
    origin: str
    print: bytes
    tool: Tool[Any]
    dispose: Disposer


class Shelf:
    """Registers, replaces and unregisters; a tool whose definition did not change stays the same object."""

    def __init__(self, runtime: Runtime, server: str, maker: ToolMaker, options: GatewayOptions) -> None:
        self._runtime = runtime
        self._server = server
        self._maker = maker
        self._options = options
        self._entries: dict[str, _Entry] = {}
        self._refused: dict[str, bytes] = {}
        self._unusable: dict[str, str] = {}
        self._logged: set[str] = set()
        self.skipped = 0
        self.left_out: tuple[str, ...] = ()

    def __len__(self) -> int:
        return len(self._entries)

    async def arrange(self, listing: Listing) -> None:
        """Bring the runtime in line with a list, with pauses that let others work."""
        breather = Breather()
        raws: dict[str, JsonObject] = {}
        doubles = nameless = 0
        for raw in listing.tools:
            if not isinstance(raw, dict) or not isinstance(name := raw.get("name"), str) or not name:
                nameless += 1
            elif name in raws:
                # Of several with one name the first counts: there is no telling them apart in a call.
                doubles += 1
            else:
                raws[name] = raw
            await breather.breathe()
        names = exposed_names(self._server, raws)
        await breather.breathe()
        self._forget(names)
        for origin, raw in raws.items():
            self._put(names[origin], origin, raw)
            await breather.breathe()
        self.skipped = len(listing.tools) - len(self._entries) + listing.unread
        self.left_out = (*listing.cuts, *_counted(doubles, nameless), *self._told_unusable())

    def clear(self) -> None:
        """Unregister everything."""
        for entry in self._entries.values():
            entry.dispose()
        self._entries.clear()
        self.skipped = 0
        self.left_out = ()

    def _forget(self, names: Mapping[str, str]) -> None:
        for name, entry in list(self._entries.items()):
            if names.get(entry.origin) != name:
                self._remove(name)
        self._refused = {origin: print_ for origin, print_ in self._refused.items() if origin in names}
        self._unusable = {origin: line for origin, line in self._unusable.items() if origin in names}

    def _put(self, name: str, origin: str, raw: JsonObject) -> None:
        print_ = b""
        entry = self._entries.get(name)
        try:
            print_ = fingerprint(raw)
            if (entry is not None and entry.print == print_) or self._refused.get(origin) == print_:
                return
            tool = self._maker.tool(name, definition_of(raw, self._options))
        except ValueError as error:
            # Such a definition stays as bad as it is, so it is not looked at again.
            self._refused[origin] = print_
            self._remove(name)
            self._leave_out(origin, error)
            return
        self._refused.pop(origin, None)
        self._unusable.pop(origin, None)
        self._remove(name)
        try:
            dispose = self._runtime.register(tool)
        except DuplicateNameError as error:
            self._leave_out(origin, error)
            return
        self._entries[name] = _Entry(origin, print_, tool, dispose)

    def _remove(self, name: str) -> None:
        entry = self._entries.pop(name, None)
        if entry is not None:
            entry.dispose()

    def _leave_out(self, origin: str, error: ValueError) -> None:
        name, why = one_line(origin, _LINE_CHARS_MAX), one_line(str(error), _LINE_CHARS_MAX)
        self._unusable[origin] = f"{name!r}: {why}"
        if origin not in self._logged and len(self._logged) < self._options.tools_max:
            self._logged.add(origin)
            logger.warning("mount %s: tool %r is left out: %s", self._server, name, why)

    def _told_unusable(self) -> list[str]:
        lines = list(self._unusable.values())
        more = len(lines) - _UNUSABLE_TOLD_MAX
        return [*lines[:_UNUSABLE_TOLD_MAX], *([f"{more:,} more that cannot be used"] if more > 0 else [])]


def _counted(doubles: int, nameless: int) -> Iterator[str]:
    if doubles:
        yield f"{doubles:,} with a name that is listed before"
    if nameless:
        yield f"{nameless:,} without a usable name"
