"""The tools of one server in the runtime, kept as its list says."""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from pydantic import JsonValue

from progressive.gateway._definitions import definition_of, fingerprint
from progressive.gateway._names import exposed_names
from progressive.gateway._pace import Breather
from progressive.gateway._text import one_line
from progressive.gateway._tools import ToolMaker
from progressive.gateway.options import GatewayOptions
from tool_runtime import Disposer, DuplicateNameError, JsonObject, Runtime, Tool

__all__ = ["Shelf"]

logger = logging.getLogger(__name__)

_LOGGED_CHARS_MAX = 200


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
        self._logged: set[str] = set()
        self.skipped = 0

    def __len__(self) -> int:
        return len(self._entries)

    async def arrange(self, listed: Sequence[JsonValue], *, unread: int) -> None:
        """Bring the runtime in line with a list, with pauses that let others work.

        Args:
            listed: The definitions as they came.
            unread: How many more there are that were not taken.
        """
        breather = Breather()
        raws: dict[str, JsonObject] = {}
        for raw in listed:
            if isinstance(raw, dict) and isinstance(name := raw.get("name"), str) and name:
                # Of several with one name the first counts: there is no telling them apart in a call.
                raws.setdefault(name, raw)
            await breather.breathe()
        names = exposed_names(self._server, raws)
        await breather.breathe()
        self._forget(names)
        for origin, raw in raws.items():
            self._put(names[origin], origin, raw)
            await breather.breathe()
        self.skipped = len(listed) - len(self._entries) + unread

    def clear(self) -> None:
        """Unregister everything."""
        for entry in self._entries.values():
            entry.dispose()
        self._entries.clear()
        self.skipped = 0

    def _forget(self, names: Mapping[str, str]) -> None:
        for name, entry in list(self._entries.items()):
            if names.get(entry.origin) != name:
                self._remove(name)
        self._refused = {origin: print_ for origin, print_ in self._refused.items() if origin in names}

    def _put(self, name: str, origin: str, raw: JsonObject) -> None:
        print_ = fingerprint(raw)
        entry = self._entries.get(name)
        if (entry is not None and entry.print == print_) or self._refused.get(origin) == print_:
            return
        try:
            tool = self._maker.tool(name, definition_of(raw, self._options))
        except ValueError as error:
            # Such a definition stays as bad as it is, so it is not looked at again.
            self._refused[origin] = print_
            self._remove(name)
            self._log_once(origin, error)
            return
        self._refused.pop(origin, None)
        self._remove(name)
        try:
            dispose = self._runtime.register(tool)
        except DuplicateNameError as error:
            self._log_once(origin, error)
            return
        self._entries[name] = _Entry(origin, print_, tool, dispose)

    def _remove(self, name: str) -> None:
        entry = self._entries.pop(name, None)
        if entry is not None:
            entry.dispose()

    def _log_once(self, origin: str, error: ValueError) -> None:
        if origin in self._logged or len(self._logged) >= self._options.tools_max:
            return
        self._logged.add(origin)
        logger.warning(
            "mount %s: tool %r is left out: %s",
            self._server,
            one_line(origin, _LOGGED_CHARS_MAX),
            one_line(str(error), _LOGGED_CHARS_MAX),
        )
