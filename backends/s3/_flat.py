"""All files below a directory, as a store lists keys: at any depth, a page at a time."""

from collections.abc import Sequence
from typing import Final

from backends.s3._client import S3Client
from backends.s3._errors import Failure, RequestFailed
from backends.s3._keys import Location
from backends.s3._objects import ListAnswer, ListedObject
from backends.s3._order import is_in_order, known_orders
from backends.s3._pages import BARREN_PAGES_MAX, PAGE_KEYS_MAX, Position, next_position
from fs_core.errors import Unsupported
from fs_core.paths import is_staged_name
from fs_core.types import Below, Entry, FileKind, Target

__all__ = ["FlatListing"]

_LAST_CHARACTER: Final = "\U0010ffff"


class FlatListing:
    """The keys below one directory, or those of them that stand behind all below the directory `after` in it.

    The latter begins behind the last key that can be below `after`. Stores order keys by their bytes, or by those of
    one component after the other; in both, what is below a directory stands together.
    """

    def __init__(self, client: S3Client, location: Location, directory: Target, *, after: str | None) -> None:
        self._client = client
        self._location = location
        self._directory = directory
        self._base = location.below(location.key(directory))
        self._after = after

    async def part(self, resume: str | None) -> Below | None:
        """Return the next page on which anything is that was asked for; `None` if the whole listing has nothing.

        Raises:
            RequestFailed: the store did not list, or lists without an end.
            Unsupported: the store does not begin behind a key.
        """
        position = Position.loads(resume) if resume is not None and self._after is None else None
        for _ in range(BARREN_PAGES_MAX + 1):
            page = await self._page(position)
            contents = page.get("Contents", [])
            keys = [item.get("Key", "") for item in contents]
            last = position.last if position is not None else ""
            self._learn_order(page, keys, last=last)
            if position is None and self._after is not None:
                self._require_behind(self._after, keys)
            asked = [item for item, key in zip(contents, keys, strict=True) if self._is_asked(key, last=last)]
            position = next_position(page, keys, before=position)
            if asked or (position is None and (resume, self._after) != (None, None)):
                return self._below(asked, position)
            if position is None:
                return None
        raise RequestFailed(Failure.ENDLESS)

    async def _page(self, position: Position | None) -> ListAnswer:
        behind = None
        if position is None and self._after is not None:
            behind = f"{self._base}{self._after}/{_LAST_CHARACTER}"
        token = position.token if position is not None else None
        return await self._client.list_page(self._base, size=PAGE_KEYS_MAX, token=token, behind=behind)

    def _learn_order(self, page: ListAnswer, keys: Sequence[str], *, last: str) -> None:
        store = (self._client.endpoint, self._location.bucket)
        known_orders.put(store, known_orders.get(store) is not False and is_in_order(page, keys, last=last))

    def _require_behind(self, after: str, keys: Sequence[str]) -> None:
        """Refuse to go on with a store that takes no notice of where to begin: its answer would begin anew for ever."""
        behind = f"{self._base}{after}/"
        first = next((key for key in keys if key.startswith(self._base)), behind)
        if first < behind and first.split("/") < behind.split("/"):
            reason = "the store does not begin a listing behind a name; list one directory at a time"
            raise Unsupported(reason, path=self._directory.display_path, operation="list")

    def _is_asked(self, key: str, *, last: str) -> bool:
        """Tell whether a key is below the directory, is not the one told last, and is not passed over."""
        is_passed_over = self._after is not None and key.startswith(f"{self._base}{self._after}/")
        return key.startswith(self._base) and key != last and not is_passed_over

    def _below(self, asked: Sequence[ListedObject], position: Position | None) -> Below:
        """Return the files among the keys; a key that a store tells twice is one."""
        files: dict[str, int] = {}
        others: dict[str, Entry] = {}
        start = len(self._base)
        for item in asked:
            path, size_bytes = item.get("Key", "")[start:], item.get("Size")
            if size_bytes is None:
                raise RequestFailed(Failure.OTHER, code="NoSize")
            if self._location.is_addressable(self._directory, path):
                files[path] = size_bytes
            elif not self._is_hidden(path, size_bytes):
                name = path or "/"
                others[name] = Entry(name=name, kind=FileKind.FILE, size_bytes=size_bytes, addressable=False)
        return Below(
            files=list(files),
            sizes=list(files.values()),
            others=list(others.values()),
            resume=position.dumps() if position is not None else None,
        )

    def _is_hidden(self, path: str, size_bytes: int) -> bool:
        """Tell whether a key that no path names is an unfinished write, or the marker of a directory."""
        parent, _, name = path.rpartition("/")
        if name or size_bytes:
            return is_staged_name(name) and self._names_directory(parent)
        return self._names_directory(parent)

    def _names_directory(self, path: str) -> bool:
        return not path or self._location.is_addressable(self._directory, path)
