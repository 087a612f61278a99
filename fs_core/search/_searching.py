"""The contents of files are read and searched, several at once."""

import threading
from collections.abc import Sequence
from contextlib import suppress
from typing import Final

import anyio
from anyio import to_thread

from fs_core.errors import FsError, TooLarge, Unavailable
from fs_core.protocol import Backend
from fs_core.search._gathering import Outcome
from fs_core.search.lines import LineScanner, LineSearch, Room, search_whole
from fs_core.search.outcomes import SkipReason
from fs_core.search.pattern import LinePattern
from fs_core.types import Target

__all__ = ["FileSearch", "SearchEnded"]

WHOLE_BYTES_MAX: Final = 1 << 20
"""Files up to this size are read many at once, and held as a whole."""

SCANS_AT_ONCE_MAX: Final = 2
"""So many larger files are searched at once, each of which takes memory for its longest line."""

RANGE_BYTES: Final = 8 << 20
"""Of a file whose pieces are not searched where they arrive, so much is read at a time."""


class SearchEnded(Exception):
    """Raised within what searches a file when nobody waits for the result any more."""


class _Known(Exception):
    """Raised to end a scan whose result is known."""


class _OnEventLoop(Exception):
    """Raised to end a scan that would keep an event loop from its other work."""


class FileSearch:
    """Searches files of one backend for the lines of one pattern, within `room`. Made on the event loop."""

    def __init__(
        self,
        backend: Backend,
        pattern: LinePattern,
        *,
        context: int,
        line_chars_max: int,
        file_bytes_max: int,
        room: Room,
    ) -> None:
        self._backend = backend
        self._search = LineSearch(pattern, context=context, line_chars_max=line_chars_max, check=self._check)
        self._file_bytes_max = file_bytes_max
        self._room = room
        self._scans = anyio.CapacityLimiter(SCANS_AT_ONCE_MAX)
        self._event_loop_thread = threading.get_ident()
        self._has_ended = False

    def end(self) -> None:
        """Have every search end at its next step."""
        self._has_ended = True

    async def outcomes(self, files: Sequence[Target]) -> Sequence[Outcome | FsError]:
        """Return what each of some files has; what concerns one file alone is told of that file.

        Raises:
            Unavailable: the store cannot be asked.
            SearchEnded: `end` was called.
        """
        outcomes: list[Outcome | FsError] = [None] * len(files)
        held: list[tuple[int, bytes]] = []
        search, room = self._search, self._room
        brief_bytes = search.pattern.brief_bytes

        def sink(index: int, data: bytes) -> None:
            if self._has_ended:
                raise SearchEnded
            if len(data) > brief_bytes and self._is_on_event_loop():
                held.append((index, data))
            else:
                outcomes[index] = search_whole(data, search, room)

        def search_held() -> None:
            for index, data in held:
                self._check()
                outcomes[index] = search_whole(data, search, room)

        size_bytes_max = min(WHOLE_BYTES_MAX, self._file_bytes_max)
        refusals = await self._backend.read_many(files, sink, size_bytes_max=size_bytes_max)
        if held:
            await to_thread.run_sync(search_held)
        if any(refusals):
            for index, refusal in enumerate(refusals):
                if refusal is not None:
                    is_large = isinstance(refusal, TooLarge)
                    outcomes[index] = await self._large(files[index]) if is_large else refusal
        return outcomes

    def _check(self) -> None:
        if self._has_ended:
            raise SearchEnded

    def _is_on_event_loop(self) -> bool:
        return threading.get_ident() == self._event_loop_thread

    async def _large(self, file: Target) -> Outcome | FsError:
        """Return what a file has that is not held as a whole."""
        try:
            info = await self._backend.stat(file)
            if info is not None and (info.size_bytes or 0) > self._file_bytes_max:
                return SkipReason.TOO_LARGE
            async with self._scans:
                try:
                    return await self._scanned(file)
                except _OnEventLoop:
                    return await self._scanned_in_thread(file)
        except Unavailable:
            raise
        except FsError as error:
            return error

    async def _scanned(self, file: Target) -> Outcome:
        scanner = LineScanner(self._search, self._room)

        def sink(piece: bytes | bytearray) -> None:
            if len(piece) > self._search.pattern.brief_bytes and self._is_on_event_loop():
                raise _OnEventLoop
            if not scanner.feed(piece):
                raise _Known

        with suppress(_Known):
            await self._backend.scan(file, sink)
        return await to_thread.run_sync(scanner.finish)

    async def _scanned_in_thread(self, file: Target) -> Outcome:
        scanner = LineScanner(self._search, self._room)
        snapshot = await self._backend.read(file, limit=RANGE_BYTES)
        while await to_thread.run_sync(scanner.feed, snapshot.data):
            position = snapshot.offset + len(snapshot.data)
            if position >= snapshot.size_bytes:
                break
            snapshot = await self._backend.read(file, offset=position, limit=RANGE_BYTES, pinned=snapshot.version)
        return await to_thread.run_sync(scanner.finish)
