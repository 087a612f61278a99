"""Values of the seam: what a file is called, which version it has, what a write may assume. No I/O."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import NewType

__all__ = [
    "Always",
    "Below",
    "Digest",
    "Entry",
    "FileInfo",
    "FileKind",
    "IfAbsent",
    "IfVersion",
    "Level",
    "Listing",
    "Note",
    "NoteKind",
    "Snapshot",
    "Target",
    "TargetKey",
    "Version",
    "WriteCondition",
    "WriteReceipt",
]

TargetKey = NewType("TargetKey", str)
"""Identity of one file, made by a backend and opaque to everyone else."""

Digest = NewType("Digest", str)
"""Digest of a whole file's bytes, see `fs_core.digest`."""


class FileKind(StrEnum):
    """What stands at a path. Everything that is neither a regular file nor a directory is `OTHER`."""

    FILE = "file"
    DIRECTORY = "directory"
    OTHER = "other"


@dataclass(frozen=True, slots=True)
class Target:
    """One file of a workspace, existing or not.

    Every spelling of one file (`./a`, `b/../a`, a symbolic link to it) resolves to the same `key`.
    `display_path` is relative to the root, `/`-separated and the same on every backend; the root itself is `.`.
    """

    key: TargetKey
    display_path: str


@dataclass(frozen=True, slots=True)
class Version:
    """Which content a file had.

    `token` is made by the backend from metadata (an ETag; device, inode, size and times) and is what `==` compares.
    `digest` is known when the whole content passed by. `settled` is false when an equal token does not prove equal
    content, because the file was modified within the clock granularity of the observation.
    """

    token: str
    digest: Digest | None = field(default=None, compare=False)
    settled: bool = field(default=True, compare=False)

    def same_content(self, later: "Version") -> bool | None:
        """Tell whether `later`, observed after `self`, is the same content; `None` when only a read can tell.

        Content is the evidence: digests decide where both are known, so that `touch` or a rewrite with the same
        bytes is no change and a same-size rewrite with a restored time is one.
        """
        if self.digest is not None and later.digest is not None:
            return self.digest == later.digest
        if self.token == later.token and self.settled:
            return True
        return None


@dataclass(frozen=True, slots=True)
class FileInfo:
    """Fresh metadata of something that exists. `size_bytes` is `None` when unknown, `version` when not a file."""

    kind: FileKind
    size_bytes: int | None = None
    version: Version | None = None


@dataclass(frozen=True, slots=True)
class Snapshot:
    """Bytes of one version: `data` starts at `offset` of a file that is `size_bytes` long in that version."""

    data: bytes
    offset: int
    size_bytes: int
    version: Version

    @property
    def is_whole(self) -> bool:
        """Whether `data` is the entire file."""
        return self.offset == 0 and len(self.data) == self.size_bytes


@dataclass(frozen=True, slots=True)
class Entry:
    """One name in a directory. `addressable` is false for a name that no path can express (an S3 key `a//b`).

    `is_link` is for symbolic links, whose `kind` is that of what they lead to where somebody has looked.
    """

    name: str
    kind: FileKind
    size_bytes: int | None = None
    addressable: bool = True
    is_link: bool = False


@dataclass(frozen=True, slots=True)
class Listing:
    """Entries of one directory, sorted by name; `is_complete` is false when a bound cut the listing."""

    entries: tuple[Entry, ...]
    is_complete: bool


@dataclass(frozen=True, slots=True)
class Level:
    """The names of one directory, each list sorted, as they are read for a walk: cheap, and without following a link.

    Attributes:
        files: Regular files that a path can name.
        sizes: Their sizes in bytes in the same order, if they were asked for; `None` for what vanished meanwhile.
        directories: Directories that a path can name.
        others: Links, special files, and names that no path can express.
        is_complete: False when there are more names than were asked for.
    """

    files: Sequence[str]
    directories: Sequence[str]
    others: Sequence[Entry] = ()
    sizes: Sequence[int | None] | None = None
    is_complete: bool = True


@dataclass(frozen=True, slots=True)
class Below:
    """A part of all files below one directory, at any depth, in the order in which the store tells them.

    Attributes:
        files: Paths relative to that directory, of plain names that a path can express.
        sizes: Their sizes in bytes, in the same order.
        others: Keys that no path can express, as they are behind that of the directory.
        resume: What continues the listing; `None` at its end.
    """

    files: Sequence[str]
    sizes: Sequence[int]
    others: Sequence[Entry]
    resume: str | None


@dataclass(frozen=True, slots=True)
class Always:
    """Write whatever is there now."""


@dataclass(frozen=True, slots=True)
class IfAbsent:
    """Write only if nothing exists under the name."""


@dataclass(frozen=True, slots=True)
class IfVersion:
    """Write only if the file still has the content of `version`."""

    version: Version


WriteCondition = Always | IfAbsent | IfVersion


class NoteKind(StrEnum):
    """What a write did besides writing, in a closed list."""

    PARENTS_CREATED = "parents_created"
    HARD_LINK_BROKEN = "hard_link_broken"
    METADATA_NOT_KEPT = "metadata_not_kept"
    WRITTEN_IN_PLACE = "written_in_place"
    NOT_DURABLE = "not_durable"
    UNSAFE_WRITE = "unsafe_write"
    LINE_ENDINGS_CHANGED = "line_endings_changed"
    BYTE_ORDER_MARK_CHANGED = "byte_order_mark_changed"
    OBSERVATION_NOT_KEPT = "observation_not_kept"


@dataclass(frozen=True, slots=True)
class Note:
    """One thing the caller should know about a write that succeeded; `detail` is one line of text."""

    kind: NoteKind
    detail: str


@dataclass(frozen=True, slots=True)
class WriteReceipt:
    """What a successful write produced.

    `version` carries the digest of the written bytes and equals the version of a fresh `stat`, so it is usable as
    the next guard without a read.
    """

    version: Version
    created: bool
    notes: tuple[Note, ...] = ()
