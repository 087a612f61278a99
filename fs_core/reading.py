"""Pages of files: the first read of a version scans it, later ones read only what they show."""

from dataclasses import dataclass
from typing import Final

from fs_core.contents import ContentCollector, SeenContents
from fs_core.errors import StaleVersion
from fs_core.lineindex import Indexed, LineIndexes
from fs_core.page import Page, PageReader, TextScanner, Window
from fs_core.protocol import Backend, Sink
from fs_core.text import NotTextFinding
from fs_core.types import FileInfo, Target, Version

__all__ = ["ATTEMPTS_MAX", "PageSource", "Seen"]

ATTEMPTS_MAX: Final = 4
"""How often an operation starts again because the file changed under it, before it is refused as stale."""


@dataclass(frozen=True, slots=True)
class Seen:
    """What a read saw: the page, or what makes the file no text; and of which version, with its digest."""

    result: Page | NotTextFinding
    version: Version
    size_bytes: int


class PageSource:
    """Reads pages from one backend. Keeps line indexes, and the contents of small files in `contents`.

    Errors are those of `Backend.scan`.
    """

    def __init__(self, backend: Backend, *, contents: SeenContents) -> None:
        self._backend = backend
        self._contents = contents
        self._indexes = LineIndexes()

    async def read(self, target: Target, window: Window) -> Seen:
        """Return the lines of `window`; of a window past the end, a page without lines."""
        indexed = self._indexes.get(target.key)
        if indexed is not None:
            page = await self._indexed_page(target, indexed, window)
            if page is not None:
                return Seen(page, indexed.version, indexed.lines.size_bytes)
            self._indexes.drop(target.key, indexed.version)
        return await self._scan(target, window)

    async def _indexed_page(self, target: Target, indexed: Indexed, window: Window) -> Page | None:
        """Return the page by ranged reads of the indexed version; `None` if the file has another one by now."""
        reader = PageReader(indexed.lines, window)
        if reader.wanted is None and not _has_version(await self._backend.stat(target), indexed.version):
            return None
        try:
            while (span := reader.wanted) is not None:
                snapshot = await self._backend.read(
                    target, offset=span.offset, limit=span.limit, pinned=indexed.version
                )
                reader.feed(snapshot.data)
        except (StaleVersion, ValueError):
            return None
        return reader.page()

    async def _scan(self, target: Target, window: Window) -> Seen:
        for attempt in range(ATTEMPTS_MAX):
            scanner, content = TextScanner(window), ContentCollector()
            try:
                scanned = await self._backend.scan(target, _both(scanner.feed, content.add))
            except StaleVersion:
                if attempt == ATTEMPTS_MAX - 1:
                    raise
                continue
            if content.data is not None:
                self._contents.put(scanned.version.digest, content.data)
            result = scanner.finish()
            if isinstance(result, Page):
                self._indexes.put(target.key, scanned.version, scanner.lines)
            return Seen(result, scanned.version, scanned.size_bytes)
        raise AssertionError("the loop returns or raises")


def _has_version(info: FileInfo | None, version: Version) -> bool:
    return info is not None and info.version is not None and version.same_content(info.version) is True


def _both(first: Sink, second: Sink) -> Sink:
    def feed(data: bytes | bytearray) -> None:
        first(data)
        second(data)

    return feed
