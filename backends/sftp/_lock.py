"""A lock on one target that every client of the server sees, and that publishing gives up by itself.

The lock is a directory beside the target that holds the owner's upload. It is taken by renaming the upload's private
directory to the lock's name, which rename(2) refuses as long as the lock holds a file. Publishing renames the upload
out of it onto the target: that one atomic step ends the lock. Breaking the lock of a dead owner is removing its upload
by name: after that a slow owner has nothing left to publish. So no clock and no pause can make two owners, or lose an
acknowledged write; time decides only how long a dead owner keeps others waiting (docs/decisions/0005).
"""

import random
import secrets
import time
import unicodedata
from collections.abc import Callable
from contextlib import closing
from dataclasses import dataclass
from itertools import islice
from typing import Final

import xxhash

from backends.sftp import _wire as wire
from backends.sftp._client import SftpClient
from backends.sftp._errors import Fenced
from backends.sftp._resolve import Names, absolute
from backends.sftp._stage import Staging
from backends.sftp._wire import StatusCode, StatusError
from fs_core.errors import PermissionDenied, Unavailable
from fs_core.paths import display, staged_name

__all__ = ["LEASES_WAITED_MAX", "HeldLock", "acquire", "lock_box"]

LEASES_WAITED_MAX: Final = 4
"""A waiter gives up after this many leases, however often the owner changed meanwhile."""
_POLL_FIRST_S: Final = 0.01
_POLL_MAX_S: Final = 0.25
_NAMES_MAX: Final = 4096
"""One upload is in a lock. Whoever puts more there has these removed at a time."""
_ODD_REFUSALS_MAX: Final = 100
"""So often in a row a lock may be found empty right after it was refused before the server is taken at its word."""


def lock_box(target: Names) -> str:
    """Return the path of the directory that is the lock of `target`.

    Spellings that a server without cases or with its own normal form takes for one name share a lock.
    """
    folded = unicodedata.normalize("NFC", "".join(target[-1:])).casefold()
    token = xxhash.xxh3_64_hexdigest(folded.encode("utf-8", "surrogateescape"))
    return absolute((*target[:-1], staged_name(token, suffix="lock")))


@dataclass(slots=True)
class HeldLock:
    """A lock that this write owns, as long as its upload is in it."""

    box: str
    name: str
    lease_s: float
    renewed_at_s: float
    is_removed: bool = False
    """Whether the empty directory that remained of the lock is known to be gone."""

    @property
    def path(self) -> str:
        """Return where the upload is now."""
        return f"{self.box}/{self.name}"

    @property
    def is_within_lease(self) -> bool:
        """Whether no other client can have broken the lock: each watches it for a whole lease before."""
        return time.monotonic() - self.renewed_at_s < self.lease_s

    def renew_if_due(self, client: SftpClient) -> None:
        """Show watchers that the owner lives, by another name for the upload.

        Raises:
            Fenced: the lock was broken.
        """
        now_s = time.monotonic()
        if now_s - self.renewed_at_s < self.lease_s / 3:
            return
        name = staged_name(secrets.token_hex(8))
        (reply,) = client.exchange(wire.rename(self.path, f"{self.box}/{name}"))
        _raise_if_fenced(wire.status_of(reply))
        self.name, self.renewed_at_s = name, now_s

    def publish(self, client: SftpClient, target: str) -> None:
        """Put the upload in the target's place, atomically, which ends the lock; its directory goes in the same flight.

        Raises:
            Fenced: the lock was broken; nothing happened.
        """
        # A directory that still holds an upload, of whomever, is not removed by this.
        renamed, removed = client.exchange(wire.posix_rename(self.path, target), wire.rmdir(self.box))
        _raise_if_fenced(wire.status_of(renamed))
        self.is_removed = wire.status_of(removed) is None


def _raise_if_fenced(status: StatusError | None) -> None:
    if status is None:
        return
    if status.code == StatusCode.NO_SUCH_FILE:
        raise Fenced from status
    raise status


@dataclass(slots=True)
class _Watch:
    """What a waiter has seen in the lock, and since when by its own clock."""

    names: tuple[bytes, ...] = ()
    since_s: float = 0.0
    is_new: bool = False

    def is_dead(self, names: tuple[bytes, ...], lease_s: float) -> bool:
        """Tell whether `names` have been in the lock for a whole lease."""
        now_s = time.monotonic()
        if names != self.names:
            self.names, self.since_s, self.is_new = names, now_s, True
        return now_s - self.since_s >= lease_s


def acquire(
    client: SftpClient,
    staging: Staging,
    box: str,
    *,
    lease_s: float,
    attempt: Callable[[wire.Request], wire.Reply],
    pause: Callable[[float], None],
    on_owner: Callable[[], None],
    shown: str,
) -> HeldLock:
    """Take the lock `box` with the upload in `staging`; `attempt` sends the request that takes it.

    `on_owner` is called for every owner that is waited for; what it raises ends the wait.

    Raises:
        Fenced: someone removed the upload.
        Unavailable: others held the lock for too long.
        PermissionDenied: another user's client has left it, and it may not be removed.
    """
    give_up_s = time.monotonic() + LEASES_WAITED_MAX * lease_s
    watch = _Watch()
    delay_s = _POLL_FIRST_S
    odd_refusals = 0
    while True:
        taken_at_s = time.monotonic()
        refusal = wire.status_of(attempt(wire.posix_rename(staging.box, box)))
        if refusal is None:
            return HeldLock(box=box, name=staging.name, lease_s=lease_s, renewed_at_s=taken_at_s)
        if refusal.code == StatusCode.NO_SUCH_FILE:
            raise Fenced from refusal
        names = _names_in(client, box)
        if names == ():
            # Released in between; or a server whose rename does not replace an empty directory, so that is removed.
            odd_refusals += 1
            if odd_refusals > _ODD_REFUSALS_MAX:
                raise _explained(refusal, staging, box, shown=shown)
            client.exchange(wire.rmdir(box))
            pause(_POLL_FIRST_S * random.random())  # noqa: S311 - spreads waiters, keeps no secret
        elif names is not None and watch.is_dead(names, lease_s):
            stuck = _break(client, box, names)
            if stuck is not None:
                raise _explained(stuck, staging, box, shown=shown)
        elif taken_at_s >= give_up_s:
            waited = f"{LEASES_WAITED_MAX * lease_s:g} s"
            reason = f"other clients held the lock {_shown_lock(staging, box)} for {waited}; try again later"
            raise Unavailable(reason, path=shown, operation="write", retryable=True)
        else:
            odd_refusals = 0
            if watch.is_new:
                watch.is_new = False
                on_owner()
            pause(delay_s * random.uniform(0.5, 1.0))  # noqa: S311 - spreads waiters, keeps no secret
            delay_s = min(delay_s * 1.5, _POLL_MAX_S)


def _names_in(client: SftpClient, box: str) -> tuple[bytes, ...] | None:
    """Return what is in the lock; nothing when it is gone, `None` when its owner lets nobody look."""
    try:
        with closing(client.read_directory(box)) as entries:
            return tuple(sorted(entry.name for entry in islice(entries, _NAMES_MAX)))
    except StatusError as error:
        if error.code == StatusCode.PERMISSION_DENIED:
            return None
        if error.code != StatusCode.NO_SUCH_FILE:
            raise
        return ()


def _break(client: SftpClient, box: str, names: tuple[bytes, ...]) -> StatusError | None:
    """Fence a dead owner: remove exactly what was watched, so that a living successor is not hit; return a refusal."""
    paths = (f"{box}/{name.decode('utf-8', 'surrogateescape')}" for name in names)
    refusals = [wire.status_of(reply) for reply in client.exchange(*(wire.remove(path) for path in paths))]
    return next((refusal for refusal in refusals if refusal and refusal.code != StatusCode.NO_SUCH_FILE), None)


def _explained(refusal: StatusError, staging: Staging, box: str, *, shown: str) -> Exception:
    """Return what it means that a lock can be neither taken nor broken."""
    if refusal.code != StatusCode.PERMISSION_DENIED:
        return refusal
    reason = (
        f"a client of another user has left the lock {_shown_lock(staging, box)}, which this user may not remove; "
        "if nobody is writing the file, have it removed on the server"
    )
    return PermissionDenied(reason, path=shown, operation="write")


def _shown_lock(staging: Staging, box: str) -> str:
    return display(staging.parent[-1:]) + box[box.rindex("/") :]
