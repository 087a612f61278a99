"""The demonstration: what it proves, and that it would notice."""

from dataclasses import replace
from pathlib import Path

import pytest

from seamfs import demo
from seamfs.cli import main
from seamfs.demo import Outcome, UnexpectedResultError, differences, run_session
from seamfs.demo_script import PLAN, SCRIPT, Turn
from seamfs.demo_stores import local_store

pytestmark = pytest.mark.usefixtures("restored_logging")


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


def test_the_session_is_the_same_on_three_stores(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["demo"]) == 0
    shown = capsys.readouterr()
    assert "Identical on local, s3, sftp: 14 results" in shown.out
    assert "\x1b" not in shown.out
    for step in SCRIPT:
        assert shown.out.count(step.title) == 1
    for code in ("FS_AMBIGUOUS_EDIT", "FS_NOT_OBSERVED", "FS_STALE_VERSION"):
        assert code in shown.out


@pytest.mark.anyio
async def test_a_result_that_the_script_does_not_expect_ends_it(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    wrong = tuple(replace(step, codes=("FS_NOT_FOUND",)) if isinstance(step, Turn) else step for step in SCRIPT[:3])
    monkeypatch.setattr(demo, "SCRIPT", wrong)
    with local_store(root) as store, pytest.raises(UnexpectedResultError, match="local, step 3"):
        await run_session(store)


def test_any_difference_in_text_value_or_bytes_is_shown_as_a_diff() -> None:
    first = Outcome("local", ({"shown": ["a"], "value": {"version": "1"}},), {PLAN: b"x"}, 0.1)
    assert differences([first, replace(first, store="s3", elapsed_s=9.0)]) == ""
    for other in (
        replace(first, transcript=({"shown": ["b"], "value": {"version": "1"}},)),
        replace(first, transcript=({"shown": ["a"], "value": {"version": "2"}},)),
        replace(first, files={PLAN: b"x\r"}),
        replace(first, transcript=()),
    ):
        diff = differences([first, replace(other, store="s3")])
        assert diff.startswith("--- local\n+++ s3\n")


def test_a_difference_is_status_one_with_the_diff(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    outcomes = iter("abc")

    async def session(_store: object, _show: object) -> Outcome:
        name = next(outcomes)
        return Outcome(name, ({"shown": [name]},), {}, 0.0)

    monkeypatch.setattr(demo, "run_session", session)
    monkeypatch.setattr(demo, "STORES", (local_store,) * 3)
    assert main(["demo"]) == 1
    assert '+  "b"' in capsys.readouterr().out
