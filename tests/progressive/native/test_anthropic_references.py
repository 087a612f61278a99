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

    assert block["content"] == [text("'gone': not loaded any more; call describe_tools for it before the next call")]
    assert block["cache_control"] == MARK


def test_description_beside_a_dangling_reference_is_loaded() -> None:
    found = injected(assistant(call()), results([reference("gone"), text(WEATHER)]))
    block, words = found["messages"][2]["content"]

    assert block["content"] == [reference("weather")]
    assert words["text"].startswith("'gone': not loaded any more")
    assert inject(cast("MessageCreateParamsNonStreaming", found), Capability.TOOL_REFERENCES) == found


def test_reference_to_a_tool_that_is_declared_now_is_replaced_by_words() -> None:
    found = injected(assistant(call()), results([reference("eager")]))

    assert found["messages"][2]["content"][0]["content"] == [
        text("'eager': declared from the beginning; call it by its name")
    ]


def test_dangling_reference_beside_a_right_one_moves_out_as_words() -> None:
    found = injected(assistant(call()), results([reference("weather"), reference("gone")]), tools=[*TOOLS, DEFERRED])
    block, words = found["messages"][2]["content"]

    assert block["content"] == [reference("weather")]
    assert words["text"].startswith("'gone': not loaded any more")


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
        text("'weather': not loaded any more; call describe_tools for it before the next call")
    ]


def test_reference_to_invoke_tool_is_dangling_too() -> None:
    found = injected(
        assistant(call(name="eager")),
        results([reference("invoke_tool")]),
        tools=[tool("describe_tools"), tool("eager"), tool("invoke_tool", defer_loading=True)],
    )

    assert found["messages"][2]["content"][0]["content"][0]["type"] == "text"


def test_reference_to_a_member_of_a_set_of_tools_is_kept_where_others_refer_to_it() -> None:
    navigate = [reference("navigate")]
    search = {
        "type": "tool_search_tool_result",
        "tool_use_id": "srvtoolu_1",
        "content": {"type": "tool_search_tool_search_result", "tool_references": navigate},
    }
    messages = (assistant(search, call(name="eager")), results(navigate), assistant(call()), results(navigate))
    given_request = request(*messages, tools=[*TOOLS, TOOLSET])
    found: Any = inject(given_request, Capability.TOOL_REFERENCES)

    assert found["messages"][1:4] == list(messages[:3])
    # Nothing that describe_tools describes is in a set.
    assert found["messages"][4]["content"][0]["content"][0]["type"] == "text"


def test_reference_to_a_declared_tool_is_replaced_beside_a_set_of_tools_as_well() -> None:
    given_request = request(assistant(call(name="other")), results([reference("eager")]), tools=[*TOOLS, TOOLSET])
    found: Any = inject(given_request, Capability.TOOL_REFERENCES)

    assert found["messages"][2]["content"][0]["content"][0]["type"] == "text"


# --- programs of the API's own sandbox: while one waits, a turn holds results alone

_OF_A_PROGRAM = {**call("2", "eager"), "caller": {"type": "code_execution_20260120", "tool_id": "srvtoolu_1"}}


@pytest.mark.parametrize(
    "content",
    [
        pytest.param(describing(entry("weather"), sdk="class Tools: ..."), id="declarations"),
        pytest.param(describing(entry("weather"), entry("eager")), id="definition-that-is-not-loaded"),
        pytest.param(describing(entry("has space")), id="refused-name"),
        pytest.param([text(WEATHER), IMAGE], id="image"),
    ],
)
def test_describe_result_stays_text_where_nothing_can_stand_beside_it(content: Any) -> None:
    answers = user(result("1", content), result("2", "done"))
    found = injected(assistant(call(), _OF_A_PROGRAM), answers)

    assert found["messages"][2] == answers
    assert inject(cast("MessageCreateParamsNonStreaming", found), Capability.TOOL_REFERENCES) == found


def test_describe_result_becomes_a_reference_where_nothing_has_to_stand_beside_it() -> None:
    found = injected(assistant(call(), _OF_A_PROGRAM), user(result("1", WEATHER), result("2", "done")))

    assert found["messages"][2] == user(result("1", [reference("weather")]), result("2", "done"))


def test_references_give_way_where_nothing_can_stand_beside_them() -> None:
    found = injected(
        assistant(call(), _OF_A_PROGRAM),
        user(result("1", [reference("weather"), reference("gone")]), result("2", "done")),
        tools=[*TOOLS, DEFERRED],
    )

    assert [part["type"] for part in found["messages"][2]["content"][0]["content"]] == ["text", "text"]


def test_turn_after_that_of_a_program_takes_words_again() -> None:
    found = injected(
        assistant(_OF_A_PROGRAM),
        user(result("2", "done")),
        assistant(call()),
        results(describing(entry("weather"), sdk="class Tools: ...")),
    )

    assert [block["type"] for block in found["messages"][4]["content"]] == ["tool_result", "text"]


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


_SHORT, _LONG = {**MARK, "ttl": "5m"}, {**MARK, "ttl": "1h"}


@pytest.mark.parametrize(
    ("content", "own"),
    [
        pytest.param([text("beside", cache_control=_LONG), text(WEATHER, cache_control=_SHORT)], {}, id="both-parts"),
        pytest.param([text("beside", cache_control=_LONG), text(WEATHER)], {"cache_control": _SHORT}, id="own"),
        pytest.param([text(" ", cache_control=_LONG), text(WEATHER, cache_control=_SHORT)], {}, id="blank"),
        pytest.param([text("beside", cache_control=_LONG), reference("mail", cache_control=_SHORT)], {}, id="refers"),
        pytest.param([reference("gone", cache_control=_LONG), text("beside", cache_control=_SHORT)], {}, id="dangles"),
    ],
)
def test_last_of_several_marks_is_that_of_the_result(content: Any, own: Any) -> None:
    found = injected(assistant(call()), results(content, **own), tools=[*TOOLS, tool("mail", defer_loading=True)])
    first, *others = found["messages"][2]["content"]

    assert first["cache_control"] == _SHORT
    assert not any("cache_control" in part for part in (*first["content"], *others))


def test_mark_of_what_moves_does_not_pass_that_of_a_later_result() -> None:
    found = injected(
        assistant(call("1"), call("2", "eager")),
        user(
            result("1", [text("beside", cache_control=_LONG), text(WEATHER)]),
            result("2", "done", cache_control=_SHORT),
        ),
    )

    assert found["messages"][2] == user(
        result("1", [reference("weather")], cache_control=_LONG),
        result("2", "done", cache_control=_SHORT),
        text("beside"),
    )


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
            [tool("describe_tools"), {**TOOLSET, "cache_control": MARK}, tool("invoke_tool", cache_control=MARK)],
            [tool("describe_tools"), {**TOOLSET, "cache_control": MARK}],
            id="not-past-the-mark-of-a-set",
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
