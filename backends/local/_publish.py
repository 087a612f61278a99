"""One write: stage, verify, publish, under the lock that all processes of this library share."""

import errno
import fcntl
import os
from collections.abc import Generator
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass
from typing import Final

from backends._workers import WorkerCall
from backends.local._content import overwrite, reserve
from backends.local._kernel import exchange, rename_no_replace
from backends.local._lock import ProcessLocks, file_key, take_flock
from backends.local._metadata import keep_metadata
from backends.local._sharing import Shared, share
from backends.local._staging import DirectoryGone, Staged, Sweeper, staged
from backends.local._tree import Names, Tree, opened_regular, regular_or_refuse, sync_directory
from backends.local._version import content_identity, digest_of, has_size_of, version_of
from fs_core.errors import NotFound, OutcomeUnknown, PermissionDenied, Reason, StaleVersion, Unsupported
from fs_core.splice import Splice
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

_Identity = tuple[int, int, int, int]

_ATTEMPTS_MAX: Final = 3
_PUT_BACK_ATTEMPTS_MAX: Final = 1000
_IN_PLACE: Final = frozenset({errno.EBUSY, errno.EXDEV})
_NO_HARD_LINKS: Final = frozenset({errno.EPERM, errno.ENOTSUP, errno.EOPNOTSUPP, errno.ENOSYS, errno.EMLINK})


@dataclass(frozen=True, slots=True)
class _Old:
    """The file that is about to be replaced, as it was verified.

    `is_settled` is whether any later write must show in its metadata: it was changed long enough before.
    """

    status: os.stat_result
    is_settled: bool

    def has_same_content(self, status: os.stat_result) -> bool:
        """Whether `status` is of this file, with the same content; a rename in between does not matter."""
        return content_identity(status) == content_identity(self.status)

    def is_untouched(self, status: os.stat_result) -> bool:
        """Whether nothing at all was done to this file up to `status`, as far as metadata tell.

        Mode and owner may change within the same tick of the clock.
        """
        return self.has_same_content(status) and _attributes(status) == _attributes(self.status)


def _attributes(status: os.stat_result) -> tuple[int, int, int, int]:
    return (status.st_mode, status.st_uid, status.st_gid, status.st_ctime_ns)


class Publisher:
    """Writes files below one root."""

    def __init__(self, tree: Tree, *, locks: ProcessLocks, lock_timeout_s: float, fsync: bool) -> None:
        self._tree = tree
        self._locks = locks
        self._lock_timeout_s = lock_timeout_s
        self._fsync = fsync
        self._sweeper = Sweeper(locks)

    def write(
        self, names: Names, content: Splice, condition: WriteCondition, *, call: WorkerCall, path: str
    ) -> WriteReceipt:
        """Publish `content` at `names` if `condition` holds, under the lock of that file; the caller maps `OSError`."""
        for _ in range(_ATTEMPTS_MAX):
            with suppress(DirectoryGone):
                return self._write(names, content, condition, call=call, path=path)
        raise NotFound("its directory is removed again and again by someone else", path=path, operation="write")

    def _write(
        self, names: Names, content: Splice, condition: WriteCondition, *, call: WorkerCall, path: str
    ) -> WriteReceipt:
        point = self._locks.meeting_point(path=path)
        with (
            self._tree.made_parent(names, path=path) as parent,
            self._locks.hold(file_key(parent.fd, names[-1]), call=call, path=path) as bucket,
        ):
            self._sweeper.sweep(parent.fd, held=bucket, meeting_point=point)
            one = _Write(parent.fd, names[-1], path, call, lock_timeout_s=self._lock_timeout_s, fsync=self._fsync)
            old = one.verified_old(condition)
            with staged(parent.fd, is_new=old is None, bucket=bucket, meeting_point=point) as file:
                shared = one.shared_with(old, file, content)
                digest = file.fill(content, shared=shared, call=call, is_flushed=self._fsync)
                old, notes = self._made_ready(one, file, old, condition)
                before = os.fstat(file.fd)
                call.commit()
                in_place = one.publish(file, content, old, condition)
                version = version_of(in_place, digest=digest) if in_place else _published_version(file, before, digest)
            unsynced = parent.sync() if self._fsync else None
        if in_place is not None:
            notes = (Note(NoteKind.WRITTEN_IN_PLACE, "the file cannot be replaced in one step; it was overwritten"),)
        if unsynced is not None:
            detail = f"the directory could not be flushed ({unsynced}); a power cut may undo the write"
            notes = (*notes, Note(NoteKind.NOT_DURABLE, detail))
        if parent.made:
            notes = (Note(NoteKind.PARENTS_CREATED, ", ".join(parent.made)), *notes)
        return WriteReceipt(version=version, created=old is None, notes=notes)

    def _made_ready(
        self, one: "_Write", file: Staged, old: _Old | None, condition: WriteCondition
    ) -> tuple[_Old | None, tuple[Note, ...]]:
        """Flush the staged file with the old one's metadata, until only its publication is left to do.

        That took a while, so the old file is looked at again, and what became of it is verified anew.
        """
        notes = one.keep_metadata_of(old, file)
        if self._fsync:
            os.fsync(file.fd)
        if old is None or one.is_untouched(old):
            return old, notes
        old = one.verified_old(condition)
        notes = one.keep_metadata_of(old, file)
        if self._fsync:
            os.fsync(file.fd)
        return old, notes


class _Write:
    """The steps of one write in one opened directory."""

    def __init__(
        self, directory: int, name: str, path: str, call: WorkerCall, *, lock_timeout_s: float, fsync: bool
    ) -> None:
        self._directory = directory
        self._name = name
        self._path = path
        self._call = call
        self._lock_timeout_s = lock_timeout_s
        self._fsync = fsync

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
            is_read_only = os.fstatvfs(self._directory).f_flag & os.ST_RDONLY
            reason = "the file system is read-only" if is_read_only else "the file is write-protected"
            raise PermissionDenied(reason, path=self._path, operation="write")
        if isinstance(condition, IfVersion):
            return self._same_content(status, condition.version)
        return _Old(status, is_settled=False)

    def _same_content(self, status: os.stat_result, expected: Version) -> _Old:
        if expected.same_content(version_of(status)):
            return _Old(status, is_settled=True)
        if expected.digest is None or not has_size_of(status, expected):
            raise self._stale(Reason.CHANGED)
        with opened_regular(self._directory, self._name, path=self._path, operation="write") as (fd, before):
            is_settled = version_of(before).settled
            digest = digest_of(fd, on_piece=self._call.check)
            is_stable = content_identity(before) == content_identity(os.fstat(fd))
        if digest != expected.digest or not is_stable:
            raise self._stale(Reason.CHANGED)
        return _Old(before, is_settled=is_settled)

    def is_untouched(self, old: _Old) -> bool:
        """Whether the name still stands for the old file, just as it was."""
        try:
            return old.is_untouched(os.stat(self._name, dir_fd=self._directory, follow_symlinks=False))
        except FileNotFoundError:
            return False

    def shared_with(self, old: _Old | None, file: Staged, content: Splice) -> tuple[Shared, ...]:
        """Have the staged file share what stays of the old one, as far as that is possible."""
        if old is None or not content.before:
            return ()
        try:
            with opened_regular(self._directory, self._name, path=self._path, operation="write") as (fd, _):
                return share(fd, file.fd, content, call=self._call)
        except (FileNotFoundError, PermissionError):
            return ()

    def keep_metadata_of(self, old: _Old | None, file: Staged) -> tuple[Note, ...]:
        """Give the staged file the old file's metadata; return what could not be kept."""
        if old is None:
            return ()
        notes: list[Note] = []
        if old.status.st_nlink > 1:
            others = old.status.st_nlink - 1
            detail = f"the file had {others} other hard link{'s' * (others > 1)}, which keep the old content"
            notes.append(Note(NoteKind.HARD_LINK_BROKEN, detail))
        with ExitStack() as stack:
            try:
                opened = opened_regular(self._directory, self._name, path=self._path, operation="write")
                fd, _ = stack.enter_context(opened)
            except PermissionError:
                lost: tuple[str, ...] = ("extended attributes, as the file is not readable",)
                os.fchmod(file.fd, old.status.st_mode & 0o7777)
            except FileNotFoundError:
                lost = ()  # what its absence means is found out where it is verified anew
                os.fchmod(file.fd, old.status.st_mode & 0o7777)
            else:
                lost = keep_metadata(fd, file.fd)
        if lost:
            notes.append(Note(NoteKind.METADATA_NOT_KEPT, "not kept: " + ", ".join(lost)))
        return tuple(notes)

    def publish(
        self, file: Staged, content: Splice, old: _Old | None, condition: WriteCondition
    ) -> os.stat_result | None:
        """Make the staged content visible; return the status of the file if it had to be written in place."""
        if isinstance(condition, IfAbsent) or (old is None and isinstance(condition, Always)):
            try:
                self._create(file)
            except FileExistsError:
                if isinstance(condition, IfAbsent):
                    raise self._stale(Reason.EXISTS) from None
                self._rename_over(file)
            return None
        try:
            self._replace(file, old, condition)
        except OSError as error:
            if error.errno not in _IN_PLACE:
                raise
            return self._overwrite(content, condition)
        return None

    @contextmanager
    def _unless_published(self, file: Staged) -> Generator[None]:
        """Forgive a failure of the call that was to publish the file if that has happened.

        A network file system repeats a request whose answer was lost, and tells what the second one met: see the
        notes of open(2) about link(2) and O_EXCL over NFS.
        """
        try:
            yield
        except OSError:
            if not file.is_published():
                raise

    def _create(self, file: Staged) -> None:
        is_renamed = True
        with self._unless_published(file):
            is_renamed = rename_no_replace(self._directory, file.name, self._name)
        if is_renamed:
            return
        try:
            with self._unless_published(file):
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

    def _rename_over(self, file: Staged) -> None:
        with self._unless_published(file):
            os.replace(file.name, self._name, src_dir_fd=self._directory, dst_dir_fd=self._directory)

    def _replace(self, file: Staged, old: _Old | None, condition: WriteCondition) -> None:
        """Take the name over. With a version to hold, what was displaced is verified and put back if it is foreign."""
        if old is None or not isinstance(condition, IfVersion):
            self._rename_over(file)
            return
        published = content_identity(os.fstat(file.fd))
        was_exchanged = True
        try:
            with self._unless_published(file):
                was_exchanged = exchange(self._directory, file.name, self._name)
        except FileNotFoundError:
            raise self._stale(Reason.DELETED) from None
        if not was_exchanged:
            if not old.is_settled and not self._has_content(self._name, condition.version):
                raise self._stale(Reason.CHANGED)
            # No exchange here: between the last look and this rename a foreign writer can lose an update.
            self._rename_over(file)
            return
        try:
            is_as_verified = self._is_displaced_as_verified(file, old, condition.version)
        except BaseException:
            self._put_back(file, published)
            raise
        if not is_as_verified:
            self._put_back(file, published)
            raise self._stale(Reason.CHANGED)

    def _is_displaced_as_verified(self, file: Staged, old: _Old, expected: Version) -> bool:
        displaced = os.stat(file.name, dir_fd=self._directory, follow_symlinks=False)
        if not old.has_same_content(displaced):
            return False
        # Changed so recently that a foreign write in place may carry the same time stamp: only the content can tell.
        return old.is_settled or self._has_content(file.name, expected)

    def _has_content(self, name: str, expected: Version) -> bool:
        """Tell whether a file has the expected content; a version without a digest names none."""
        if expected.digest is None:
            return True
        with opened_regular(self._directory, name, path=self._path, operation="write") as (fd, _):
            return digest_of(fd, on_piece=self._call.check) == expected.digest

    def _put_back(self, file: Staged, published: _Identity) -> None:
        """Give the name back to the foreign file, durably before ours is removed.

        Raises:
            OutcomeUnknown: that did not work; the foreign file is kept under the staged name.
        """
        try:
            self._exchange_back(file, published)
        except OSError as error:
            file.keep()
            reason = (
                f"another program's content was displaced by this write and could not be put back ({error.strerror}); "
                f"it is kept beside the file as {file.name} until the next write there: look at both"
            )
            raise OutcomeUnknown(reason, path=self._path, operation="write") from error
        if self._fsync:
            # Else a crash could keep our rename and the removal of theirs, and lose the rename between the two. A
            # directory that cannot be flushed makes the refusal no less true.
            sync_directory(self._directory)

    def _exchange_back(self, file: Staged, published: _Identity) -> None:
        """Exchange the names again, and once more for each still newer content if others go on writing."""
        for _ in range(_PUT_BACK_ATTEMPTS_MAX):
            foreign = self._identity_of(file.name)
            try:
                exchange(self._directory, file.name, self._name)
            except OSError as error:
                if self._identity_of(file.name) == published:
                    return  # it has happened
                if isinstance(error, FileNotFoundError):
                    return  # somebody has deleted what was published
                raise
            if self._identity_of(file.name) == published:
                return
            # Somebody replaced or changed what was published; theirs is the newest, and has just been displaced.
            published = foreign

    def _identity_of(self, name: str) -> _Identity:
        return content_identity(os.stat(name, dir_fd=self._directory, follow_symlinks=False))

    def _overwrite(self, content: Splice, condition: WriteCondition) -> os.stat_result:
        """Write in place, for a name that cannot be renamed over, such as a bind mount; not atomic."""
        opened = opened_regular(self._directory, self._name, path=self._path, operation="write", flags=os.O_RDWR)
        with opened as (fd, _):
            try:
                # Here several names lead to one file, so the lock of the name is not enough.
                take_flock(fd, timeout_s=self._lock_timeout_s, call=self._call, path=self._path)
                self.verified_old(condition)
                reserve(fd, content.size_bytes)
                return self._overwritten(fd, content)
            finally:
                fcntl.flock(fd, fcntl.LOCK_UN)

    def _overwritten(self, fd: int, content: Splice) -> os.stat_result:
        try:
            return overwrite(fd, content)
        except OSError as error:
            reason = (
                f"the file cannot be replaced in one step, and overwriting it failed ({error.strerror}); "
                "it may hold a part of the new content: read it"
            )
            raise OutcomeUnknown(reason, path=self._path, operation="write") from error

    def _stale(self, reason: Reason) -> StaleVersion:
        return StaleVersion(reason, path=self._path, operation="write")


def _published_version(file: Staged, before: os.stat_result, digest: Digest) -> Version:
    """Return the version of the published file; publishing itself moves only its change time.

    A fault of looking at it must not hide that it is published; its digest then tells the content until it is read.
    """
    try:
        after = os.fstat(file.fd)
    except OSError:
        after = before
    if content_identity(after) != content_identity(before):
        # A foreign writer changed the new file in place at once: our digest with its time stamps would hide that.
        return version_of(before, digest=digest)
    return version_of(after, digest=digest)
