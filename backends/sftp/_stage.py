"""The upload on its way: a private directory beside the target with the new content in it."""

import secrets
from dataclasses import dataclass, field
from typing import Final

from backends.sftp import _wire as wire
from backends.sftp._client import SftpClient
from backends.sftp._content import Content
from backends.sftp._resolve import Confinement, Names, absolute
from backends.sftp._wire import OpenFlag, StatusCode, StatusError
from fs_core.errors import IoFault, NoSpace, NotFound, Reason
from fs_core.paths import staged_name
from fs_core.types import FileKind, Note, NoteKind

__all__ = ["Staged", "Staging", "discard", "stage"]

_PARENTS_ATTEMPTS_MAX: Final = 3
_SET_ID_BITS: Final = 0o6000


@dataclass(slots=True)
class Staging:
    """Where one write keeps its upload, and which directories it made.

    The directory is what becomes the target's lock (see `_lock`), the file in it is what is published.
    """

    parent: Names
    token: str = field(default_factory=lambda: secrets.token_hex(8))
    parents_made: list[Names] = field(default_factory=list[Names])

    @property
    def name(self) -> str:
        """Return the name of the upload in its directory, which is called the same."""
        return staged_name(self.token)

    @property
    def box(self) -> str:
        """Return the path of the private directory."""
        return absolute((*self.parent, self.name))

    @property
    def path(self) -> str:
        """Return the path of the upload."""
        return f"{self.box}/{self.name}"


@dataclass(frozen=True, slots=True)
class Staged:
    """A complete upload: its attributes on the server, and what could not be kept of the replaced file."""

    attributes: wire.Attributes
    notes: tuple[Note, ...]


def stage(
    client: SftpClient,
    staging: Staging,
    content: Content,
    *,
    replaced: wire.Attributes | None,
    root: Confinement,
    shown: str,
) -> Staged:
    """Upload `content`, with the mode and, where permitted, the owner of the file that it will replace.

    Every write's status, the flush and the size on the server are checked.

    Raises:
        NoSpace: the store is full.
        NotFound: a parent is no directory.
        StatusError, ConnectionLost: see `SftpClient`.
    """
    mode = None if replaced is None else replaced.permissions
    # Never readable by more than the old file is, also while it is incomplete.
    handle = _open(client, staging, permissions=None if mode is None else mode & 0o777, root=root, shown=shown)
    then = [wire.fstat(handle), wire.close(handle)]
    if client.has_fsync:
        then.insert(0, wire.fsync(handle))
    if mode is not None:
        then.insert(0, wire.set_mode_by_handle(handle, mode))
    try:
        replies = client.upload(handle, content, then=tuple(then))
        *before, looked, closed = replies
        wire.raise_for_status(closed)
        if client.has_fsync:
            wire.raise_for_status(before[-1])
        attributes = wire.attributes_of(looked)
    except StatusError as error:
        raise _explained(client, staging, error, size_bytes=content.size_bytes, shown=shown) from error
    client.clock.learn(attributes.mtime_s)
    if attributes.size_bytes != content.size_bytes:
        reason = f"only {attributes.size_bytes} of {content.size_bytes} bytes arrived on the server"
        failure = _full(client, staging, size_bytes=content.size_bytes, shown=shown)
        raise failure or IoFault(reason, path=shown, operation="write")
    mode_refusal = None if mode is None else wire.status_of(before[0])
    return _keep_owner(client, staging, attributes, replaced, mode_refusal=mode_refusal)


def _open(client: SftpClient, staging: Staging, *, permissions: int | None, root: Confinement, shown: str) -> bytes:
    """Make the private directory and open the upload in it, in one flight; missing parents are made."""
    opening = wire.open_file(staging.path, OpenFlag.WRITE, OpenFlag.CREATE, OpenFlag.EXCLUSIVE, permissions=permissions)
    for _ in range(_PARENTS_ATTEMPTS_MAX):
        made, opened = client.exchange(wire.mkdir(staging.box), opening)
        refusal = wire.status_of(made)
        if refusal is None:
            status = wire.status_of(opened)
            if status is not None and status.code == StatusCode.NO_SUCH_FILE:
                # A server need not keep the order of requests about two names.
                opened = client.ask(opening)
            return wire.handle_of(opened)
        if refusal.code != StatusCode.NO_SUCH_FILE:
            raise _explained(client, staging, refusal, size_bytes=0, shown=shown) from refusal
        _make_parents(client, staging, root=root, shown=shown)
    raise NotFound("its directory is removed again and again by someone else", path=shown, operation="write")


def _make_parents(client: SftpClient, staging: Staging, *, root: Confinement, shown: str) -> None:
    """Make the directories between the root and the target that are missing."""
    paths = [staging.parent[:count] for count in range(len(root.names) + 1, len(staging.parent) + 1)]
    for names, reply in zip(paths, client.exchange(*(wire.lstat(absolute(names)) for names in paths)), strict=True):
        status = wire.status_of(reply)
        if status is None:
            _refuse_no_directory(wire.attributes_of(reply), shown=shown)
            continue
        if status.code != StatusCode.NO_SUCH_FILE:
            raise status
        # Noted before it is known: a connection that is cut now must not leave it behind.
        staging.parents_made.append(names)
        (made,) = client.exchange(wire.mkdir(absolute(names)))
        refusal = wire.status_of(made)
        if refusal is None:
            continue
        staging.parents_made.pop()
        # Perhaps someone else was faster.
        (again,) = client.exchange(wire.lstat(absolute(names)))
        if wire.status_of(again) is not None:
            raise refusal
        _refuse_no_directory(wire.attributes_of(again), shown=shown)


def _refuse_no_directory(attributes: wire.Attributes, *, shown: str) -> None:
    if attributes.kind is not FileKind.DIRECTORY:
        raise NotFound(Reason.THROUGH_FILE, path=shown, operation="write")


def _keep_owner(
    client: SftpClient,
    staging: Staging,
    attributes: wire.Attributes,
    replaced: wire.Attributes | None,
    *,
    mode_refusal: StatusError | None,
) -> Staged:
    """Give the upload the owner of the replaced file if that is another one, and name what was not kept."""
    if replaced is None:
        return Staged(attributes, ())
    lost: list[str] = []
    mode = replaced.permissions
    if mode_refusal is not None and mode is not None:
        lost.append(f"mode {mode:04o}")
    uid, gid = replaced.uid, replaced.gid
    if uid is not None and gid is not None and (uid, gid) != (attributes.uid, attributes.gid):
        owned, _, looked = client.exchange(
            wire.set_owner(staging.path, uid, gid),
            # A change of owner takes the special bits away.
            wire.set_mode(staging.path, mode or 0o600),
            wire.lstat(staging.path),
        )
        attributes = wire.attributes_of(looked)
        if wire.status_of(owned) is not None:
            lost.append(f"owner {uid}:{gid}")
            if mode is not None and mode & _SET_ID_BITS:
                client.exchange(wire.set_mode(staging.path, mode & ~_SET_ID_BITS))
                lost.append("set-id bits, which must not pass to another owner")
    notes = (Note(NoteKind.METADATA_NOT_KEPT, f"not kept: {', '.join(lost)}"),) if lost else ()
    return Staged(attributes, notes)


def _explained(client: SftpClient, staging: Staging, error: StatusError, *, size_bytes: int, shown: str) -> Exception:
    """Return what a refusal means: OpenSSH reports a full disk as a bare failure."""
    if error.code != StatusCode.FAILURE:
        return error
    return _full(client, staging, size_bytes=size_bytes, shown=shown) or error


def _full(client: SftpClient, staging: Staging, *, size_bytes: int, shown: str) -> NoSpace | None:
    """Return `NoSpace` if the file system of the target cannot take `size_bytes` more."""
    if not client.has_statvfs:
        return None
    (reply,) = client.exchange(wire.statvfs(absolute(staging.parent)))
    if wire.status_of(reply) is not None:
        return None
    _, block_bytes, _, _, blocks, files, _, files_free = wire.fields_of(reply, 8)
    if blocks * block_bytes > size_bytes and (files_free > 0 or files == 0):
        return None
    reason = f"the server has {blocks * block_bytes} bytes and {files_free} files left"
    return NoSpace(reason, path=shown, operation="write")


def discard(client: SftpClient, staging: Staging, *boxes: str) -> None:
    """Remove the upload wherever it is now, and the parents that were made for it, as far as they are empty.

    Refusals are no fault: what is not there needs no removal, and a directory in use by others stays.
    """
    client.exchange(*(wire.remove(f"{box}/{staging.name}") for box in boxes))
    client.exchange(*(wire.rmdir(box) for box in boxes))
    for names in reversed(staging.parents_made):
        client.exchange(wire.rmdir(absolute(names)))
    staging.parents_made.clear()
