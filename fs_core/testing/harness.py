"""How a test reaches a store: through a backend, and behind the backend's back so that it never vouches for itself."""

from abc import ABC, abstractmethod
from pathlib import Path

from fs_core.protocol import Backend

__all__ = ["DirectoryHarness", "StoreHarness"]


class StoreHarness(ABC):
    """One empty root in a store under test.

    `open` gives a new backend on that root, as another process would have; the test closes it. All other methods
    go to the store directly. Paths are relative to the root and `/`-separated; `.` is the root. They may block.
    """

    has_links: bool = False
    """Whether the store knows symbolic links; then `link` works."""

    has_modes: bool = False
    """Whether the store knows permission bits; then `chmod` and `mode` work."""

    @abstractmethod
    async def open(self) -> Backend:
        """Return a new backend on this root."""

    @abstractmethod
    def put(self, path: str, data: bytes) -> None:
        """Make or replace a file, parents included."""

    @abstractmethod
    def get(self, path: str) -> bytes | None:
        """Return a file's bytes, or `None`."""

    @abstractmethod
    def delete(self, path: str) -> None:
        """Remove a file or an empty directory."""

    @abstractmethod
    def mkdir(self, path: str) -> None:
        """Make a directory and its parents."""

    @abstractmethod
    def names(self, path: str = ".") -> list[str]:
        """Return all names in a directory, sorted, unfinished writes included; empty when there is none."""

    def link(self, path: str, to: str) -> None:
        """Make a symbolic link at `path` with the text `to`."""
        raise NotImplementedError(f"{type(self).__name__} knows no links")

    def chmod(self, path: str, mode: int) -> None:
        """Set permission bits."""
        raise NotImplementedError(f"{type(self).__name__} knows no modes")

    def mode(self, path: str) -> int:
        """Return permission bits, special bits included."""
        raise NotImplementedError(f"{type(self).__name__} knows no modes")


class DirectoryHarness(StoreHarness):
    """A root that is a directory of this machine: for local disk and for servers that run here."""

    has_links = True
    has_modes = True

    def __init__(self, directory: Path) -> None:
        self.directory = directory

    def put(self, path: str, data: bytes) -> None:
        """Write in place, as a careless program would."""
        file = self.directory / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(data)

    def get(self, path: str) -> bytes | None:
        """Return the bytes on disk."""
        file = self.directory / path
        return file.read_bytes() if file.is_file() else None

    def delete(self, path: str) -> None:
        """Unlink the file, link or empty directory."""
        file = self.directory / path
        if file.is_dir() and not file.is_symlink():
            file.rmdir()
        else:
            file.unlink()

    def mkdir(self, path: str) -> None:
        """Make the directory on disk."""
        (self.directory / path).mkdir(parents=True, exist_ok=True)

    def names(self, path: str = ".") -> list[str]:
        """List the directory on disk."""
        directory = self.directory / path
        return sorted(entry.name for entry in directory.iterdir()) if directory.is_dir() else []

    def link(self, path: str, to: str) -> None:
        """Make the link on disk, parents included."""
        file = self.directory / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.symlink_to(to)

    def chmod(self, path: str, mode: int) -> None:
        """Set the mode on disk."""
        (self.directory / path).chmod(mode)

    def mode(self, path: str) -> int:
        """Return the mode on disk."""
        return (self.directory / path).stat().st_mode & 0o7777
