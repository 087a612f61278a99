"""One level of a bucket as a directory."""

from collections.abc import Iterator
from typing import Final

from backends.s3._client import S3Client
from backends.s3._keys import Location
from backends.s3._objects import ListAnswer
from fs_core.paths import is_staged_name
from fs_core.types import Entry, FileKind, Listing, Target

__all__ = ["list_directory"]

_PAGE_KEYS_MAX: Final = 1000
_PAGES_SPARE: Final = 16
"""Pages beyond those that `limit` needs, for hidden names; a store that sends ever more of nothing is cut off."""


async def list_directory(client: S3Client, location: Location, target: Target, *, limit: int) -> Listing | None:
    """Return up to `limit` entries of the directory `target`, sorted by name; `None` when no key is in it.

    The store orders keys by their bytes, in which `a-b` stands before `a/`. So a listing that is cut short holds
    the first names of that order, and says that it is not complete.
    """
    base = location.below(location.key(target))
    entries: list[Entry] = []
    is_anything, is_cut, token = False, False, None
    for _ in range(limit // _PAGE_KEYS_MAX + _PAGES_SPARE):
        size = min(_PAGE_KEYS_MAX, limit + 1)
        page = await client.list_page(base, size=size, delimiter="/", token=token)
        is_anything = is_anything or bool(page.get("Contents") or page.get("CommonPrefixes"))
        entries.extend(_entries(page, base=base, location=location, target=target))
        is_cut, token = page.get("IsTruncated", False), page.get("NextContinuationToken")
        if not is_cut or token is None or len(entries) > limit:
            break
    if not is_anything:
        return None
    is_complete = not is_cut and len(entries) <= limit
    entries.sort(key=lambda entry: (entry.name, entry.kind))
    return Listing(entries=tuple(entries[:limit]), is_complete=is_complete)


def _entries(page: ListAnswer, *, base: str, location: Location, target: Target) -> Iterator[Entry]:
    for folded in page.get("CommonPrefixes", []):
        # `a//b` folds to `a//` in the directory `a/`: a name that is empty, shown as the `/` it consists of.
        prefix = folded.get("Prefix", "")
        if prefix.startswith(base):
            name = prefix[len(base) : -1] or "/"
            yield Entry(name=name, kind=FileKind.DIRECTORY, addressable=location.is_addressable(target, name))
    for item in page.get("Contents", []):
        key, size_bytes = item.get("Key", ""), item.get("Size")
        name = key[len(base) :]
        if not key.startswith(base) or is_staged_name(name) or (not name and not size_bytes):
            continue  # not asked for, unfinished, or the marker that makes an empty directory
        yield Entry(
            name=name or "/",
            kind=FileKind.FILE,
            size_bytes=size_bytes,
            addressable=location.is_addressable(target, name),
        )
