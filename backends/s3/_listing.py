"""One level of a bucket as a directory."""

from collections.abc import Iterator

from backends.s3._client import S3Client
from backends.s3._errors import Failure, RequestFailed
from backends.s3._keys import Location
from backends.s3._objects import ListAnswer
from backends.s3._pages import BARREN_PAGES_MAX, PAGE_KEYS_MAX, next_position
from fs_core.paths import is_staged_name
from fs_core.types import Entry, FileKind, Listing, Target

__all__ = ["list_directory"]


async def list_directory(client: S3Client, location: Location, target: Target, *, limit: int) -> Listing | None:
    """Return up to `limit` entries of the directory `target`, sorted by name; `None` when no key is in it.

    The store orders keys by their bytes, in which `a-b` stands before `a/`. So a listing that is cut short holds
    the first names of that order, and says that it is not complete. So does one that a store does not bring to its end.

    Raises:
        RequestFailed: the store did not list, or tells of more pages without end and of no name.
    """
    base = location.below(location.key(target))
    size = min(PAGE_KEYS_MAX, limit + 1)
    entries: dict[str, Entry] = {}
    is_anything, position, barren_pages = False, None, 0
    while len(entries) <= limit and barren_pages <= BARREN_PAGES_MAX:
        page = await client.list_page(base, size=size, delimiter="/", token=position.token if position else None)
        before, names = len(entries), _names(page)
        # A name that a store tells twice is one.
        entries |= _entries(page, base=base, location=location, target=target)
        is_anything = is_anything or any(name.startswith(base) for name in names)
        try:
            position = next_position(page, names, before=position)
        except RequestFailed:
            break
        if position is None:
            return _listing(entries, limit=limit, is_complete=len(entries) <= limit) if is_anything else None
        barren_pages = barren_pages + 1 if len(entries) == before else 0
    if not entries:
        raise RequestFailed(Failure.ENDLESS)
    return _listing(entries, limit=limit, is_complete=False)


def _listing(entries: dict[str, Entry], *, limit: int, is_complete: bool) -> Listing:
    first = [entries[key] for key in sorted(entries)[:limit]]
    first.sort(key=lambda entry: (entry.name, entry.kind))
    return Listing(entries=tuple(first), is_complete=is_complete)


def _names(page: ListAnswer) -> list[str]:
    folded = [item.get("Prefix", "") for item in page.get("CommonPrefixes", [])]
    return folded + [item.get("Key", "") for item in page.get("Contents", [])]


def _entries(page: ListAnswer, *, base: str, location: Location, target: Target) -> Iterator[tuple[str, Entry]]:
    """Yield each key, or common prefix of keys, with the name it has in the directory."""
    for folded in page.get("CommonPrefixes", []):
        # `a//b` folds to `a//` in the directory `a/`: a name that is empty, shown as the `/` it consists of.
        prefix = folded.get("Prefix", "")
        if prefix.startswith(base) and prefix != base:
            name = prefix[len(base) : -1] or "/"
            is_addressable = location.is_addressable(target, name)
            yield prefix, Entry(name=name, kind=FileKind.DIRECTORY, addressable=is_addressable)
    for item in page.get("Contents", []):
        key, size_bytes = item.get("Key", ""), item.get("Size")
        name = key[len(base) :]
        if not key.startswith(base) or is_staged_name(name) or (not name and not size_bytes):
            continue  # not asked for, unfinished, or the marker that makes an empty directory
        is_addressable = location.is_addressable(target, name)
        yield key, Entry(name=name or "/", kind=FileKind.FILE, size_bytes=size_bytes, addressable=is_addressable)
