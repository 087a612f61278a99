from itertools import count

import pytest

from benchmarks.measure.case import Case, Contender, NotInstalled
from benchmarks.measure.compare import compare

pytestmark = pytest.mark.anyio

CASE = Case(group="pagination", operation="page", size_bytes=10 << 20, content="code", position="middle")


async def test_all_contenders_run_in_every_round_and_the_base_twice() -> None:
    calls: list[str] = []

    async def waits() -> None:
        calls.append("waits")

    contenders = [Contender("ours", waits), Contender("peer", lambda: calls.append("peer"), note="no total")]
    comparison = await compare(CASE, contenders, base="ours", rounds=4, budget_s=60)
    assert [timing.name for timing in comparison.timings] == ["ours", "peer", "ours again"]
    assert {len(timing.rounds) for timing in comparison.timings} == {4}
    # Each of the three runs once more before the rounds.
    runs = {timing.name: 1 + sum(map(len, timing.rounds)) for timing in comparison.timings}
    assert calls.count("waits") == runs["ours"] + runs["ours again"] >= 2 * 5
    assert calls.count("peer") == runs["peer"] >= 5
    assert comparison.noise is not None
    assert comparison.ratio("ours") is not None


async def test_after_the_budget_three_rounds_are_enough() -> None:
    comparison = await compare(CASE, [Contender("ours", lambda: None)], base="ours", rounds=1000, budget_s=0)
    assert {len(timing.rounds) for timing in comparison.timings} == {3}


async def test_who_fails_or_is_not_installed_is_shown_with_the_reason_and_without_paths() -> None:
    numbers = count()

    def fails_late() -> None:
        if next(numbers) > 3:
            raise OSError("cannot read /tmp/some/where.txt")

    contenders = [Contender("ours", lambda: None), Contender("late", fails_late), NotInstalled("gone", "pip install x")]
    comparison = await compare(CASE, contenders, base="ours", rounds=5, budget_s=60)
    assert comparison.ratio("late") is None
    assert [(each.name, each.reason) for each in comparison.absent] == [
        ("late", "failed: OSError: cannot read PATH"),
        ("gone", "not installed: `pip install x`"),
    ]


async def test_preparation_comes_before_every_run_and_is_not_timed() -> None:
    order: list[str] = []

    async def prepare() -> None:
        order.append("prepare")

    contender = Contender("ours", lambda: order.append("run"), prepare=prepare)
    await compare(CASE, [contender], base="ours", rounds=3, budget_s=0)
    assert order == ["prepare", "run"] * (len(order) // 2)


async def test_a_base_that_does_not_take_part_is_refused() -> None:
    with pytest.raises(ValueError, match="'ours'"):
        await compare(CASE, [Contender("peer", lambda: None)], base="ours", rounds=3, budget_s=1)
