"""What a store makes of conditions: found out on a scratch object, because some accept and ignore them."""

import secrets
from dataclasses import dataclass
from typing import Final

import anyio

from backends.s3._client import S3Client, Stored
from backends.s3._errors import Failure, RequestFailed
from backends.s3._lru import Lru
from fs_core.paths import staged_name
from fs_core.protocol import Guard

__all__ = ["AWS_GUARDS", "Guards", "ProbeCheck", "ProbeReport", "known_guards", "probe_store"]

_REFUSALS: Final = frozenset({Failure.PRECONDITION, Failure.MISSING, Failure.CONFLICT})
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
    """What a probe found. `is_cleaned_up` is false when the scratch object could not be removed again."""

    endpoint: str
    bucket: str
    checks: tuple[ProbeCheck, ...]
    guards: Guards
    is_cleaned_up: bool


known_guards: Final[Lru[tuple[str, str], Guards]] = Lru(entries_max=256)
"""What this process has found out, by endpoint and bucket."""


class _Scratch:
    """The scratch object and every version of it that the store has taken."""

    def __init__(self, client: S3Client, key: str) -> None:
        self._client = client
        self._key = key
        self._versions: list[str] = []

    async def put(self, **condition: object) -> Stored | None:
        """Write other bytes under `condition`; `None` when the store refuses or does not understand it."""
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
        is_removed = False
        with anyio.move_on_after(_CLEAN_UP_TIMEOUT_S, shield=True):
            try:
                for version_id in dict.fromkeys(self._versions or [""]):
                    await self._client.delete(self._key, version_id=version_id)
                is_removed = True
            except RequestFailed:
                # The report says so. The object's name keeps it out of listings.
                is_removed = False
        return is_removed


async def probe_store(client: S3Client, *, directory_prefix: str, bucket: str) -> ProbeReport:
    """Ask the store six questions with a scratch object under `directory_prefix`, and remove the object.

    Raises:
        RequestFailed: the store could not be asked; nothing is known then.
    """
    scratch = _Scratch(client, directory_prefix + staged_name(secrets.token_hex(8)))
    try:
        checks, guards = await _ask(scratch)
    finally:
        is_cleaned_up = await scratch.remove()
    return ProbeReport(
        endpoint=client.endpoint, bucket=bucket, checks=checks, guards=guards, is_cleaned_up=is_cleaned_up
    )


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
