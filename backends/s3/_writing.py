"""Writes of one object under each condition, on stores that honour conditions and, if allowed, on others."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Final

from backends.s3._client import S3Client
from backends.s3._errors import Failure, RequestFailed
from backends.s3._keys import Location
from backends.s3._objects import Kept, ObjectHead, etag_of
from backends.s3._placement import place_new
from backends.s3._probe import Guards
from backends.s3._publish import Publisher, Refused
from fs_core.digest import ContentHasher, content_digest
from fs_core.errors import FsError, NotRegularFile, Reason, StaleVersion, Unsupported
from fs_core.protocol import Guard
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

__all__ = ["Writer"]

_ATTEMPTS: Final = 4
"""How often a write starts again because the object changed in a way that does not break its condition."""


@dataclass(frozen=True, slots=True)
class Writer:
    """One write. `recall` and `remember` are the backend's memory of heads by key and ETag."""

    client: S3Client
    location: Location
    guards: Guards
    allow_unsafe: bool
    compare_size_bytes_max: int
    recall: Callable[[str, str], ObjectHead | None]
    remember: Callable[[str, ObjectHead], None]
    key: str
    display_path: str
    data: bytes

    async def write(self, condition: WriteCondition) -> WriteReceipt:
        """Write under `condition`; errors as `Backend.write`, and `RequestFailed`."""
        match condition:
            case Always():
                return await self._write_always()
            case IfAbsent():
                self._refuse_unguarded(self.guards.create)
                return await self._create()
            case IfVersion(version):
                self._refuse_unguarded(self.guards.replace)
                return await self._replace(version)

    async def _create(self) -> WriteReceipt:
        for _ in range(_ATTEMPTS):
            parents = await place_new(self.client, self.location, self.key)
            try:
                return await self._put_new(parents)
            except Refused as refused:
                if refused.found is not None:
                    break
        raise self._stale(Reason.EXISTS)

    async def _replace(self, version: Version) -> WriteReceipt:
        head = self.recall(self.key, etag_of(version)) if self.guards.replace is Guard.NATIVE else None
        if head is None:
            head = await self._unchanged(await self.client.head(self.key), version)
        for _ in range(_ATTEMPTS):
            try:
                return await self._put_over(head)
            except Refused as refused:
                head = await self._unchanged(refused.found, version)
        raise self._stale(Reason.CHANGED)

    async def _write_always(self) -> WriteReceipt:
        for _ in range(_ATTEMPTS):
            head = await self.client.head(self.key)
            try:
                if head is not None:
                    return await self._put_over(head)
                return await self._put_new(await place_new(self.client, self.location, self.key))
            except Refused:
                continue
        head = await self.client.head(self.key)
        return await self._put(Always(), head)

    async def _put_new(self, parents: tuple[str, ...]) -> WriteReceipt:
        if self.guards.create is Guard.NATIVE:
            receipt = await self._put(IfAbsent(), None)
        else:
            found = await self.client.head(self.key)
            if found is not None:
                raise Refused(found)
            receipt = await self._put(Always(), None)
        if not parents:
            return receipt
        note = Note(NoteKind.PARENTS_CREATED, ", ".join(parents))
        return replace(receipt, notes=(note, *receipt.notes))

    async def _put_over(self, head: ObjectHead) -> WriteReceipt:
        is_guarded = self.guards.replace is Guard.NATIVE
        return await self._put(IfVersion(Version(token=head.etag)) if is_guarded else Always(), head)

    async def _put(self, condition: WriteCondition, over: ObjectHead | None) -> WriteReceipt:
        kept, tagging = await self._with_tags(over.kept if over is not None else Kept())
        publisher = Publisher(self.client, self.guards, self.key, self.display_path, self.data)
        head = await publisher.publish(condition, kept=kept, extra=tagging)
        self.remember(self.key, head)
        version = head.version(content_digest(self.data))
        return WriteReceipt(version=version, created=over is None, notes=self._notes(kept.lost))

    async def _with_tags(self, kept: Kept) -> tuple[Kept, dict[str, object]]:
        """Return what is kept and the parameter that keeps the tags, which take a request of their own to read."""
        if not kept.tag_count:
            return kept, {}
        try:
            return kept, {"Tagging": await self.client.tagging(self.key)}
        except RequestFailed as failed:
            if failed.failure not in {Failure.DENIED, Failure.NOT_OFFERED}:
                raise
            return replace(kept, tag_count=0, lost=(*kept.lost, "the tags")), {}

    def _notes(self, lost: tuple[str, ...]) -> tuple[Note, ...]:
        notes: list[Note] = []
        if lost:
            notes.append(Note(NoteKind.METADATA_NOT_KEPT, f"not kept: {', '.join(lost)}"))
        if Guard.NONE in {self.guards.create, self.guards.replace}:
            detail = "this store ignores conditions, so a change by someone else at the same time may be lost"
            notes.append(Note(NoteKind.UNSAFE_WRITE, detail))
        return tuple(notes)

    async def _unchanged(self, found: ObjectHead | None, version: Version) -> ObjectHead:
        """Return `found` if it has the content of `version`, whatever its ETag; else raise what became of it."""
        if found is None:
            if await self.client.has_any(self.location.below(self.key)):
                raise NotRegularFile(Reason.IS_DIRECTORY, path=self.display_path, operation="write")
            raise self._stale(Reason.DELETED)
        if found.etag != etag_of(version) and not await self._has_digest(found, version.digest):
            raise self._stale(Reason.CHANGED)
        return found

    async def _has_digest(self, found: ObjectHead, digest: Digest | None) -> bool:
        if digest is None or found.size_bytes > self.compare_size_bytes_max:
            return False
        hasher = ContentHasher()
        try:
            await self.client.feed(self.key, hasher.update, etag=found.etag)
        except RequestFailed as failed:
            if failed.failure in {Failure.PRECONDITION, Failure.MISSING}:
                return False
            raise
        return hasher.digest() == digest

    def _refuse_unguarded(self, guard: Guard) -> None:
        if guard is Guard.NONE and not self.allow_unsafe:
            reason = (
                "this store ignores conditions, so a change by someone else could be lost unnoticed; "
                "set allow_unsafe_writes to write all the same"
            )
            raise Unsupported(reason, path=self.display_path, operation="write")

    def _stale(self, reason: str) -> FsError:
        return StaleVersion(reason, path=self.display_path, operation="write")
