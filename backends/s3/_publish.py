"""One guarded PUT, and what became of it when the answer does not tell.

Every PUT carries a token of its own and those of the writes before it (its lineage) in the object's metadata. After
an answer that may concern a copy of our own request, and after none, a look at the object decides.
"""

import secrets
from collections.abc import Mapping
from dataclasses import dataclass, replace
from enum import Enum, auto
from functools import partial
from typing import Final

import anyio

from backends.s3._client import S3Client, backoff_s
from backends.s3._errors import Failure, RequestFailed
from backends.s3._objects import LINEAGE_LENGTH, Kept, ObjectHead, put_parameters
from backends.s3._probe import Guards
from fs_core.cancellation import to_the_end
from fs_core.errors import OutcomeUnknown
from fs_core.types import Always, IfAbsent, IfVersion, WriteCondition

__all__ = ["Publisher", "Refused"]

_SENDS_MAX: Final = 3
_UNSETTLED: Final = frozenset({Failure.CONFLICT, Failure.THROTTLED, Failure.SERVER, Failure.CUT, Failure.TIMEOUT})
"""What leaves open whether the PUT took effect. Only a timeout is not sent again: the request may still be on its way,
so a look that does not find it settles nothing, and another one would only add to the wait."""


class Refused(Exception):
    """Raised when the condition did not hold. `found` is what stands there now."""

    def __init__(self, found: ObjectHead | None) -> None:
        self.found = found
        super().__init__("the condition of the write does not hold")


class _Fate(Enum):
    """What a look says about a PUT."""

    DONE = auto()
    DONE_AND_REPLACED = auto()
    UNCHANGED = auto()
    CHANGED = auto()


@dataclass(frozen=True, slots=True)
class Publisher:
    """One write of one object: same bytes, same metadata and same token for every sending.

    `condition` is checked by the store; the token of an `IfVersion` is an ETag here.
    """

    client: S3Client
    guards: Guards
    key: str
    display_path: str
    data: bytes

    async def publish(self, condition: WriteCondition, *, kept: Kept, extra: Mapping[str, object]) -> ObjectHead:
        """Send the PUT and learn its outcome, also when the caller is cancelled meanwhile.

        Raises:
            Refused: the condition does not hold.
            RequestFailed: nothing was written.
            OutcomeUnknown: the PUT may have happened and the store cannot be asked.
        """
        token = secrets.token_hex(8)
        parameters, lineage = put_parameters(kept, token=token)
        parameters |= {**extra, **self._guard(condition)}
        after = replace(kept, lineage=lineage, lost=())
        return await to_the_end(partial(self._send, condition, token=token, parameters=parameters, after=after))

    def _guard(self, condition: WriteCondition) -> dict[str, object]:
        match condition:
            case Always():
                return {}
            case IfAbsent():
                return {"IfNoneMatch": "*"}
            case IfVersion(version):
                return {"IfMatch": self.guards.if_match(version.token)}

    async def _send(
        self, condition: WriteCondition, *, token: str, parameters: Mapping[str, object], after: Kept
    ) -> ObjectHead:
        is_open = is_lost = False
        for sending in range(1, _SENDS_MAX + 1):
            try:
                stored = await self.client.put(self.key, self.data, parameters=parameters)
            except RequestFailed as failed:
                is_refusal = failed.failure in _refusals(condition)
                is_final = not is_refusal and failed.failure not in _UNSETTLED
                if is_final and not is_lost:
                    raise
                is_open = is_open or not is_refusal
                is_lost = is_lost or failed.failure is Failure.CUT
                settled = await self._settle(failed, condition, token=token, after=after, is_open=is_open)
                if settled is not None:
                    return settled
                if is_lost and (is_final or sending == _SENDS_MAX):
                    raise self._unknown("the connection broke, and what was sent may still be written") from failed
                if sending == _SENDS_MAX:
                    raise
                await anyio.sleep(backoff_s(sending))
            else:
                return self._head(stored.etag, stored.version_id, after)
        raise AssertionError("the last sending returns or raises")  # pragma: no cover

    async def _settle(
        self, failed: RequestFailed, condition: WriteCondition, *, token: str, after: Kept, is_open: bool
    ) -> ObjectHead | None:
        """Look what became of a PUT; `None` if it did not happen and may be sent again.

        `is_open` tells that the answer to some sending was lost.
        """
        found = await self._look()
        fate = _fate(found, token=token, condition=condition)
        if fate is _Fate.DONE and found is not None:
            if found.size_bytes != len(self.data):
                raise self._unknown(f"the store kept {found.size_bytes} of {len(self.data)} bytes") from failed
            return found
        if fate is _Fate.DONE_AND_REPLACED:
            # It is not known which ETag ours had. This one matches no object, as it should by now.
            return self._head(f"replaced-{token}", "", after)
        if failed.failure in _refusals(condition) or fate is _Fate.CHANGED:
            if is_open and _is_forgotten(found, after.lineage):
                raise self._unknown("the write may have been one of many since then") from failed
            raise Refused(found) from failed
        if failed.failure is Failure.TIMEOUT:
            raise self._unknown("the store did not answer in time, and may still write") from failed
        return None

    def _head(self, etag: str, version_id: str, kept: Kept) -> ObjectHead:
        return ObjectHead(etag=etag, version_id=version_id, size_bytes=len(self.data), kept=kept)

    async def _look(self) -> ObjectHead | None:
        try:
            return await self.client.head(self.key)
        except RequestFailed as blind:
            raise self._unknown("the write may have happened, and the store cannot be asked now") from blind

    def _unknown(self, what: str) -> OutcomeUnknown:
        return OutcomeUnknown(f"{what}; read the file before going on", path=self.display_path, operation="write")


def _refusals(condition: WriteCondition) -> frozenset[Failure]:
    """Return the answers that say that `condition` does not hold: Amazon S3 answers 404 to `If-Match` without object.

    The same answer to any other PUT is a fault of the store, of which the condition knows nothing.
    """
    refusals = {Failure.PRECONDITION, Failure.MISSING} if isinstance(condition, IfVersion) else {Failure.PRECONDITION}
    return frozenset(refusals)


def _fate(found: ObjectHead | None, *, token: str, condition: WriteCondition) -> _Fate:
    if found is not None and token in found.kept.lineage:
        return _Fate.DONE if found.kept.lineage[0] == token else _Fate.DONE_AND_REPLACED
    match condition:
        case Always():
            return _Fate.UNCHANGED
        case IfAbsent():
            return _Fate.UNCHANGED if found is None else _Fate.CHANGED
        case IfVersion(version):
            return _Fate.UNCHANGED if found is not None and found.etag == version.token else _Fate.CHANGED


def _is_forgotten(found: ObjectHead | None, lineage: tuple[str, ...]) -> bool:
    """Tell whether so many have written since that the object no longer says whether `lineage` was continued.

    Its first token is that of our write. Of the others, those of the writes before it, none is left then.
    """
    if found is None or len(found.kept.lineage) < LINEAGE_LENGTH:
        return False
    return not set(lineage[1:]) & set(found.kept.lineage)
