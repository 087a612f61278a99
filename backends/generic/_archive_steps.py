"""Reading an archive in bounded steps. Pure but for the file it is given."""

from typing import Final, Protocol

__all__ = ["ARCHIVE_STEP_BYTES_MAX", "ArchiveFile", "BoundedSteps"]

ARCHIVE_STEP_BYTES_MAX: Final = 4 << 20
"""More than any piece of a member that is asked for here, and far more than the header of an honest one."""


class ArchiveFile(Protocol):
    """What `tarfile` needs of the file it reads."""

    def read(self, size: int, /) -> bytes:
        """Return up to `size` bytes, none at the end."""
        ...

    def seek(self, offset: int, /) -> int:
        """Go to a byte."""
        ...

    def seekable(self) -> bool:
        """Whether `seek` works."""
        ...

    def tell(self) -> int:
        """Return where the next read begins."""
        ...

    def close(self) -> None:
        """Release what it holds."""
        ...


class BoundedSteps:
    """A file that gives no more than `ARCHIVE_STEP_BYTES_MAX` bytes at once.

    `tarfile` reads an extended header whole, whatever size it claims: a few compressed bytes could ask for all memory.
    """

    def __init__(self, file: ArchiveFile) -> None:
        """Take over `file`: it is closed with this."""
        self._file = file

    def read(self, size: int, /) -> bytes:
        """Return up to `size` bytes.

        Raises:
            MemoryError: `size` is above the bound.
        """
        if size > ARCHIVE_STEP_BYTES_MAX:
            raise MemoryError(f"a step of {size} bytes in an archive, at most {ARCHIVE_STEP_BYTES_MAX}")
        return self._file.read(size)

    def seek(self, offset: int, /) -> int:
        """Go to a byte."""
        return self._file.seek(offset)

    def seekable(self) -> bool:
        """Whether `seek` works."""
        return self._file.seekable()

    def tell(self) -> int:
        """Return where the next read begins."""
        return self._file.tell()

    def close(self) -> None:
        """Close the file."""
        self._file.close()
