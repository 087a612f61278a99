"""One write: stage, verify, publish, under the lock that all processes of this library share."""

import errno
import os
from dataclasses import dataclass
from typing import Final

from backends._workers import WorkerCall
from backends.local._kernel import exchange, rename_no_replace
from backends.local._lock import ProcessLocks
from backends.local._metadata import keep_metadata
from backends.local._staging import Staged, Sweeper, staged
from backends.local._tree import Names, Tree, open_regular, regular_or_refuse, sync_directory
from backends.local._version import content_identity, digest_of, version_of
from fs_core.digest import content_digest
from fs_core.errors import PermissionDenied, Reason, StaleVersion, Unsupported
from fs_core.types import (
    Always,
    Digest,
    IfAbsent,
    IfVersion,
    Note,
    NoteKind,
    Version,
    WriteCondition,
    WriteReceipt,
)

__all__ = ["Publisher"]

_PUT_BACK_ATTEMPTS_MAX: Final = 8
_IN_PLACE: Final = frozenset({errno.EBUSY, errno.EXDEV})
_NO_HARD_LINKS: Final = frozenset({errno.EPERM, errno.ENOTSUP, errno.EOPNOTSUPP, errno.ENOSYS, errno.EMLINK})


@dataclass(frozen=True, slots=True)
class _Old:
    """The file that is about to be replaced, as it was verified. `digest` is known when its content was read."""

    status: os.stat_result
    digest: Digest | None

    def is_same(self, status: os.stat_result) -> bool:
        """Whether `status` is of this file, with the same content."""
        return content_identity(status) == content_identity(self.status)


class Publisher:
    """Writes files below one root."""

    def __init__(self, tree: Tree, *, locks: ProcessLocks, fsync: bool) -> None:
        self._tree = tree
        self._locks = locks
        self._fsync = fsync
        self._sweeper = Sweeper(locks)

    def write(
        self, names: Names, data: bytes, condition: WriteCondition, *, key: str, call: WorkerCall, path: str
    ) -> WriteReceipt:
        """Publish `data` at `names` if `condition` holds, under the lock of `key`; the caller maps `OSError`."""
        with (
            self._locks.hold(key, call=call, path=path) as bucket,
            self._tree.made_parent(names, path=path) as parent,
        ):
            self._sweeper.sweep(parent.fd, held=bucket)
            one = _Write(parent.fd, names[-1], path, call)
            old = one.verified_old(condition)
            with staged(parent.fd, is_new=old is None, bucket=bucket) as file:
                notes = one.fill(file, data, old)
                if self._fsync:
                    os.fsync(file.fd)
                before = os.fstat(file.fd)
                call.commit()
                in_place = one.publish(file, data, old, condition)
                version = in_place or _published_version(file, before, data)
            if self._fsync:
                sync_directory(parent.fd)
                parent.sync_made()
        if in_place is not None:
            notes = (Note(NoteKind.WRITTEN_IN_PLACE, "the file cannot be replaced in one step; it was overwritten"),)
        if parent.made:
            notes = (Note(NoteKind.PARENTS_CREATED, ", ".join(parent.made)), *notes)
        return WriteReceipt(version=version, created=old is None, notes=notes)


class _Write:
    """The steps of one write in one opened directory."""

    def __init__(self, directory: int, name: str, path: str, call: WorkerCall) -> None:
        self._directory = directory
        self._name = name
        self._path = path
        self._call = call

    def verified_old(self, condition: WriteCondition) -> _Old | None:
        """Return the file as it stands, after checking that `condition` holds for it."""
        try:
            status = os.stat(self._name, dir_fd=self._directory, follow_symlinks=False)
        except FileNotFoundError:
            if isinstance(condition, IfVersion):
                raise self._stale(Reason.DELETED) from None
            return None
        regular_or_refuse(status, path=self._path, operation="write")
        if isinstance(condition, IfAbsent):
            raise self._stale(Reason.EXISTS)
        # Replacing needs no write permission on the file itself; a file that is write-protected is meant to stay.
        if not os.access(self._name, os.W_OK, dir_fd=self._directory, effective_ids=True, follow_symlinks=False):
            raise PermissionDenied("the file is write-protected", path=self._path, operation="write")
        if isinstance(condition, IfVersion):
            return self._same_content(status, condition.version)
        return _Old(status, digest=None)

    def _same_content(self, status: os.stat_result, expected: Version) -> _Old:
        if expected.same_content(version_of(status)):
            return _Old(status, digest=None)
        if expected.digest is None:
            raise self._stale(Reason.CHANGED)
        fd = open_regular(self._directory, self._name, path=self._path, operation="write")
        try:
            before = os.fstat(fd)
            digest = digest_of(fd)
            is_stable = content_identity(before) == content_identity(os.fstat(fd))
        finally:
            os.close(fd)
        if digest != expected.digest or not is_stable:
            raise self._stale(Reason.CHANGED)
        return _Old(before, digest=digest)

    def fill(self, file: Staged, data: bytes, old: _Old | None) -> tuple[Note, ...]:
        """Write the content, and give it the old file's metadata; return what could not be kept."""
        file.fill(data, call=self._call)
        if old is None:
            return ()
        notes: list[Note] = []
        if old.status.st_nlink > 1:
            others = old.status.st_nlink - 1
            detail = f"the file had {others} other hard link{'s' * (others > 1)}, which keep the old content"
            notes.append(Note(NoteKind.HARD_LINK_BROKEN, detail))
        try:
            fd = open_regular(self._directory, self._name, path=self._path, operation="write")
        except PermissionError:
            lost: tuple[str, ...] = ("extended attributes, as the file is not readable",)
            os.fchmod(file.fd, old.status.st_mode & 0o7777)
        else:
            try:
                lost = keep_metadata(fd, file.fd)
            finally:
                os.close(fd)
        if lost:
            notes.append(Note(NoteKind.METADATA_NOT_KEPT, "not kept: " + ", ".join(lost)))
        return tuple(notes)

    def publish(self, file: Staged, data: bytes, old: _Old | None, condition: WriteCondition) -> Version | None:
        """Make the staged content visible; return the version if it had to be written in place."""
        if isinstance(condition, IfAbsent) or (old is None and isinstance(condition, Always)):
            try:
                self._create(file)
            except FileExistsError:
                if isinstance(condition, IfAbsent):
                    raise self._stale(Reason.EXISTS) from None
                os.replace(file.name, self._name, src_dir_fd=self._directory, dst_dir_fd=self._directory)
            return None
        try:
            self._replace(file, old, condition)
        except OSError as error:
            if error.errno not in _IN_PLACE:
                raise
            return self._overwrite(data, old)
        return None

    def _create(self, file: Staged) -> None:
        if rename_no_replace(self._directory, file.name, self._name):
            return
        try:
            os.link(
                file.name,
                self._name,
                src_dir_fd=self._directory,
                dst_dir_fd=self._directory,
                follow_symlinks=False,
            )
        except OSError as error:
            if error.errno in _NO_HARD_LINKS:
                reason = "this file system can neither rename without replacing nor link; a file cannot be made safely"
                raise Unsupported(reason, path=self._path, operation="write") from error
            raise
        file.discard()  # now, since losing the other name moves the change time that the version is made of

    def _replace(self, file: Staged, old: _Old | None, condition: WriteCondition) -> None:
        """Take the name over. With a version to hold, what was displaced is verified and put back if it is foreign."""
        if old is None or not isinstance(condition, IfVersion):
            os.replace(file.name, self._name, src_dir_fd=self._directory, dst_dir_fd=self._directory)
            return
        try:
            was_exchanged = exchange(self._directory, file.name, self._name)
        except FileNotFoundError:
            raise self._stale(Reason.DELETED) from None
        if not was_exchanged:
            # No exchange here: between the check above and this rename a foreign writer can lose an update.
            os.replace(file.name, self._name, src_dir_fd=self._directory, dst_dir_fd=self._directory)
            return
        if not self._is_displaced_as_verified(file, old, condition.version):
            self._put_back(file)
            raise self._stale(Reason.CHANGED)

    def _is_displaced_as_verified(self, file: Staged, old: _Old, expected: Version) -> bool:
        displaced = os.stat(file.name, dir_fd=self._directory, follow_symlinks=False)
        if not old.is_same(displaced):
            return False
        if version_of(old.status).settled or expected.digest is None:
            return True
        # Changed so recently that a foreign write in place may carry the same time stamp: only the content can tell.
        fd = open_regular(self._directory, file.name, path=self._path, operation="write")
        try:
            return digest_of(fd) == expected.digest
        finally:
            os.close(fd)

    def _put_back(self, file: Staged) -> None:
        """Give the name back to the foreign file, and to a still newer one if others go on writing."""
        ours = os.fstat(file.fd).st_ino
        for _ in range(_PUT_BACK_ATTEMPTS_MAX):
            exchange(self._directory, file.name, self._name)
            if os.stat(file.name, dir_fd=self._directory, follow_symlinks=False).st_ino == ours:
                return
            # Somebody replaced our content meanwhile; theirs is the newest and has just been displaced.
            ours = os.stat(self._name, dir_fd=self._directory, follow_symlinks=False).st_ino

    def _overwrite(self, data: bytes, old: _Old | None) -> Version:
        """Write in place, for a name that cannot be renamed over, such as a bind mount; not atomic."""
        fd = open_regular(self._directory, self._name, path=self._path, operation="write", flags=os.O_RDWR)
        try:
            if old is not None and not old.is_same(os.fstat(fd)):
                raise self._stale(Reason.CHANGED)
            _reserve(fd, len(data))
            view, position = memoryview(data), 0
            while position < len(data):
                position += os.pwrite(fd, view[position:], position)
            os.ftruncate(fd, len(data))
            os.fsync(fd)
            return version_of(os.fstat(fd), digest=content_digest(data))
        finally:
            os.close(fd)

    def _stale(self, reason: Reason) -> StaleVersion:
        return StaleVersion(reason, path=self._path, operation="write")


def _reserve(fd: int, size_bytes: int) -> None:
    """Have the disk refuse a larger content now, while the old one is still whole."""
    old_bytes = os.fstat(fd).st_size
    if size_bytes <= old_bytes or not hasattr(os, "posix_fallocate"):
        return
    try:
        os.posix_fallocate(fd, old_bytes, size_bytes - old_bytes)
    except OSError as error:
        if error.errno not in {errno.EINVAL, errno.EOPNOTSUPP, errno.ENOTSUP}:
            os.ftruncate(fd, old_bytes)
            raise


def _published_version(file: Staged, before: os.stat_result, data: bytes) -> Version:
    """Return the version of the published file; publishing itself moves only its change time."""
    after = os.fstat(file.fd)
    if content_identity(after) != content_identity(before):
        # A foreign writer changed the new file in place at once: our digest with its time stamps would hide that.
        return version_of(before, digest=content_digest(data))
    return version_of(after, digest=content_digest(data))
