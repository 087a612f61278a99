"""Every given case of read, write and edit, through the tool runtime, on every store."""

from collections.abc import Iterator

import pytest

from tests.cases.case_table import Call, Case, External, Parallel, file_cases
from tests.cases.replay import Replay, replay
from tests.cases.rulings import RULINGS
from tests.cases.stores import STORES, new_root, runs_on
from tests.cases.verdict import call_problems, parallel_problems, residue_problems

pytestmark = pytest.mark.anyio


@pytest.fixture(scope="module")
def anyio_backend() -> str:
    """The S3 backend runs under asyncio alone, and the table is about what is said and stored, not about the loop."""
    return "asyncio"


class Replays:
    """Replays each case once on each store, for all tests that ask."""

    def __init__(self, request: pytest.FixtureRequest) -> None:
        self._request = request
        self._done: dict[tuple[str, str], Replay] = {}

    async def of(self, case: Case, store: str) -> Replay:
        key = (case.id, store)
        if key not in self._done:
            self._done[key] = await replay(case, new_root(case.workspace, store, self._request))
        return self._done[key]


@pytest.fixture(scope="session")
def replays(request: pytest.FixtureRequest) -> Replays:
    return Replays(request)


_ROWS = [
    pytest.param(store, case, id=f"{store}-{case.id}", marks=pytest.mark.xdist_group(store))
    for store in STORES
    for case in file_cases()
    if runs_on(case, store)
]


@pytest.mark.parametrize(("store", "case"), _ROWS)
async def test_a_case_ends_as_specified(store: str, case: Case, replays: Replays) -> None:
    replayed = await replays.of(case, store)
    problems = [
        f"step {index}: {problem}"
        for index in range(len(case.steps))
        for problem in _step_problems(case, index, replayed)
    ]
    assert problems == []


def _step_problems(case: Case, index: int, replayed: Replay) -> Iterator[str]:
    step, played = case.steps[index], replayed.steps[index]
    yield from residue_problems(played)
    match step:
        case External():
            return
        case Parallel():
            yield from parallel_problems(step, played)
        case Call():
            ruling = RULINGS.get((case.id, index))
            expect = step.expect if ruling is None else ruling.expect
            yield from call_problems(step, expect, played, workspace=case.workspace)


@pytest.mark.timeout(300)
@pytest.mark.parametrize(
    "store", [pytest.param(store, marks=pytest.mark.xdist_group(store)) for store in STORES if store != "memory"]
)
async def test_a_model_is_shown_the_same_as_on_memory(store: str, replays: Replays) -> None:
    different: list[tuple[str, str, str]] = []
    for case in file_cases():
        if runs_on(case, store) and runs_on(case, "memory"):
            shown = (await replays.of(case, store)).transcript
            on_memory = (await replays.of(case, "memory")).transcript
            if shown != on_memory:
                different.append((case.id, shown, on_memory))
    assert different == []


def test_the_table_is_whole_and_its_ids_are_unique() -> None:
    assert len({case.id for case in file_cases()}) == len(file_cases()) == 135


def test_every_ruling_overrides_the_expectation_of_a_step() -> None:
    steps = {(case.id, index): step for case in file_cases() for index, step in enumerate(case.steps)}
    for place, ruling in RULINGS.items():
        step = steps[place]
        assert isinstance(step, Call)
        assert (ruling.expect.ok, ruling.expect.code) != (step.expect.ok, step.expect.code)
