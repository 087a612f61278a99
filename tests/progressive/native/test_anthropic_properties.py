"""What holds for every Messages transcript: the API takes it, it only grows, it costs what it is long."""

import copy
import json
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from progressive.native.anthropic import inject
from progressive.native.capability import Capability
from tests.progressive.native.fake_anthropic import check_request
from tests.progressive.native.messages_toolkit import (
    IMAGE,
    MARK,
    WEATHER,
    assistant,
    call,
    describing,
    entry,
    reference,
    request,
    result,
    results,
    text,
    user,
)
from tests.support.growth import growth

_contents = st.sampled_from(
    [
        WEATHER,
        describing(entry("mail"), entry("weather", {"type": "object"}), sdk="x"),
        describing(entry("has space"), entry("eager")),
        "plain",
        [text(WEATHER, cache_control=MARK), IMAGE, text("beside")],
        [reference("weather"), reference("gone")],
        [reference("mail"), text("beside")],
        [text(WEATHER), text(WEATHER)],
        [IMAGE],
    ]
)
_calls = st.lists(
    st.tuples(st.sampled_from(["describe_tools", "search_tools", "weather", "invoke_tool"]), _contents, st.booleans()),
    max_size=3,
)


@st.composite
def transcripts(draw: st.DrawFn) -> list[Any]:
    """Turns of calls and results as the API takes them, with anything in the results."""
    messages: list[Any] = []
    for number, turn in enumerate(draw(st.lists(_calls, max_size=5))):
        ids = [f"{number}-{index}" for index in range(len(turn))]
        answers = [
            # A failed result with an image is refused whatever becomes of it.
            result(call_id, content, is_error=is_error and IMAGE not in [*content])
            for call_id, (_, content, is_error) in zip(ids, turn, strict=True)
        ]
        words = [text("Go on.")] if draw(st.booleans()) or not turn else []
        split = draw(st.integers(0, len(answers)))
        messages.append(assistant(text("Well."), *(call(i, name) for i, (name, _, _) in zip(ids, turn, strict=True))))
        messages += [user(*part) for part in (answers[:split], [*answers[split:], *words]) if part]
    return messages


@given(transcripts())
def test_no_transcript_makes_a_request_that_the_api_refuses(messages: list[Any]) -> None:
    before = copy.deepcopy(messages)
    found: Any = inject(request(*messages), Capability.TOOL_REFERENCES)

    # A transcript may hold more marks of the cache than are allowed; that is its own matter.
    check_request(json.loads(json.dumps(found).replace('"cache_control"', '"mark"')))
    assert messages == before
    assert inject(found, Capability.TOOL_REFERENCES) == found


@given(transcripts(), transcripts())
def test_longer_transcript_begins_with_what_the_shorter_one_gave(first: list[Any], second: list[Any]) -> None:
    more = json.loads(json.dumps(second).replace('"0-', '"a-').replace('"1-', '"b-'))
    short: Any = inject(request(*first), Capability.TOOL_REFERENCES)
    long: Any = inject(request(*first, *more), Capability.TOOL_REFERENCES)

    assert long["messages"][: len(short["messages"])] == short["messages"]
    assert long["tools"][: len(short["tools"])] == short["tools"]


def growth_of_injecting(small: Any, large: Any) -> float:
    # Four times the length: four times the time, sixteen times if anything were quadratic.
    return growth(
        lambda: inject(small, Capability.TOOL_REFERENCES), lambda: inject(large, Capability.TOOL_REFERENCES), enough=8
    )


def test_cost_is_linear_in_the_transcript() -> None:
    def transcript(turns: int) -> Any:
        messages = [
            message
            for number in range(turns)
            for message in (assistant(call()), results(describing(entry(f"tool_{number}"), entry("weather"))))
        ]
        return request(*messages)

    assert growth_of_injecting(transcript(400), transcript(1_600)) < 8


def test_cost_is_linear_in_the_results_of_one_message() -> None:
    def transcript(count: int) -> Any:
        ids = [str(number) for number in range(count)]
        content = [text(describing(entry("weather"), entry("has space"), sdk="x")), text("beside")]
        return request(assistant(*map(call, ids)), user(*(result(call_id, content) for call_id in ids)))

    assert growth_of_injecting(transcript(400), transcript(1_600)) < 8
