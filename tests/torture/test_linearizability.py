"""The judge is judged: against all orders of small histories, on histories of a correct register, and on false ones."""

import itertools
from collections import Counter
from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.torture.history import Action, Event, Outcome, Read, Replace
from tests.torture.linearizability import check
from tests.torture.register_simulation import Mutation, mutated, simulated

CONTENTS = (None, "a", "b")


# -- against all orders --------------------------------------------------------------------------------------------


def is_explained(order: Sequence[Event], initial: str | None, final: str | None) -> bool:
    """Whether a register can do these operations in this order."""
    held = initial
    for event in order:
        if isinstance(event.action, Read):
            if event.action.content != held:
                return False
        elif (event.action.before == held) is (event.outcome is Outcome.STALE):
            return False
        elif event.outcome is not Outcome.STALE:
            held = event.action.after
    return held == final


def is_timely(order: Sequence[Event]) -> bool:
    """Whether no operation stands after one that began only when it had ended."""
    return not any(
        other.outcome is not Outcome.UNKNOWN and other.end_ns is not None and other.end_ns < one.begin_ns
        for one, other in itertools.combinations(order, 2)
    )


def has_an_order(events: Sequence[Event], initial: str | None, final: str | None) -> bool:
    """The definition itself: an order of all that was told, with any of the unanswered changes."""
    unknown = [e for e in events if e.outcome is Outcome.UNKNOWN and isinstance(e.action, Replace)]
    stale = [e for e in events if e.outcome is Outcome.STALE and isinstance(e.action, Replace)]
    sure = [e for e in events if e.outcome is Outcome.DONE] + stale
    return any(
        is_explained(order, initial, final) and is_timely(order)
        for count in range(len(unknown) + 1)
        for some in itertools.combinations(unknown, count)
        for order in itertools.permutations([*sure, *some])
    )


@st.composite
def small_events(draw: st.DrawFn) -> Event:
    begin_ns = draw(st.integers(0, 12))
    end_ns = begin_ns + draw(st.integers(1, 6))
    content = st.sampled_from(CONTENTS)
    action: Action = draw(st.one_of(st.builds(Read, content), st.builds(Replace, content, st.sampled_from(("a", "b")))))
    outcome = draw(st.sampled_from(Outcome))
    has_end = outcome is not Outcome.UNKNOWN or draw(st.booleans())
    return Event("f", "x", action, begin_ns, end_ns if has_end else None, outcome)


def test_the_verdict_is_that_of_trying_all_orders() -> None:
    verdicts: Counter[bool] = Counter()

    @given(st.lists(small_events(), max_size=5), st.sampled_from(CONTENTS), st.sampled_from(CONTENTS))
    def agrees(events: list[Event], initial: str | None, final: str | None) -> None:
        verdict = check(events, initial=initial, final=final) is None
        assert verdict is has_an_order(events, initial, final)
        verdicts[verdict] += 1

    agrees()
    assert min(verdicts[True], verdicts[False]) > verdicts.total() // 5


@pytest.mark.parametrize("seed", range(60))
def test_the_verdict_on_a_falsified_small_history_is_that_of_trying_all_orders(seed: int) -> None:
    history = simulated(seed, events=6, agents=3, unknown=1)
    for final in {history.final, history.initial, "c5"}:
        verdict = check(history.events, initial=history.initial, final=final) is None
        assert verdict is has_an_order(history.events, history.initial, final)


# -- histories of a correct register, and false ones ---------------------------------------------------------------


@pytest.mark.parametrize("seed", range(30))
def test_a_history_of_a_correct_register_is_linearizable(seed: int) -> None:
    history = simulated(seed, events=400, agents=2 + seed % 7, unknown=seed)
    assert check(history.events, initial=history.initial, final=history.final) is None


@pytest.mark.parametrize("mutation", Mutation)
def test_a_false_history_is_found(mutation: Mutation) -> None:
    for seed in range(20):
        history = mutated(simulated(seed, events=300, agents=4, unknown=seed), mutation, seed=seed)
        assert check(history.events, initial=history.initial, final=history.final) is not None


def test_many_agents_and_many_unanswered_changes_do_not_make_the_search_explode() -> None:
    history = simulated(7, events=10_000, agents=32, unknown=200)
    assert check(history.events, initial=history.initial, final=history.final) is None
    for mutation in Mutation:
        false = mutated(history, mutation, seed=7)
        assert check(false.events, initial=false.initial, final=false.final) is not None


# -- what a finding says -------------------------------------------------------------------------------------------


def change(before: str | None, after: str, begin_ns: int, end_ns: int, outcome: Outcome = Outcome.DONE) -> Event:
    return Event("f", f"to {after}", Replace(before, after), begin_ns, end_ns, outcome)


def read(content: str | None, begin_ns: int, end_ns: int) -> Event:
    return Event("f", "reader", Read(content), begin_ns, end_ns, Outcome.DONE)


@pytest.mark.parametrize(
    ("events", "final", "told"),
    [
        (
            [change("a", "b", 0, 9), change("a", "c", 1, 8)],
            "b",
            "replaced a, which another acknowledged change replaced",
        ),
        ([change("a", "b", 0, 1), read("a", 2, 3)], "b", "a read saw a, although an acknowledged change had replaced"),
        ([change("a", "b", 0, 1)], "a", "in the end there was a, although an acknowledged change had replaced it"),
        ([change("a", "b", 0, 1)], None, "in the end there was no file, which nobody wrote"),
        ([read("half", 0, 1)], "a", "a read saw half, which nobody wrote"),
        ([change("x", "b", 0, 1, Outcome.STALE)], "b", "in the end there was b, although that change was refused"),
        ([read("b", 0, 1), change("a", "b", 2, 3)], "b", "a read saw b, which was written only later"),
        ([change("a", "b", 0, 1, Outcome.STALE)], "a", "refused as stale while a stood there all the time"),
        (
            [change("a", "b", 0, 1, Outcome.UNKNOWN), read("b", 2, 3), read("a", 4, 5)],
            "b",
            "cannot have stood there then",
        ),
    ],
)
def test_a_finding_names_what_fits_nowhere_and_why(events: list[Event], final: str | None, told: str) -> None:
    finding = check(events, initial="a", final=final)
    assert finding is not None
    assert told in str(finding)


def test_a_finding_shows_the_events_that_contradict_each_other() -> None:
    first, second = change("a", "b", 0, 1), change("a", "c", 2, 3)
    finding = check([first, second], initial="a", final="c")
    assert finding is not None
    assert (finding.stuck, finding.others) == (second, (first,))
    assert str(finding).splitlines()[1:] == [
        "  [2 .. 3] to c: replace a by c: done",
        "  [0 .. 1] to b: replace a by b: done",
    ]


def test_events_of_two_files_are_refused() -> None:
    events = [read("a", 0, 1), Event("other", "reader", Read("a"), 0, 1, Outcome.DONE)]
    with pytest.raises(ValueError, match="one file"):
        check(events, initial="a", final="a")


def test_an_answer_without_a_time_is_refused() -> None:
    with pytest.raises(ValueError, match="no time"):
        check([Event("f", "x", Read("a"), 0, None, Outcome.DONE)], initial="a", final="a")
