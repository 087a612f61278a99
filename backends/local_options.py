"""Settings of local disk."""

from dataclasses import dataclass, field
from pathlib import Path

from fs_core.checked import CheckedOptions

__all__ = ["LocalOptions"]


@dataclass(frozen=True, kw_only=True)
class LocalOptions(CheckedOptions):
    """Local disk."""

    concurrency_max: int = field(
        default=8, metadata={"gt": 0, "description": "operations in flight; further ones wait"}
    )
    write_size_bytes_max: int = field(
        default=512 * 1024 * 1024, metadata={"gt": 0, "description": "largest file that is written"}
    )
    fsync: bool = field(default=True, metadata={"description": "flush file and directory before a write is reported"})
    lock_timeout_s: float = field(
        default=30.0, metadata={"gt": 0, "description": "wait for another process's write of the same file"}
    )
    lock_directory: Path | None = field(
        default=None,
        metadata={"description": "shared by all processes that write one tree; /tmp/seamfs-UID by default"},
    )
