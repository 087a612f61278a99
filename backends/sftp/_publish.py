"""One write: stage, compare under the lock, publish, and find out what became of it when the connection breaks."""

import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from typing import Final

from backends._workers import CallCancelled, WorkerCall
from backends.sftp import _wire as wire
from backends.sftp._client import SftpClient
from backends.sftp._connection import ConnectError, ConnectionLost
from backends.sftp._content import Content
from backends.sftp._errors import Fenced
from backends.sftp._leftovers import Sweeper
from backends.sftp._lock import HeldLock, acquire, lock_box
from backends.sftp._pool import ConnectionPool
from backends.sftp._read import digest_of, no_regular_file
from backends.sftp._resolve import Confinement, Names, absolute, observe
from backends.sftp._stage import Staged, Staging, discard, stage
from backends.sftp._wire import StatusCode, StatusError
from fs_core.errors import FsError, OutcomeUnknown, Reason, StaleVersion, Unavailable, Unsupported
from fs_core.types import Always, FileKind, IfAbsent, IfVersion, Note, NoteKind, Version, WriteCondition, WriteReceipt

__all__ = ["Publication", "write_file"]

_TIDY_TIMEOUT_S: Final = 2.0
"""How long a cancelled or cut write tries to remove its upload through another connection."""
_CUT_SIZE_BYTES_MIN: Final = 1 << 20
"""A cancelled upload of this size is cut off; a smaller one is over soon, and cleaned up over the same connection."""
_ATTEMPTS_MAX: Final = 3


@dataclass(frozen=True, slots=True)
class Publication:
    """What is to be written where."""

    target: Names
    root: Confinement
    shown: str
    content: Content
    condition: WriteCondition
    lease_s: float

    @property
    def path(self) -> str:
        """Return the target's path on the server."""
        return absolute(self.target)


def write_file(pool: ConnectionPool, sweeper: Sweeper, publication: Publication, call: WorkerCall) -> WriteReceipt:
    """Publish atomically if the condition holds; after a failure nothing is left behind that can be reached.

    Raises:
        OutcomeUnknown: the connection broke while publishing and the server cannot be asked.
        FsError, StatusError, ConnectError, ConnectionLost, Fenced: nothing was written.
    """
    for _ in range(_ATTEMPTS_MAX):
        write = _Write(publication, sweeper, call)
        try:
            with pool.lease(call, winds_down=publication.content.size_bytes < _CUT_SIZE_BYTES_MIN) as client:
                return write.run(client)
        except _AppearedMeanwhile:
            continue
        except ConnectionLost as error:
            if write.is_sent:
                return write.settle(pool, error)
            write.tidy_up(pool)
            call.check()
            raise
        except CallCancelled:
            write.tidy_up(pool)
            raise
    reason = "appears and disappears while it is written; try again"
    raise Unavailable(reason, path=publication.shown, operation="write", retryable=True)


class _AppearedMeanwhile(Exception):
    """Raised when a file that was to be created whatever happens has been created by someone else."""


class _Write:
    """The state of one attempt."""

    def __init__(self, publication: Publication, sweeper: Sweeper, call: WorkerCall) -> None:
        self._publication = publication
        self._sweeper = sweeper
        self._call = call
        self._staging = Staging(publication.target[:-1])
        self._lock_box = lock_box(publication.target)
        self._held: HeldLock | None = None
        self._receipt: WriteReceipt | None = None
        self._now_s: int | None = None
        self._seen: wire.Attributes | None = None
        """What stood at the target when the lock was last asked for."""
        self._has_upload = False
        self.is_sent = False
        """Whether the request that publishes has been sent, and no answer to it was received."""

    def run(self, client: SftpClient) -> WriteReceipt:
        """Write over a connection that works; on any other failure than its loss, leave nothing behind."""
        try:
            receipt = self._attempt(client)
        except BaseException:
            if not client.is_broken:
                self._discard(client)
            raise
        self._finish(client)
        return receipt

    def _attempt(self, client: SftpClient) -> WriteReceipt:
        publication = self._publication
        found, _ = observe(client, publication.path, root=publication.root, shown=publication.shown, operation="write")
        self._refuse(found, client)
        self._call.check()
        self._has_upload = True
        staged = stage(
            client,
            self._staging,
            publication.content,
            replaced=found,
            root=publication.root,
            shown=publication.shown,
        )
        self._receipt = self._describe(staged, is_new=found is None)
        self._call.check()
        if found is None:
            self._create(client)
        else:
            self._replace(client)
        return self._receipt

    def _refuse(self, found: wire.Attributes | None, client: SftpClient) -> None:
        """Raise for what can be told without the content."""
        publication = self._publication
        condition = publication.condition
        if found is not None and found.kind is not FileKind.FILE:
            raise no_regular_file(found, shown=publication.shown, operation="write")
        if found is None and isinstance(condition, IfVersion):
            raise self._stale(Reason.DELETED)
        if found is None:
            return
        if isinstance(condition, IfAbsent):
            raise self._stale(Reason.EXISTS)
        if isinstance(condition, IfVersion) and not _may_match(condition.version, found):
            raise self._stale(Reason.CHANGED)
        if not client.has_posix_rename:
            reason = (
                "this server cannot replace a file atomically (it lacks posix-rename@openssh.com); "
                "new files can be created, existing ones are not changed"
            )
            raise Unsupported(reason, path=publication.shown, operation="write")

    def _describe(self, staged: Staged, *, is_new: bool) -> WriteReceipt:
        version = Version(staged.attributes.token, self._publication.content.digest(), settled=False)
        made = [self._publication.root.shown(names) for names in self._staging.parents_made]
        notes = (Note(NoteKind.PARENTS_CREATED, ", ".join(made)),) if made else ()
        self._now_s = staged.attributes.mtime_s
        return WriteReceipt(version=version, created=is_new, notes=notes + staged.notes)

    def _create(self, client: SftpClient) -> None:
        """Publish under a name that must be free; the server refuses one that is taken."""
        put = wire.hardlink if client.has_hardlink else wire.rename
        refusal = self._send(client, put(self._staging.path, self._publication.path))
        if refusal is not None and client.has_hardlink and not self._is_taken(client):
            # A file system without hard links. RENAME of version 3 refuses an existing name, too.
            refusal = self._send(client, wire.rename(self._staging.path, self._publication.path))
        if refusal is None:
            return
        if not self._is_taken(client):
            if refusal.code == StatusCode.NO_SUCH_FILE:
                raise Fenced from refusal
            raise refusal
        if isinstance(self._publication.condition, Always):
            raise _AppearedMeanwhile
        raise self._stale(Reason.EXISTS)

    def _send(self, client: SftpClient, request: wire.Request) -> StatusError | None:
        """Send what publishes; from the first byte on it cannot be taken back."""
        self._call.commit()
        self.is_sent = True
        (reply,) = client.exchange(request)
        self.is_sent = False
        return wire.status_of(reply)

    def _is_taken(self, client: SftpClient) -> bool:
        """Look at the target: "it exists" arrives as a bare failure."""
        (reply,) = client.exchange(wire.lstat(self._publication.path))
        return wire.status_of(reply) is None

    def _replace(self, client: SftpClient) -> None:
        """Publish over the existing file, if it is still the one that the condition names."""
        found = self._take_lock(client)
        condition = self._publication.condition
        held = self._held
        if held is None:
            raise AssertionError("the lock was taken")
        if found is None and isinstance(condition, IfVersion):
            raise self._stale(Reason.DELETED)
        if found is not None and found.kind is not FileKind.FILE:
            raise no_regular_file(found, shown=self._publication.shown, operation="write")
        if found is not None and isinstance(condition, IfVersion):
            self._compare(client, found, condition.version, on_piece=lambda: self._on_piece(client, held))
        if not held.is_within_lease:
            raise Fenced
        self._call.commit()
        self.is_sent = True
        held.publish(client, self._publication.path)
        self.is_sent = False

    def _take_lock(self, client: SftpClient) -> wire.Attributes | None:
        """Take the target's lock; return what stands at the target then."""
        publication = self._publication

        def attempt(request: wire.Request) -> wire.Reply:
            self._seen, (reply,) = observe(
                client,
                publication.path,
                root=publication.root,
                shown=publication.shown,
                operation="write",
                first=(request,),
            )
            return reply

        self._held = acquire(
            client,
            self._staging,
            self._lock_box,
            lease_s=publication.lease_s,
            attempt=attempt,
            pause=self._pause,
            on_owner=lambda: self._give_up_early(client),
            shown=publication.shown,
        )
        return self._seen

    def _give_up_early(self, client: SftpClient) -> None:
        """Do not queue for a lock only to be told that the file has changed."""
        condition, seen = self._publication.condition, self._seen
        if isinstance(condition, IfVersion) and seen is not None and seen.kind is FileKind.FILE:
            self._compare(client, seen, condition.version, on_piece=self._call.check)

    def _pause(self, delay_s: float) -> None:
        self._call.check()
        time.sleep(delay_s)

    def _compare(
        self, client: SftpClient, found: wire.Attributes, expected: Version, *, on_piece: Callable[[], None]
    ) -> None:
        """Raise `StaleVersion` unless the content is the one of `expected`.

        A version without a digest names no content; its token, with whole seconds, is all there is to compare.
        """
        if expected.digest is None:
            is_same = expected.token == found.token
        elif not _may_match(expected, found):
            is_same = False
        else:
            path = self._publication.path
            try:
                digest = digest_of(client, path, found, on_piece=on_piece)
            except StatusError as error:
                if error.code != StatusCode.NO_SUCH_FILE:
                    raise
                raise self._stale(Reason.DELETED) from error
            is_same = digest == expected.digest
        if not is_same:
            raise self._stale(Reason.CHANGED)

    def _on_piece(self, client: SftpClient, held: HeldLock) -> None:
        self._call.check()
        held.renew_if_due(client)

    def _stale(self, reason: str) -> StaleVersion:
        return StaleVersion(reason, path=self._publication.shown, operation="write")

    def _finish(self, client: SftpClient) -> None:
        """Remove what publishing left over: the empty lock, or the upload's second name.

        The file is published: nothing that happens here makes the write fail.
        """
        with suppress(ConnectionLost, StatusError):
            if self._held is not None:
                if not self._held.is_removed:
                    client.exchange(wire.rmdir(self._lock_box))
            else:
                _, removed = client.exchange(wire.remove(self._staging.path), wire.rmdir(self._staging.box))
                if wire.status_of(removed) is not None:
                    client.exchange(wire.rmdir(self._staging.box))
            self._sweeper.sweep(client, self._staging.parent, now_s=self._now_s)

    def _discard(self, client: SftpClient) -> None:
        """Remove the upload; what cannot be removed now is hidden, and swept by a later write."""
        with suppress(ConnectionLost, StatusError):
            if self._held is not None:
                client.exchange(wire.remove(self._held.path))
            discard(client, self._staging, self._staging.box, self._lock_box)
            self._has_upload = False

    def tidy_up(self, pool: ConnectionPool) -> None:
        """Remove the upload, if one is left, through another connection, within a short time."""
        if not self._has_upload:
            return
        with suppress(ConnectError, ConnectionLost), pool.lease(patience_s=_TIDY_TIMEOUT_S) as client:
            self._discard(client)

    def settle(self, pool: ConnectionPool, error: ConnectionLost) -> WriteReceipt:
        """Find out whether a publication took effect whose answer was lost.

        First the upload is removed by name: if that succeeds, the request can no longer take effect, even if the
        server still has it in some buffer. Then the target tells.
        """
        publication = self._publication
        try:
            with pool.lease() as client:
                settled = self._look(client)
                if settled is not None:
                    self._finish(client)
        except (ConnectError, ConnectionLost, StatusError, FsError) as failure:
            reason = (
                "the connection broke while the file was replaced and the server cannot be asked "
                f"({failure}); read the file to see which content it has"
            )
            raise OutcomeUnknown(reason, path=publication.shown, operation="write") from error
        if settled is None:
            reason = f"{error}; nothing was written; try again"
            raise Unavailable(reason, path=publication.shown, operation="write", retryable=True) from error
        return settled

    def _look(self, client: SftpClient) -> WriteReceipt | None:
        """Return the receipt if the write took effect, `None` if it did not and never will; then nothing is left."""
        settled: WriteReceipt | None = None
        try:
            settled = self._evidence(client)
        finally:
            if settled is None and not client.is_broken:
                self._discard(client)
        return settled

    def _evidence(self, client: SftpClient) -> WriteReceipt | None:
        publication, receipt, held = self._publication, self._receipt, self._held
        if receipt is None:
            raise AssertionError("nothing is sent before the upload is complete")
        (reply,) = client.exchange(wire.remove(held.path if held is not None else self._staging.path))
        refusal = wire.status_of(reply)
        if refusal is not None and refusal.code != StatusCode.NO_SUCH_FILE:
            raise refusal
        found, _ = observe(client, publication.path, root=publication.root, shown=publication.shown, operation="write")
        if found is not None and found.kind is FileKind.FILE:
            digest = digest_of(client, publication.path, found, on_piece=_nothing)
            if digest == receipt.version.digest:
                version = Version(found.token, digest, settled=False)
                return WriteReceipt(version=version, created=receipt.created, notes=receipt.notes)
        if held is not None:
            if refusal is None:
                return None
            if held.is_within_lease:
                # Nobody else can have removed the upload: it was published, and replaced by someone since.
                return receipt
        elif found is None:
            return None
        raise ConnectionLost("someone else has written the file since")


def _may_match(version: Version, found: wire.Attributes) -> bool:
    """Tell whether a file can have the content of `version`: another size is another content."""
    return version.token.partition("-")[0] == str(found.size_bytes)


def _nothing() -> None:
    """Stand in where no progress has to be shown."""
