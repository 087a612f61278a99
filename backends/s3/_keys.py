"""Paths to object keys and back, without a store. A key is used exactly as it is; two keys never become one path."""

import re
from dataclasses import dataclass
from typing import Final

from fs_core.errors import FsError, InvalidPath, Operation
from fs_core.paths import Root, display, parse_path
from fs_core.types import Target, TargetKey

__all__ = ["KEY_BYTES_MAX", "Location", "parse_location"]

KEY_BYTES_MAX: Final = 1024
"""Longest key in UTF-8 (Amazon S3 User Guide, "Naming Amazon S3 objects")."""

_SCHEME: Final = "s3://"

_SUSPECT: Final = re.compile(r"[\0:\\\ud800-\udfff]|/(?:\.{0,2}(?:/|\Z)|\.seamfs-|\s*\Z)")
"""Finds all that `parse_path` refuses or changes, and more, behind a `/`. It is asked about every key of a bucket."""


@dataclass(frozen=True, slots=True)
class Location:
    """A bucket and a prefix in it, without slashes at its ends; an empty prefix is the whole bucket."""

    bucket: str
    prefix: str

    @property
    def url(self) -> str:
        """The root as people write it."""
        return f"{_SCHEME}{self.bucket}/{self.prefix}" if self.prefix else f"{_SCHEME}{self.bucket}"

    @property
    def root(self) -> Root:
        """The root of a workspace here."""
        return Root(url=self.url, prefixes=(self.url,))

    def target(self, names: tuple[str, ...]) -> Target:
        """Return the identity of the object that `names` below the root call.

        Raises:
            InvalidPath: the key would be longer than a store allows.
        """
        key = "/".join((self.prefix, *names) if self.prefix else names)
        size_bytes = len(key.encode())
        if size_bytes > KEY_BYTES_MAX:
            reason = f"the object key would have {size_bytes} bytes, S3 allows {KEY_BYTES_MAX}; use a shorter path"
            raise InvalidPath(reason, path=display(names), operation="resolve")
        return Target(key=TargetKey(f"{_SCHEME}{self.bucket}/{key}"), display_path=display(names))

    def key(self, target: Target) -> str:
        """Return the object key of a target made here."""
        return target.key.removeprefix(f"{_SCHEME}{self.bucket}/")

    def is_root(self, key: str) -> bool:
        """Tell whether `key` is the root, which is always a directory."""
        return key == self.prefix

    def below(self, key: str) -> str:
        """Return the prefix that all keys of the directory `key` have."""
        return f"{key}/" if key else ""

    def parents(self, key: str) -> tuple[str, ...]:
        """Return the keys of the directories between `key` and the root, deepest first."""
        start = len(self.below(self.prefix))
        names = key[start:].split("/")
        return tuple(key[:start] + "/".join(names[:depth]) for depth in range(len(names) - 1, 0, -1))

    def display(self, key: str) -> str:
        """Return the display path of `key`."""
        return key[len(self.below(self.prefix)) :] or "."

    def is_addressable(self, directory: Target, name: str) -> bool:
        """Tell whether some path names exactly the object `name`, a name or several with `/`, in `directory`."""
        if ":" not in directory.display_path and _SUSPECT.search(f"/{name}") is None:
            return True
        parent = () if self.is_root(self.key(directory)) else tuple(directory.display_path.split("/"))
        try:
            return parse_path("/".join((*parent, name)), self.root).names == (*parent, *name.split("/"))
        except FsError:
            return False


def parse_location(url: str) -> Location:
    """Return the bucket and prefix of `s3://bucket/prefix`; nothing in it is decoded, `#` and `?` are plain.

    Raises:
        InvalidPath: not such a URL, credentials in it, or a prefix that no path can continue.
    """
    operation: Operation = "open"
    bucket, _, rest = url.removeprefix(_SCHEME).partition("/")
    if "@" in bucket:
        reason = "credentials do not belong in the URL; use the AWS credential chain or the settings"
        raise InvalidPath(reason, path=f"{_SCHEME}{bucket.rpartition('@')[2]}", operation=operation)
    if not url.startswith(_SCHEME) or not bucket:
        raise InvalidPath("not an S3 root; write s3://bucket or s3://bucket/prefix", path=url, operation=operation)
    prefix = rest.removesuffix("/")
    if prefix and any(name in {"", ".", ".."} for name in prefix.split("/")):
        reason = "a prefix cannot have an empty name, `.` or `..` in it; no path could continue it"
        raise InvalidPath(reason, path=url, operation=operation)
    return Location(bucket=bucket, prefix=prefix)
