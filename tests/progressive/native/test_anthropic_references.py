"""References that a transcript holds already, and marks of the cache: both end where they have to."""

from typing import Any, cast

import pytest
from anthropic.types import ToolSearchToolResultBlock
from anthropic.types.message_create_params import MessageCreateParamsNonStreaming

from progressive.native.anthropic import inject
from progressive.native.capability import Capability
from tests.progressive.native.messages_toolkit import (
    DEFERRED,
    IMAGE,
    MARK,
    TOOLS,
    TOOLSET,
    WEATHER,
    assistant,
    call,
    describing,
    entry,
    injected,
    loaded,
    reference,
    request,
    result,
    results,
    text,
    tool,
    user,
)

# --- references that stand in the transcript already


def test_injecting_twice_changes_nothing_more() -> None:
    bad = entry("has space")
    once = injected(
        assistant(call()),
        results(describing(entry("weather"), bad, sdk="class Tools: ...")),
        assistant(call()),
        results(describing(bad)),
        assistant(call()),
        results([text(describing(entry("weather", {"type": "object"}))), IMAGE]),
    )

    assert inject(cast("MessageCreateParamsNonStreaming", once), Capability.TOOL_REFERENCES) == once


def test_tool_that_the_request_defers_itself_is_referred_to_and_not_declared_again() -> None:
    given_tool = {**DEFERRED, "input_examples": [{"city": "Bern"}]}
    found = injected(assistant(call()), results(WEATHER), tools=[*TOOLS, given_tool])

    assert found["tools"][-1] == given_tool
    assert loaded(found) == ["weather"]
    assert found["messages"][2]["content"][0]["content"] == [reference("weather")]


def test_dangling_reference_is_replaced_by_words() -> None:
    found = injected(assistant(call()), results([reference("gone", cache_control=MARK)]))
    block = found["messages"][2]["content"][0]

    assert block["content"] == [text("gone: not loaded any more; call describe_tools for it before the next call")]
    assert block["cache_control"] == MARK


def test_reference_to_a_tool_that_is_declared_now_is_replaced_by_words() -> None:
    found = injected(assistant(call()), results([reference("eager")]))

    assert found["messages"][2]["content"][0]["content"] == [
        text("eager: declared from the beginning; call it by its name")
    ]


def test_dangling_reference_beside_a_right_one_moves_out_as_words() -> None:
    found = injected(assistant(call()), results([reference("weather"), reference("gone")]), tools=[*TOOLS, DEFERRED])
    block, words = found["messages"][2]["content"]

    assert block["content"] == [reference("weather")]
    assert words["text"].startswith("gone: not loaded any more")


def test_reference_that_only_a_later_disclosure_would_allow_is_replaced() -> None:
    found = injected(assistant(call()), results([reference("weather")]), assistant(call()), results(WEATHER))

    assert found["messages"][2]["content"][0]["content"][0]["type"] == "text"
    assert found["messages"][4]["content"][0]["content"] == [reference("weather")]


def test_mixed_references_and_text_are_put_in_order() -> None:
    found = injected(assistant(call()), results([text("Found it:"), reference("weather")]), tools=[*TOOLS, DEFERRED])

    assert found["messages"][2] == user(result("1", [reference("weather")]), text("Found it:"))


def test_references_beside_content_that_cannot_move_give_way() -> None:
    browser = {"type": "browser_state"}
    found: Any = inject(
        request(assistant(call()), results([browser, reference("weather")]), tools=[*TOOLS, DEFERRED]),
        Capability.TOOL_REFERENCES,
    )

    content = found["messages"][2]["content"][0]["content"]
    assert [part["type"] for part in content] == ["browser_state", "text"]


def test_references_in_a_failed_result_give_way() -> None:
    found = injected(assistant(call()), results([reference("weather")], is_error=True), tools=[*TOOLS, DEFERRED])

    assert found["messages"][2]["content"][0]["content"] == [
        text("weather: not loaded any more; call describe_tools for it before the next call")
    ]


@pytest.mark.parametrize("as_object", [False, True], ids=["dictionary", "object"])
def test_dangling_reference_of_the_apis_own_search_is_left_out(as_object: bool) -> None:
    block: dict[str, Any] = {
        "type": "tool_search_tool_result",
        "tool_use_id": "srvtoolu_1",
        "content": {
            "type": "tool_search_tool_search_result",
            "tool_references": [reference("weather"), reference("gone")],
        },
    }
    search: Any = ToolSearchToolResultBlock.model_validate(block) if as_object else block
    found: Any = inject(request(assistant(search), tools=[*TOOLS, DEFERRED]), Capability.TOOL_REFERENCES)
    kept = found["messages"][1]["content"][0]["content"]["tool_references"]

    assert [each.tool_name if as_object else each["tool_name"] for each in kept] == ["weather"]


# --- the cache


def test_cache_marks_stay_on_their_blocks() -> None:
    found = injected(
        assistant(call()),
        results(describing(entry("weather"), sdk="class Tools: ..."), cache_control=MARK),
        assistant(text("Well.", cache_control=MARK)),
        user(text("Go on.", cache_control=MARK)),
        tools=[tool("describe_tools"), tool("search_tools", cache_control=MARK)],
    )

    assert found["messages"][2]["content"][0] == result("1", [reference("weather")], cache_control=MARK)
    assert "cache_control" not in found["messages"][2]["content"][1]
    assert found["messages"][3:] == [
        assistant(text("Well.", cache_control=MARK)),
        user(text("Go on.", cache_control=MARK)),
    ]
    assert found["tools"][1] == tool("search_tools", cache_control=MARK)
    assert found["tools"][2] == DEFERRED


def test_cache_mark_on_the_text_that_is_replaced_moves_to_the_result() -> None:
    found = injected(assistant(call()), results([text(WEATHER, cache_control=MARK)]))

    assert found["messages"][2]["content"] == [result("1", [reference("weather")], cache_control=MARK)]


def test_cache_mark_of_a_result_wins_over_that_of_its_text() -> None:
    own = {**MARK, "ttl": "1h"}
    found = injected(assistant(call()), results([text(WEATHER, cache_control=MARK)], cache_control=own))

    assert found["messages"][2]["content"][0]["cache_control"] == own


@pytest.mark.parametrize(
    ("tools", "expected"),
    [
        pytest.param(
            [tool("describe_tools"), tool("invoke_tool", cache_control=MARK)],
            [tool("describe_tools", cache_control=MARK)],
            id="to-the-tool-before",
        ),
        pytest.param(
            [tool("describe_tools"), DEFERRED, tool("invoke_tool", cache_control=MARK)],
            [tool("describe_tools", cache_control=MARK), DEFERRED],
            id="not-to-a-deferred-one",
        ),
        pytest.param(
            [tool("describe_tools"), TOOLSET, tool("invoke_tool", cache_control=MARK)],
            [tool("describe_tools", cache_control=MARK), TOOLSET],
            id="not-to-a-set-of-tools",
        ),
        pytest.param(
            [tool("describe_tools", cache_control=MARK), tool("invoke_tool", cache_control={**MARK, "ttl": "1h"})],
            [tool("describe_tools", cache_control=MARK)],
            id="not-over-another-mark",
        ),
        pytest.param(
            [tool("invoke_tool", cache_control=MARK), tool("describe_tools")],
            [tool("describe_tools")],
            id="nowhere-if-nothing-is-before-it",
        ),
    ],
)
def test_cache_mark_of_invoke_tool_moves_to_the_tool_before_it(tools: Any, expected: Any) -> None:
    found: Any = inject(request(tools=tools), Capability.TOOL_REFERENCES)

    assert found["tools"] == expected
