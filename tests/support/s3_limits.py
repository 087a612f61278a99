"""The time limits of requests to an S3 service, reached at a test's word."""

from collections.abc import Awaitable, Callable
from typing import Any

import anyio
import pytest

from backends.s3._client import S3Client
from tests.support.s3_proxy import Hold

__all__ = ["TimeLimits"]


class TimeLimits:
    """The limits of all requests of all clients."""

    def __init__(self, patch: pytest.MonkeyPatch) -> None:
        self._scopes: list[anyio.CancelScope] = []
        request = S3Client._request  # pyright: ignore[reportPrivateUsage] - where every request gets its limit

        async def noted(
            client: S3Client, send: Callable[[anyio.CancelScope], Awaitable[Any]], *, attempts: int
        ) -> object:
            async def send_noted(scope: anyio.CancelScope) -> object:
                self._scopes.append(scope)
                return await send(scope)

            return await request(client, send_noted, attempts=attempts)

        patch.setattr(S3Client, "_request", noted)

    async def run_out_at(self, hold: Hold) -> None:
        """Let the limit of the latest request be reached once `hold` has it."""
        await hold.has_arrived()
        self._scopes[-1].deadline = anyio.current_time()
