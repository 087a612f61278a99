"""Operations of blocking stores, cancelled at every step of their worker thread and at every flight of requests."""

from typing import Final

import pytest

from backends.generic._detached import Attempt
from backends.sftp._client import SftpClient
from tests.support.local_store import have_nothing_in_memory
from tests.support.nth_await import WORKER_STEPS, Steps, Way, cancelled_at_step
from tests.support.store_operations import WRITING, cancelled_everywhere, names_for
from tests.support.store_stage import new_store, staged

pytestmark = pytest.mark.anyio

_COMMITTED: Final = Steps(WORKER_STEPS.owner, ("commit",), is_after=True)
_ON_THE_WAY: Final = Steps(SftpClient, ("_transmit",), is_after=True)
_DETACHED: Final = Steps(Attempt, ("progress", "deliver"))
_ALL_RUNS: Final = (("asyncio", Way.SCOPE), ("asyncio", Way.TASK), ("trio", Way.SCOPE))
_FEW: Final = ("probe", "session create", "overwrite", "session edit")

_RUNS: Final = [
    *(("local", loop, way, WORKER_STEPS, names_for("local")) for loop, way in _ALL_RUNS),
    *(("local", loop, way, _COMMITTED, tuple(WRITING)) for loop, way in _ALL_RUNS),
    *(("generic", loop, way, WORKER_STEPS, names_for("generic")) for loop, way in _ALL_RUNS),
    *(("generic", loop, way, _DETACHED, names_for("generic")) for loop, way in _ALL_RUNS),
    *(("embedded-sftp", loop, way, WORKER_STEPS, _FEW) for loop, way in _ALL_RUNS),
    *(("embedded-sftp", loop, way, _COMMITTED, _FEW[1:]) for loop, way in _ALL_RUNS),
    ("embedded-sftp", "asyncio", Way.SCOPE, _ON_THE_WAY, _FEW),
    ("sshd", "asyncio", Way.SCOPE, WORKER_STEPS, _FEW),
    ("sshd", "asyncio", Way.SCOPE, _ON_THE_WAY, _FEW),
]


def _id(store: str, loop: str, way: Way, steps: Steps) -> str:
    return f"{store}-{loop}-{way}-{'after-' if steps.is_after else ''}{steps.names[0].strip('_')}"


@pytest.fixture(autouse=True)
def nothing_in_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    have_nothing_in_memory(monkeypatch)


@pytest.mark.parametrize(
    ("store", "anyio_backend", "way", "steps", "names"),
    [pytest.param(*run, marks=pytest.mark.xdist_group(run[0]), id=_id(*run[:4])) for run in _RUNS],
)
async def test_cancelled_at_every_step_of_its_worker(
    store: str,
    way: Way,
    steps: Steps,
    names: tuple[str, ...],
    request: pytest.FixtureRequest,
) -> None:
    moments: dict[str, int] = {}
    async with staged(new_store(store, request)) as stage:
        if store in {"embedded-sftp", "sshd"}:
            await stage.answers_many_at_once(stage.backend)  # so that tidying up has a connection at hand
        for name in names:
            moments[name] = await cancelled_everywhere(
                stage, name, lambda operation, moment: cancelled_at_step(operation, moment, steps=steps, way=way)
            )
    assert sum(moments.values()) > len(names), "nothing was ever cancelled"
