"""Which version of a file fsspec's metadata tells of. Pure."""

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass
from enum import Enum, auto
from typing import Final

from fs_core.types import Digest, Version

__all__ = ["Evidence", "Stamp", "stamp"]

_CONTENT_FIELDS: Final = (
    *("ETag", "etag", "e_tag", "Content-MD5", "content_md5", "Digest", "checksum", "md5", "md5Hash", "crc32c", "CRC"),
    *("sha", "sha256", "hex", "oid", "blob_id", "generation", "version_id", "VersionId", "rev", "content_hash"),
)
"""Fields whose value follows the content: ETag (http, abfs), sha (github), hex (git), CRC (zip), generation (gs)."""

_TIME_FIELDS: Final = (
    *("Last-Modified", "LastModified", "last_modified", "mtime", "modified", "modify", "updated", "lastModified"),
    *("modificationTime", "last_write_time", "created", "ino", "date_time"),
)
"""Fields that move when a file is replaced, as fast as some clock ticks."""


class Evidence(Enum):
    """How much a token proves."""

    CONTENT = auto()
    TIME = auto()
    NONE = auto()


@dataclass(frozen=True, slots=True)
class Stamp:
    """The token of one look at a file, and what an equal token is worth."""

    token: str
    evidence: Evidence

    def version(self, digest: Digest | None = None) -> Version:
        """Return the version, of a whole read if `digest` is known; without other evidence the content is the token."""
        token = f"digest:{digest}" if self.evidence is Evidence.NONE and digest is not None else self.token
        return Version(token=token, digest=digest, settled=self.evidence is Evidence.CONTENT)


def stamp(info: Mapping[str, object]) -> Stamp:
    """Return the stamp of what `info` tells.

    fsspec's own `ukey` is of no use here: for http and archives it is a constant of the path.
    """
    content = _present(info, _CONTENT_FIELDS)
    times = _present(info, _TIME_FIELDS)
    size = f"size={info.get('size')}"
    if content:
        is_weak = all(text.split("=", 1)[1].startswith("W/") for text in content)
        evidence = Evidence.TIME if is_weak else Evidence.CONTENT
        return Stamp(_token([size, *content]), evidence)
    if times:
        return Stamp(_token([size, *times]), Evidence.TIME)
    return Stamp(size, Evidence.NONE)


def _present(info: Mapping[str, object], fields: tuple[str, ...]) -> list[str]:
    return [f"{name}={value}" for name in fields if (value := info.get(name)) is not None and value != ""]


def _token(parts: list[str]) -> str:
    """Return a token of bounded length, whatever a server puts into its fields."""
    return hashlib.blake2b("\n".join(parts).encode(errors="surrogatepass"), digest_size=16).hexdigest()
