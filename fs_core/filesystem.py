"""Text files over any backend: the one place where lock, guard, text and edit come together."""

from collections.abc import Callable
from contextlib import suppress
from dataclasses import replace
from functools import cached_property, partial
from typing import TYPE_CHECKING, Final, TypeVar

from anyio import to_thread

from fs_core.advice import with_entries, with_near_names
from fs_core.cancellation import to_the_end
from fs_core.contents import ENTRY_BYTES_MAX, LastSeen, SeenContents
from fs_core.edit import Edit, Spliced, apply_edit
from fs_core.errors import (
    FsError,
    NotFound,
    NotObserved,
    NotRegularFile,
    NotText,
    Operation,
    OutOfRange,
    PermissionDenied,
    Reason,
    StaleVersion,
    TooLarge,
)
from fs_core.locks import TargetLocks
from fs_core.outcomes import (
    DIFF_SOURCE_BYTES_MAX,
    Edited,
    PageRead,
    Written,
    changed_since,
    deleted_since,
    describe_write,
    edited,
    not_text,
    spliced_or_refuse,
)
from fs_core.page import Page, Window
from fs_core.paths import Root, parse_path
from fs_core.policy import Absent, ObservationPolicy, Present
from fs_core.protocol import Backend, Capabilities
from fs_core.reading import ATTEMPTS_MAX, PageSource
from fs_core.text import NotTextFinding, find_not_text
from fs_core.types import (
    Always,
    FileInfo,
    FileKind,
    IfAbsent,
    IfVersion,
    Listing,
    Note,
    NoteKind,
    Snapshot,
    Target,
    Version,
    WriteReceipt,
)

if TYPE_CHECKING:
    from fs_core.search.engine import TreeSearch

__all__ = ["BackedFileSystem"]

INLINE_BYTES_MAX: Final = 1 << 20
"""Up to this size pure work on content runs on the event loop; above it a thread hop is cheaper than the pause."""

T = TypeVar("T")


class BackedFileSystem:
    """The seam over one backend. Safe for concurrent use; changes of one file happen one after another.

    Who may change what is asked of the policy that the caller hands in, inside the target's lock.
    """

    def __init__(self, backend: Backend) -> None:
        self._backend = backend
        self._locks = TargetLocks()
        self._contents = SeenContents()
        self._last_seen = LastSeen()
        self._pages = PageSource(backend, contents=self._contents)

    @property
    def root(self) -> Root:
        """Return where the workspace begins."""
        return self._backend.root

    @property
    def capabilities(self) -> Capabilities:
        """Return what the store can do."""
        return self._backend.capabilities

    @cached_property
    def search(self) -> "TreeSearch":
        """Return what finds directories, names and lines; its libraries load with the first use."""
        from fs_core.search.engine import TreeSearch

        return TreeSearch(self._backend)

    async def resolve(self, path: str) -> Target:
        """Return the identity of the file that `path` names, existing or not.

        Raises:
            InvalidPath, SandboxDenied: see `fs_core.paths.parse_path`; a link that leads out is denied too.
            NotFound: the path goes through a regular file, or ends with `/` and names one.
        """
        rooted = parse_path(path, self._backend.root)
        target = await self._backend.resolve(rooted)
        if rooted.is_directory and rooted.names:
            info = await self._backend.stat(target)
            if info is not None and info.kind is not FileKind.DIRECTORY:
                reason = "is not a directory; a file is named without a / after its name"
                raise NotFound(reason, path=target.display_path, operation="resolve")
        return target

    async def stat(self, target: Target) -> FileInfo | None:
        """Return fresh metadata; `None` when nothing is there."""
        return await self._backend.stat(target)

    async def list(self, target: Target, *, limit: int) -> Listing:
        """Return up to `limit` entries of a directory, sorted by name."""
        return await self._backend.list(target, limit=limit)

    async def read(self, target: Target, window: Window, *, policy: ObservationPolicy) -> PageRead:
        """Return the lines of `window` and the exact number of lines; the whole file is checked to be text.

        Raises:
            NotFound: nothing is there; similar names of the same directory are attached.
            NotRegularFile: no regular file is there; the first names of a directory are attached.
            NotText: with the offset of the first offence. The owner may replace the file all the same.
            OutOfRange: the window starts after the last line. Nothing is recorded.
            StaleVersion: the file kept changing while it was read.
            FsError: from the store of observations. A page whose reading is not remembered would send its reader
                from a change that is refused to a read that does not help, and back.
        """
        seen_before = await policy.observed(target.key)
        try:
            seen = await self._pages.read(target, window)
        except NotFound as error:
            await policy.replace(target.key, seen_before, Absent())
            raise await with_near_names(error, self._backend, target) from error
        except NotRegularFile as error:
            raise await with_entries(error, self._backend, target) from error
        self._last_seen.put(target.key, seen.version.digest)
        result = seen.result
        is_text = isinstance(result, Page)
        if is_text and window.first_line > max(result.total_lines, 1):
            count = "1 line" if result.total_lines == 1 else f"{result.total_lines} lines"
            reason = f"has {count}; line {window.first_line} is past the end"
            raise OutOfRange(reason, path=target.display_path, operation="read")
        # Unless the owner's own write or a later read finished first: that one knows the newer version.
        await policy.replace(target.key, seen_before, Present(seen.version, is_text=is_text))
        if not is_text:
            raise await _not_text(result, seen.size_bytes, target, "read")
        return PageRead(target=target, page=result, version=seen.version)

    async def write(self, target: Target, content: str, *, policy: ObservationPolicy) -> Written:
        """Create or replace a file with exactly `content`.

        Raises:
            NotObserved: the file exists and the policy's owner has not read it.
            StaleVersion: the file is not what the owner last saw.
            NotText: `content` holds a NUL or a lone surrogate.
            TooLarge: more than the store's bound.
        """
        data = self._encode(content, target, "write")
        async with self._locks.hold(target.key):
            receipt, before = await self._publish_new(target, data, policy)
            self._last_seen.put(target.key, receipt.version.digest)
            receipt = await _remembered(receipt, target, policy)
        self._contents.put(receipt.version.digest, data)
        diff, notes = await _described(len(data), lambda: describe_write(before, data, receipt, target))
        return Written(
            target=target,
            created=receipt.created,
            version=receipt.version,
            size_bytes=len(data),
            diff=diff,
            notes=receipt.notes + notes,
        )

    async def edit(self, target: Target, edit: Edit, *, policy: ObservationPolicy) -> Edited:
        """Replace literal text in an existing file; all other bytes stay.

        The caller has refused an edit that searches for nothing or changes nothing.

        Raises:
            NotFound: nothing is there and the owner knew of nothing.
            NotObserved: the policy's owner has not read the file as text.
            StaleVersion: the file is not what the owner last saw; told before anything is searched.
            EditNotFound, AmbiguousEdit: the text has no place, or several and `replace_all` is off.
            NotText: the file, or the new text, is no UTF-8 text.
        """
        self._encode(edit.new_string, target, "edit")
        async with self._locks.hold(target.key):
            seen = await self._seen_for_edit(target, policy)
            spliced, receipt = await self._edit_as_seen(target, edit, seen) or await self._edit_anew(target, edit, seen)
            self._last_seen.put(target.key, receipt.version.digest)
            receipt = await _remembered(receipt, target, policy)
        size_bytes = spliced.splice.size_bytes
        if size_bytes <= ENTRY_BYTES_MAX:
            self._contents.put(receipt.version.digest, spliced.splice.joined())
        return await _described(size_bytes, partial(edited, target, spliced, receipt))

    async def read_bytes(self, target: Target, *, policy: ObservationPolicy) -> bytes:
        """Return the whole file as it is, text or not, and note its version as seen: for programs that carry files.

        Raises:
            NotFound: nothing is there.
            NotRegularFile: no regular file is there.
            TooLarge: more than the store's bound of a write.
            StaleVersion: the file kept changing while it was read.
            FsError: from the store of observations.
        """
        seen_before = await policy.observed(target.key)
        try:
            limit = self._backend.capabilities.write_size_bytes_max
            snapshot = await self._backend.read_whole(target, size_bytes_max=limit)
        except NotFound:
            await policy.replace(target.key, seen_before, Absent())
            raise
        self._last_seen.put(target.key, snapshot.version.digest)
        is_text = await _is_text(snapshot.data)
        await policy.replace(target.key, seen_before, Present(snapshot.version, is_text=is_text))
        return snapshot.data

    async def write_bytes(self, target: Target, data: bytes, *, policy: ObservationPolicy) -> WriteReceipt:
        """Create or replace a file with exactly `data`, text or not: for programs that carry files.

        Raises:
            NotObserved, StaleVersion, TooLarge: as `write`.
        """
        self._refuse_too_large(data, target, "write", what="the new content")
        is_text = await _is_text(data)
        async with self._locks.hold(target.key):
            receipt, _ = await self._publish_new(target, data, policy)
            self._last_seen.put(target.key, receipt.version.digest)
            return await _remembered(receipt, target, policy, is_text=is_text)

    def _encode(self, text: str, target: Target, operation: Operation) -> bytes:
        """Return the bytes of a text that may be stored."""
        if "\0" in text:
            raise NotText("the new text holds a NUL character", path=target.display_path, operation=operation)
        try:
            data = text.encode()
        except UnicodeEncodeError as error:
            raise NotText(
                "the new text holds a lone surrogate", path=target.display_path, operation=operation
            ) from error
        self._refuse_too_large(data, target, operation, what="the new text")
        return data

    def _refuse_too_large(self, data: bytes, target: Target, operation: Operation, *, what: str) -> None:
        limit = self._backend.capabilities.write_size_bytes_max
        if len(data) > limit:
            reason = f"{what} has {len(data)} bytes; at most {limit} are written"
            raise TooLarge(reason, path=target.display_path, operation=operation)

    async def _if_present(self, target: Target) -> Snapshot | None:
        """Return what is about to be replaced; it is only wanted for the difference, so it may be missed."""
        try:
            return await self._backend.read(target, limit=DIFF_SOURCE_BYTES_MAX)
        except (NotFound, PermissionDenied, StaleVersion):
            return None

    async def _current(self, target: Target, seen: Present) -> tuple[Snapshot, Version]:
        """Return the file's beginning and its version, which is the one that was seen."""
        try:
            current = await self._backend.read(target, limit=DIFF_SOURCE_BYTES_MAX)
            version = current.version
            if not current.is_whole and seen.version.same_content(version) is None:
                version = (await self._backend.scan(target, _ignore)).version
        except NotFound as error:
            raise deleted_since(target, "write") from error
        if not seen.version.same_content(version):
            raise await self._changed(target, seen, current)
        # Of a part the token alone was compared; the store has the content to compare as well, if it can.
        return current, version if version.digest is not None else replace(version, digest=seen.version.digest)

    async def _publish_new(
        self, target: Target, data: bytes, policy: ObservationPolicy
    ) -> tuple[WriteReceipt, Snapshot | None]:
        """Write under the condition that the policy asks for; return the old content too, where it is at hand."""
        if not policy.requires_observation:
            before = await self._if_present(target)
            return await self._backend.write(target, data, condition=Always()), before
        seen = await policy.observed(target.key)
        if isinstance(seen, Present):
            return await self._replace_as_seen(target, data, seen)
        try:
            return await self._backend.write(target, data, condition=IfAbsent()), None
        except StaleVersion as error:
            raise NotObserved(Reason.NOT_READ, path=target.display_path, operation="write") from error

    async def _replace_as_seen(self, target: Target, data: bytes, seen: Present) -> tuple[WriteReceipt, Snapshot]:
        """Replace the version that was seen; the store compares it, so a content still at hand is not read again."""
        known = self._at_hand(target, seen)
        if known is not None:
            before = Snapshot(data=known, offset=0, size_bytes=len(known), version=seen.version)
            with suppress(StaleVersion):  # what has changed is told below
                return await self._backend.write(target, data, condition=IfVersion(seen.version)), before
        current, version = await self._current(target, seen)
        return await self._backend.write(target, data, condition=IfVersion(version)), current

    async def _seen_for_edit(self, target: Target, policy: ObservationPolicy) -> Present | None:
        """Return what the owner has seen, `None` if that does not matter, or refuse."""
        if not policy.requires_observation:
            return None
        seen = await policy.observed(target.key)
        if isinstance(seen, Present):
            if seen.is_text:
                return seen
            raise NotObserved(Reason.READ_AS_NO_TEXT, path=target.display_path, operation="edit")
        try:
            await self._backend.read(target, limit=1)
        except NotFound as error:
            missing = NotFound(error.reason, path=target.display_path, operation="edit")
            raise await with_near_names(missing, self._backend, target) from error
        except NotRegularFile:
            pass  # it was not read either, and reading it will tell what it is
        raise NotObserved(Reason.NOT_READ, path=target.display_path, operation="edit")

    def _at_hand(self, target: Target, seen: Present) -> bytes | None:
        """Return the content that was seen, unless it is kept no longer or known not to be the file's any more."""
        digest = seen.version.digest
        return None if self._last_seen.is_another(target.key, digest) else self._contents.get(digest)

    async def _edit_as_seen(
        self, target: Target, edit: Edit, seen: Present | None
    ) -> tuple[Spliced, WriteReceipt] | None:
        """Edit a content that was seen and is still at hand, without reading it again: the store compares the version.

        `None` when it is not at hand, the edit has no one place in it, or the store holds another one.
        """
        known = None if seen is None else self._at_hand(target, seen)
        if seen is None or known is None:
            return None
        spliced = await _inline_or_thread(len(known), partial(apply_edit, known, edit))
        if not isinstance(spliced, Spliced):
            return None
        try:
            return spliced, await self._backend.patch(target, spliced.splice, condition=IfVersion(seen.version))
        except StaleVersion:
            return None

    async def _edit_anew(self, target: Target, edit: Edit, seen: Present | None) -> tuple[Spliced, WriteReceipt]:
        """Read the file and edit it; whoever is guarded is refused if it is no longer as seen, with what changed."""
        for attempt in range(ATTEMPTS_MAX):
            try:
                before = await self._whole(target, seen, edit)
                splice = partial(spliced_or_refuse, before.data, edit, target)
                spliced = await _inline_or_thread(len(before.data), splice)
                condition = IfVersion(before.version)
                return spliced, await self._backend.patch(target, spliced.splice, condition=condition)
            except StaleVersion:
                # Whoever is guarded is stale now. Unguarded, the edit is made again on the newer content.
                if seen is not None or attempt == ATTEMPTS_MAX - 1:
                    raise
        raise AssertionError("the loop returns or raises")

    async def _whole(self, target: Target, seen: Present | None, edit: Edit) -> Snapshot:
        """Return the whole content, known to be text and to be what was seen."""
        limit = self._backend.capabilities.write_size_bytes_max
        try:
            snapshot = await self._backend.read_whole(target, size_bytes_max=limit)
            self._last_seen.put(target.key, snapshot.version.digest)
        except TooLarge as error:
            raise TooLarge(error.reason, path=target.display_path, operation="edit") from error
        except NotFound as error:
            if seen is None:
                raise await with_near_names(error, self._backend, target) from error
            raise deleted_since(target, "edit") from error
        if seen is not None and not seen.version.same_content(snapshot.version):
            raise await self._changed(target, seen, snapshot, edit=edit)
        if seen is None or seen.version.digest != snapshot.version.digest:
            # What was seen as text is text.
            finding = await _inline_or_thread(len(snapshot.data), lambda: find_not_text(snapshot.data))
            if finding is not None:
                raise await _not_text(finding, snapshot.size_bytes, target, "edit")
        return snapshot

    async def _changed(
        self, target: Target, seen: Present, current: Snapshot, *, edit: Edit | None = None
    ) -> StaleVersion:
        """Return the refusal of a change of what is no longer as it was seen, with what has changed meanwhile."""
        work = partial(changed_since, self._contents.get(seen.version.digest), current, target, edit)
        return await _inline_or_thread(len(current.data), work)


def _ignore(data: bytes | bytearray) -> None:
    """Take bytes whose digest alone is wanted."""
    del data


async def _inline_or_thread(size_bytes: int, work: Callable[[], T]) -> T:
    return work() if size_bytes <= INLINE_BYTES_MAX else await to_thread.run_sync(work)


async def _is_text(data: bytes) -> bool:
    return await _inline_or_thread(len(data), lambda: find_not_text(data) is None)


async def _remembered(
    receipt: WriteReceipt, target: Target, policy: ObservationPolicy, *, is_text: bool = True
) -> WriteReceipt:
    """Record a change that has been published; nothing that happens here undoes it, so it is noted on the receipt."""
    try:
        await to_the_end(lambda: policy.record(target.key, Present(receipt.version, is_text=is_text)))
    except FsError as error:
        detail = f"not remembered for this session ({error}); read the file again before the next change"
        return replace(receipt, notes=(*receipt.notes, Note(NoteKind.OBSERVATION_NOT_KEPT, detail)))
    return receipt


async def _described(size_bytes: int, work: Callable[[], T]) -> T:
    """Describe a change that has been published; giving the call up must not hide that it has."""
    return await to_the_end(lambda: _inline_or_thread(size_bytes, work))


async def _not_text(finding: NotTextFinding, size_bytes: int, target: Target, operation: Operation) -> NotText:
    return await to_thread.run_sync(partial(not_text, finding, size_bytes, target, operation))
