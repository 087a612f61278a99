"""Faults put into the library, one at a time and in worker processes only, to show that the bench finds them.

Each replaces one thing. The pauses make the moment in which the missing part would have mattered long enough to be
hit in a short run; none of them is between things that the library itself keeps apart with a lock that is left in.
"""

# A mutation reaches into the part that it breaks.
# pyright: reportPrivateUsage=false

import asyncio
import os
import time
from collections.abc import Callable, Generator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, Final

from tests.torture.plan import StoreName

__all__ = ["MUTATIONS", "Mutation"]

_PAUSE_S: Final = 0.02
_SEND_AGAIN_AFTER_S: Final = 0.5


@dataclass(frozen=True, slots=True)
class Mutation:
    """What is broken, on which store; `apply` breaks it in this process."""

    store: StoreName
    what: str
    apply: Callable[[], None]


def _local_without_guard() -> None:
    from backends.local._publish import _Write
    from fs_core.types import Always, IfVersion

    verified_old, publish = _Write.verified_old, _Write.publish

    def unguarded(condition: Any) -> Any:
        return Always() if isinstance(condition, IfVersion) else condition

    def verified_old_of_any(self: Any, condition: Any) -> Any:
        time.sleep(_PAUSE_S)
        return verified_old(self, unguarded(condition))

    def publish_over_any(self: Any, file: Any, content: Any, old: Any, condition: Any) -> Any:
        return publish(self, file, content, old, unguarded(condition))

    _replace(_Write, "verified_old", verified_old_of_any)
    _replace(_Write, "publish", publish_over_any)


def _local_without_lock() -> None:
    from backends.local._lock import ProcessLocks
    from backends.local._publish import _Write

    publish, is_displaced_as_verified = _Write.publish, _Write._is_displaced_as_verified

    @contextmanager
    def hold(self: Any, key: str, *, call: Any, path: str) -> Generator[int]:
        yield 0

    @contextmanager
    def hold_if_free(self: Any, bucket: int) -> Generator[bool]:
        yield False

    def publish_late(self: Any, file: Any, content: Any, old: Any, condition: Any) -> Any:
        time.sleep(_PAUSE_S)
        return publish(self, file, content, old, condition)

    def is_displaced_looked_at_late(self: Any, file: Any, old: Any, expected: Any) -> bool:
        time.sleep(_PAUSE_S)
        return is_displaced_as_verified(self, file, old, expected)

    _replace(ProcessLocks, "hold", hold)
    _replace(ProcessLocks, "hold_if_free", hold_if_free)
    _replace(_Write, "publish", publish_late)
    _replace(_Write, "_is_displaced_as_verified", is_displaced_looked_at_late)


def _local_in_place() -> None:
    from backends.local._publish import _Write

    def publish(self: Any, file: Any, content: Any, old: Any, condition: Any) -> None:
        data = content.joined()
        fd = os.open(self._name, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o644, dir_fd=self._directory)
        try:
            os.write(fd, data[: len(data) // 2])
            time.sleep(_PAUSE_S)
            os.write(fd, data[len(data) // 2 :])
        finally:
            os.close(fd)

    _replace(_Write, "publish", publish)


def _s3_without_guard() -> None:
    from backends.s3._publish import Publisher

    def no_guard(self: Any, condition: Any) -> dict[str, object]:
        return {}

    _replace(Publisher, "_guard", no_guard)


def _s3_lost_answer_is_refusal() -> None:
    from backends.s3 import _publish

    def fate(found: object, *, token: str, condition: object) -> Any:
        return _publish._Fate.CHANGED

    _replace(_publish, "_fate", fate)


def _s3_sent_again_blindly() -> None:
    from backends.s3._errors import Failure, RequestFailed
    from backends.s3._publish import Publisher, Refused

    async def send(self: Any, condition: Any, *, token: str, parameters: Mapping[str, object], after: Any) -> Any:
        given = dict(parameters)
        while True:
            try:
                stored = await self.client.put(self.key, self.data, parameters=given)
            except RequestFailed as failed:
                if failed.failure is Failure.PRECONDITION:
                    raise Refused(await self._look()) from failed
                # The answer was lost, so the guard of the first sending would refuse the second: it is left out.
                given = {name: value for name, value in given.items() if name not in {"IfMatch", "IfNoneMatch"}}
                await asyncio.sleep(_SEND_AGAIN_AFTER_S)
            else:
                return self._head(stored.etag, stored.version_id, after)

    _replace(Publisher, "_send", send)


def _sftp_without_guard() -> None:
    from backends.sftp import _publish
    from backends.sftp._publish import _Write

    def compare(self: Any, client: Any, found: Any, expected: Any, *, on_piece: Callable[[], None]) -> None:
        time.sleep(_PAUSE_S)

    def refuse_nothing(version: Any, found: Any) -> bool:
        return True

    _replace(_Write, "_compare", compare)
    _replace(_publish, "_may_match", refuse_nothing)


def _sftp_without_lock() -> None:
    from backends.sftp import _wire as wire
    from backends.sftp._publish import _Write
    from fs_core.types import IfVersion

    def replace(self: Any, client: Any) -> None:
        condition, path = self._publication.condition, self._publication.path
        if isinstance(condition, IfVersion):
            (looked,) = client.exchange(wire.lstat(path))
            self._compare(client, wire.attributes_of(looked), condition.version, on_piece=self._call.check)
        time.sleep(_PAUSE_S)
        (reply,) = client.exchange(wire.posix_rename(self._staging.path, path))
        wire.raise_for_status(reply)

    _replace(_Write, "_replace", replace)


def _replace(owner: Any, name: str, mutant: object) -> None:
    """Put `mutant` in the place of something that is there."""
    getattr(owner, name)
    setattr(owner, name, mutant)


MUTATIONS: Final[Mapping[str, Mutation]] = {
    "local-no-guard": Mutation("local", "a replacement is made whatever version is there", _local_without_guard),
    "local-no-lock": Mutation("local", "processes do not exclude each other", _local_without_lock),
    "local-in-place": Mutation("local", "a file is overwritten instead of replaced", _local_in_place),
    "s3-no-guard": Mutation("s3", "a PUT goes without its condition", _s3_without_guard),
    "s3-lost-is-refused": Mutation("s3", "a lost answer is reported as a refusal", _s3_lost_answer_is_refusal),
    "s3-sent-again": Mutation("s3", "after a lost answer the PUT is sent again without a look", _s3_sent_again_blindly),
    "sftp-no-guard": Mutation("sftp", "the content is not compared under the lock", _sftp_without_guard),
    "sftp-no-lock": Mutation("sftp", "clients do not exclude each other", _sftp_without_lock),
}
