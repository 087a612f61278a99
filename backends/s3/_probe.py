"""What a store makes of conditions: found out on scratch objects, because some accept and ignore them.

One answer decides nothing against a store: a request that a proxy on the way sends twice is refused although the store
honours conditions, and what is found out here holds for as long as the process lives.
"""

import secrets
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import timedelta
from functools import partial
from typing import Final

import anyio
from anyio.lowlevel import checkpoint

from backends.s3._client import S3Client, Stored
from backends.s3._errors import Failure, RequestFailed
from backends.s3._lru import Lru
from fs_core.cancellation import to_the_end
from fs_core.paths import is_staged_name, staged_name
from fs_core.protocol import Guard

__all__ = ["AWS_GUARDS", "Guards", "ProbeCheck", "ProbeReport", "known_guards", "probe_store"]

_ROUNDS_MAX: Final = 3
_SCRATCH_REQUESTS_MAX: Final = 10
"""How many requests one scratch object sees in its life, each of which is bounded in time."""

_LEFTOVERS_MAX: Final = 100
_REFUSALS: Final = frozenset({Failure.PRECONDITION, Failure.MISSING})
_NOT_UNDERSTOOD: Final = frozenset({Failure.NOT_OFFERED, Failure.OTHER})
_CLEAN_UP_TIMEOUT_S: Final = 10.0
_NO_SUCH_ETAG: Final = "00000000000000000000000000000000"


@dataclass(frozen=True, slots=True)
class Guards:
    """Which conditions of a PUT a store honours, and whether it wants the entity tag in quotes."""

    create: Guard
    replace: Guard
    is_etag_quoted: bool = True

    def if_match(self, etag: str) -> str:
        """Return the header's value for `etag`."""
        return f'"{etag}"' if self.is_etag_quoted else etag


AWS_GUARDS: Final = Guards(create=Guard.NATIVE, replace=Guard.NATIVE)
"""Amazon S3 documents both conditions (User Guide, "Add preconditions to S3 operations with conditional requests")."""


@dataclass(frozen=True, slots=True)
class ProbeCheck:
    """One question put to the store, and whether the answer was the one that a guard needs."""

    name: str
    passed: bool


@dataclass(frozen=True, slots=True)
class ProbeReport:
    """What a probe found. `is_cleaned_up` is false when a scratch object could not be removed again."""

    endpoint: str
    bucket: str
    checks: tuple[ProbeCheck, ...]
    guards: Guards
    is_cleaned_up: bool


known_guards: Final[Lru[tuple[str, str], Guards]] = Lru(entries_max=256)
"""What this process has found out, by endpoint and bucket."""


class _Scratch:
    """The scratch object and every version of it that the store has taken."""

    def __init__(self, client: S3Client, directory_prefix: str) -> None:
        self._client = client
        self._directory_prefix = directory_prefix
        self._key = directory_prefix + staged_name(secrets.token_hex(8))
        self._versions: list[str] = []

    async def put(self, **condition: object) -> Stored | None:
        """Write other bytes under `condition`; `None` when the store refuses or does not understand it.

        A request under way is awaited though the caller is cancelled: else it could take effect after `remove`.
        """
        await checkpoint()  # a cancellation that the last request has held off shows here
        return await to_the_end(partial(self._put, condition))

    async def _put(self, condition: Mapping[str, object]) -> Stored | None:
        try:
            stored = await self._client.put(self._key, secrets.token_bytes(16), parameters=condition)
        except RequestFailed as failed:
            if failed.failure in _REFUSALS | _NOT_UNDERSTOOD:
                return None
            raise
        self._versions.append(stored.version_id)
        return stored

    async def remove(self) -> bool:
        """Remove what was written, also when the caller is being cancelled."""
        return await to_the_end(self._remove)

    async def _remove(self) -> bool:
        is_removed = False
        with anyio.move_on_after(_CLEAN_UP_TIMEOUT_S):
            try:
                for version_id in dict.fromkeys(self._versions or [""]):
                    await self._client.delete(self._key, version_id=version_id)
                is_removed = True
            except RequestFailed:
                # The report says so. The object's name keeps it out of listings.
                is_removed = False
        return is_removed

    async def sweep(self) -> None:
        """Remove the scratch objects of processes that died while they asked, if they are old by the store's clock.

        No fault of this makes a probe fail: what cannot be removed now is hidden, and looked at by the next one.
        """
        try:
            page = await self._client.list_page(f"{self._directory_prefix}.seamfs-", size=_LEFTOVERS_MAX)
            found = page.get("Contents", [])
            changed = {item["Key"]: item["LastModified"] for item in found if "Key" in item and "LastModified" in item}
            age_max = timedelta(seconds=_SCRATCH_REQUESTS_MAX * self._client.request_timeout_s)
            for key, changed_at in changed.items():
                is_old = changed_at < max(changed.values()) - age_max
                if is_old and is_staged_name(key.removeprefix(self._directory_prefix)):
                    await self._client.delete(key)
        except RequestFailed:
            return


async def probe_store(client: S3Client, *, directory_prefix: str, bucket: str) -> ProbeReport:
    """Ask the store six questions with a scratch object under `directory_prefix`, and remove the object.

    A store that seems to ignore a condition is asked up to `_ROUNDS_MAX` times; the best answers count.

    Raises:
        RequestFailed: the store could not be asked; nothing is known then.
    """
    best: tuple[tuple[ProbeCheck, ...], Guards] | None = None
    is_cleaned_up = True
    for _ in range(_ROUNDS_MAX):
        scratch = _Scratch(client, directory_prefix)
        try:
            found = await _ask(scratch)
            await scratch.sweep()
        finally:
            is_cleaned_up = await scratch.remove() and is_cleaned_up
        if best is None or _native_count(found[1]) > _native_count(best[1]):
            best = found
        if _native_count(best[1]) == _native_count(AWS_GUARDS):
            break
    if best is None:
        raise AssertionError("at least one round was asked")
    checks, guards = best
    return ProbeReport(
        endpoint=client.endpoint, bucket=bucket, checks=checks, guards=guards, is_cleaned_up=is_cleaned_up
    )


def _native_count(guards: Guards) -> int:
    return (guards.create, guards.replace).count(Guard.NATIVE)


async def _ask(scratch: _Scratch) -> tuple[tuple[ProbeCheck, ...], Guards]:
    created = await scratch.put(IfNoneMatch="*")
    creates = [
        ProbeCheck("a create is accepted when nothing is there", created is not None),
        ProbeCheck("a create is refused when something is there", await scratch.put(IfNoneMatch="*") is None),
    ]
    forms: list[list[ProbeCheck]] = []
    for is_quoted in (True, False):
        form = "quoted" if is_quoted else "unquoted"
        current = await scratch.put()
        if current is None:
            break
        guards = Guards(create=Guard.NONE, replace=Guard.NONE, is_etag_quoted=is_quoted)
        wrong = await scratch.put(IfMatch=guards.if_match(_NO_SUCH_ETAG))
        right = await scratch.put(IfMatch=guards.if_match((wrong or current).etag))
        forms.append(
            [
                ProbeCheck(f"a replace with another version's {form} ETag is refused", wrong is None),
                ProbeCheck(f"a replace with the right {form} ETag is accepted", right is not None),
            ]
        )
        if all(check.passed for check in forms[-1]):
            break
    replaces = next((form for form in forms if all(check.passed for check in form)), None)
    guards = Guards(
        create=Guard.NATIVE if all(check.passed for check in creates) else Guard.NONE,
        replace=Guard.NATIVE if replaces is not None else Guard.NONE,
        is_etag_quoted=replaces is None or replaces is forms[0],
    )
    return (*creates, *(check for form in forms for check in form)), guards
