"""The short version of the bench: the library passes it on every store, and every mutation of the library is caught."""

from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path

import pytest

from tests.support.s3_servers import S3Server
from tests.support.sftp_servers import SftpServer
from tests.torture.faults import FaultPlan
from tests.torture.mutations import MUTATIONS
from tests.torture.plan import STORES, StoreName
from tests.torture.report import Report
from tests.torture.run import Load, torture
from tests.torture.stores import TorturedStore, local_store, s3_store, sftp_store
from tests.torture.verdict import Fault

OpenStore = Callable[[FaultPlan], AbstractContextManager[TorturedStore]]

TRIES_MAX = 12
"""One is enough, as a rule; on a busy machine agents do less and meet each other less often."""

FAULT_PROBABILITY = 0.01
LOST_ANSWERS = {"s3-lost-is-refused": 0.1, "s3-sent-again": 0.1}
"""Mutations that matter only when an answer is lost, and how often one is."""

S3_REQUEST_TIMEOUT_S = 1.0
LEASE_S = 0.5
WRONG_CONTENTS = {Fault.LOST, Fault.DUPLICATED, Fault.REFUSED_PRESENT, Fault.TORN, Fault.DISORDER}


@pytest.fixture
def open_store(request: pytest.FixtureRequest, store: StoreName, tmp_path: Path) -> OpenStore:
    """What opens an empty root of the store, by the plan of its faults."""
    match store:
        case "local":
            return lambda plan: nullcontext(local_store(fresh(tmp_path / f"local-{plan.seed}")))
        case "s3":
            s3: S3Server = request.getfixturevalue("seaweedfs_server")
            return lambda plan: s3_store(s3, plan, request_timeout_s=S3_REQUEST_TIMEOUT_S)
        case "sftp":
            sftp: SftpServer = request.getfixturevalue("sshd_server")
            return lambda plan: sftp_store(sftp, plan, lease_s=LEASE_S)


def fresh(directory: Path) -> Path:
    directory.mkdir()
    return directory


def short_run(store: TorturedStore, directory: Path, load: Load) -> Report:
    return torture(store, load, fresh(directory), command="pytest")


@pytest.mark.timeout(600)
@pytest.mark.parametrize(
    "store", [pytest.param(store, marks=pytest.mark.xdist_group(f"torture-{store}")) for store in STORES]
)
def test_nothing_is_lost_torn_or_left_behind_while_workers_are_killed(open_store: OpenStore, tmp_path: Path) -> None:
    kills = done = 0
    for seed in range(TRIES_MAX):
        if kills and done:
            break
        with open_store(FaultPlan.even(FAULT_PROBABILITY, seed=seed)) as store:
            load = Load(duration_s=5.0, processes=2, agents=3, kill_every_s=1.5, seed=seed, generation_s=2.0)
            report = short_run(store, tmp_path / f"journals-{seed}", load)
        assert report.findings == ()
        kills += report.kills
        done += report.changes.done
    assert kills > 0
    assert done > 0


@pytest.mark.timeout(600)
@pytest.mark.parametrize(
    ("store", "mutation"),
    [
        pytest.param(mutation.store, name, marks=pytest.mark.xdist_group(f"torture-{mutation.store}"))
        for name, mutation in MUTATIONS.items()
    ],
)
def test_a_broken_library_is_found_out(open_store: OpenStore, mutation: str, tmp_path: Path) -> None:
    found: set[Fault] = set()
    for seed in range(TRIES_MAX):
        if found:
            break
        with open_store(FaultPlan(seed=seed, truncate=LOST_ANSWERS.get(mutation, 0.0))) as store:
            load = Load(duration_s=3.0, processes=2, agents=3, kill_every_s=60.0, seed=seed, mutation=mutation)
            report = short_run(store, tmp_path / f"journals-{seed}", load)
        found = {fault for fault in WRONG_CONTENTS if report.found[fault]}
    assert found, "the bench noticed nothing"
