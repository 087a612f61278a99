"""Every case that users of file tools have reported, through the tool runtime, on every store where it can happen."""

import os
from collections.abc import Iterator
from contextlib import AsyncExitStack
from functools import partial
from typing import Final

import pytest

from fs_core.testing.harness import DirectoryHarness
from tests.cases.case_root import CaseRoot
from tests.cases.case_table import SetupFile, SetupSymlink
from tests.cases.report_decisions import BIG_CONTENT, DECISIONS, OWNERS_APART, RULINGS, TOO_LARGE_CONTENT, Decision
from tests.cases.report_events import EVENTS, LOCAL_EVENTS, SCENES
from tests.cases.report_stage import Stage
from tests.cases.report_table import Parallel, Report, ReportCall, ReportFile, Told, report_cases
from tests.cases.report_verdict import Outcome, report_problems
from tests.cases.stores import new_root
from tests.support.sftp_servers import SftpServer
from tests.support.tcp_proxy import tcp_proxy

pytestmark = pytest.mark.anyio

_WORKSPACES: Final = {"TP159": "work", "TP162": "root"}
"""Cases whose workspace is a part of what they set up."""

_CONTENTS: Final = {"<big>": BIG_CONTENT, "<larger than free space>": TOO_LARGE_CONTENT}
_SFTP_FIXTURES: Final = {"sshd": "sshd_server", "embedded-sftp": "embedded_sftp_server"}


@pytest.fixture
def anyio_backend() -> str:
    """The S3 backend runs under asyncio alone, and the table is about what is said and stored, not about the loop."""
    return "asyncio"


def _stores(report: Report) -> Iterator[str]:
    if report.kind == "remote-s3":
        yield from ("seaweedfs", "moto")
    elif report.kind == "remote-sftp":
        yield from ("sshd", "embedded-sftp")
    else:
        yield "local"
        if not report.told & LOCAL_EVENTS:
            yield "sshd"
            if not any(file.fifo or file.symlink or file.mode for file in report.files):
                yield "seaweedfs"
        if any(file.backend == "memory|s3" for file in report.files):
            yield from ("memory", "moto")


@pytest.mark.parametrize(
    ("store", "report"),
    [
        pytest.param(store, report, id=f"{store}-{report.id}", marks=pytest.mark.xdist_group(store))
        for report in report_cases()
        for store in _stores(report)
    ],
)
async def test_a_reported_case_ends_well(
    store: str, report: Report, request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch
) -> None:
    root = new_root(_WORKSPACES.get(report.id, "."), store, request)
    outcome = await _play(report, root, monkeypatch, relayed=_relayed(report, store, request))
    assert list(report_problems(report, DECISIONS.get(report.id, Decision()), outcome)) == []


def _relayed(report: Report, store: str, request: pytest.FixtureRequest) -> int | None:
    """Return the port of the server whose connections an event may cut."""
    if report.kind != "remote-sftp":
        return None
    server = request.getfixturevalue(_SFTP_FIXTURES[store])
    assert isinstance(server, SftpServer)
    return server.port


async def _play(report: Report, root: CaseRoot, patch: pytest.MonkeyPatch, *, relayed: int | None) -> Outcome:
    for file in report.files:
        _prepare(file, root)
    async with AsyncExitStack() as scenes:
        relay = None if relayed is None else scenes.enter_context(tcp_proxy(relayed))
        stage = Stage(root, patch, relay=relay, translate=partial(_translated, workspace=_WORKSPACES.get(report.id)))
        for file in report.files:
            if file.note is not None:
                await scenes.enter_async_context(SCENES[file.note](stage))
        async with stage.opened(), AsyncExitStack() as events:
            before_last = root.look()
            for step in report.steps:
                if not isinstance(step, Told):
                    before_last = root.look()
                await _take(step, stage, events, is_apart=report.id in OWNERS_APART)
            return Outcome(tuple(stage.played), before_last, root.look(), changed_during_call=stage.changed_during_call)


async def _take(step: ReportCall | Told | Parallel, stage: Stage, events: AsyncExitStack, *, is_apart: bool) -> None:
    match step:
        case Told(external=prose):
            await events.enter_async_context(EVENTS[prose](stage))
        case ReportCall():
            await stage.play([step])
        case Parallel(parallel=steps):
            await (stage.play_apart(steps) if is_apart else stage.play(steps))


def _prepare(file: ReportFile, root: CaseRoot) -> None:
    if file.fifo:
        harness = root.workspace
        assert isinstance(harness, DirectoryHarness)
        (harness.directory / file.path).parent.mkdir(exist_ok=True)
        os.mkfifo(harness.directory / file.path)
    elif file.symlink is not None:
        root.prepare(SetupSymlink(symlink=file.path, to=file.symlink))
    else:
        root.prepare(SetupFile.model_construct(path=file.path, content_b64=file.data, mode=file.mode))


def _translated(text: str, root: str, *, workspace: str | None) -> str:
    """Return a text of the table for this run, in which `<root>` and `/abs` are real places."""
    text = _CONTENTS.get(text, text).replace("<root>", root)
    if workspace is None:
        return text.replace("/abs/", f"{root}/") if root.startswith("/") else text
    return text.removeprefix(f"{workspace}/").replace("/abs/", f"{root.removesuffix(workspace)}")


def test_the_table_is_whole_and_its_ids_are_unique() -> None:
    reports = report_cases()
    assert len({report.id for report in reports}) == len(reports) == 109
    assert DECISIONS.keys() | OWNERS_APART | _WORKSPACES.keys() <= {report.id for report in reports}


def test_all_prose_of_the_table_is_done_for_real() -> None:
    assert {prose for report in report_cases() for prose in report.told} == SCENES.keys() | EVENTS.keys()


@pytest.mark.parametrize("report", report_cases(), ids=lambda report: report.id)
def test_a_decision_is_what_the_report_asks_for_unless_a_ruling_overrides_it(report: Report) -> None:
    decision = DECISIONS.get(report.id, Decision())
    assert decision.codes == () or len(decision.codes) == len(report.calls)
    is_refused = bool(decision.codes) and decision.codes[-1] is not None
    match report.wanted.outcome:
        case "ok":
            agrees = not is_refused
        case "refuse":
            agrees = is_refused
        case _:
            agrees = decision.rule != ""
    assert agrees != (report.id in RULINGS)
    assert decision.rule or report.id not in RULINGS


def test_the_content_of_the_table_is_as_long_as_it_says() -> None:
    for report in report_cases():
        for file in report.files:
            assert file.length in {None, len(file.data)}, (report.id, file.path)
