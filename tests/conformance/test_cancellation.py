"""Every operation on every store, cancelled wherever it waits: the file is whole and nothing is left behind.

A call that returned has written, one that was cancelled has not; the next one finds no lock and no place taken, and a
caller that was cancelled never goes on as if it had not been.
"""

from typing import Final

import pytest

from tests.support.nth_await import Way, cancelled_at_suspension
from tests.support.store_operations import cancelled_everywhere, names_for
from tests.support.store_stage import new_store, staged

pytestmark = pytest.mark.anyio

_ALL_RUNS: Final = (("asyncio", Way.SCOPE), ("asyncio", Way.TASK), ("trio", Way.SCOPE))
_FEW: Final = ("open", "session create", "session edit")
"""What takes every path through a backend, for a second loop or way where each cancellation costs a connection."""

_RUNS: Final = [
    *((store, loop, way, names_for(store)) for store in ("memory", "local", "generic") for loop, way in _ALL_RUNS),
    *((store, "asyncio", Way.SCOPE, names_for(store)) for store in ("seaweedfs", "embedded-sftp", "sshd")),
    ("moto", "asyncio", Way.SCOPE, ("read", "list", "probe", *_FEW)),
    ("seaweedfs", "asyncio", Way.TASK, _FEW),
    ("embedded-sftp", "asyncio", Way.TASK, _FEW),
    ("embedded-sftp", "trio", Way.SCOPE, _FEW),
]
_STRIDES: Final = {"moto": 11, "seaweedfs": 5}
"""How many suspensions are passed over where there are dozens in a row inside the HTTP client."""


@pytest.mark.parametrize(
    ("store", "anyio_backend", "way", "names"),
    [
        pytest.param(store, loop, way, names, marks=pytest.mark.xdist_group(store), id=f"{store}-{loop}-{way}")
        for store, loop, way, names in _RUNS
    ],
)
async def test_cancelled_wherever_it_waits(
    store: str, way: Way, names: tuple[str, ...], request: pytest.FixtureRequest
) -> None:
    moments: dict[str, int] = {}
    async with staged(new_store(store, request)) as stage:
        for name in names:
            moments[name] = await cancelled_everywhere(
                stage,
                name,
                lambda operation, moment: cancelled_at_suspension(operation, moment, way=way),
                stride=_STRIDES.get(store, 1),
            )
    assert sum(moments.values()) > len(names), "nothing was ever cancelled"
