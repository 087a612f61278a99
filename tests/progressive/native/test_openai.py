"""Injection into requests of the OpenAI Responses API: what is added, what is ignored, what is left alone."""

import copy
import json
import subprocess
import sys
from typing import Any, cast

import pytest
from openai.types.responses import (
    Response,
    ResponseFunctionToolCall,
    ResponseFunctionToolCallOutputItem,
    ResponseInputItem,
    Tool,
)
from pydantic import TypeAdapter

from progressive.formats import UnsupportedToolError, openai_responses_tools
from progressive.native.capability import Capability
from progressive.native.disclosures import Definition
from progressive.native.openai import inject
from tests.progressive.native.fake_openai import BOTH_FORMS
from tests.progressive.native.openai_rules import accepted
from tests.support.growth import growth

ADDITIONAL, SEARCH = Capability.ADDITIONAL_TOOLS, Capability.TOOL_SEARCH
FORMS = [ADDITIONAL, SEARCH]
CITY = {"type": "object", "properties": {"city": {"type": "string"}}}
USER = {"role": "user", "content": "Oslo?"}


def function(name: str) -> dict[str, Any]:
    parameters: dict[str, Any] = {"type": "object", "properties": {}}
    return {"type": "function", "name": name, "description": name, "parameters": parameters, "strict": False}


TOOLS = [function(name) for name in ("describe_tools", "eager", "invoke_tool", "search_tools")]


def definition(name: str = "fetch_weather", **fields: Any) -> dict[str, Any]:
    return {"name": name, "description": "Forecast.", "parameters": CITY, "output": {"type": "string"}} | fields


def result(*definitions: dict[str, Any], **fields: Any) -> str:
    return json.dumps({"tools": list(definitions) or [definition()], **fields})


def call(call_id: str = "c1", name: str = "describe_tools", **fields: Any) -> dict[str, Any]:
    return {"type": "function_call", "call_id": call_id, "name": name, "arguments": "{}", **fields}


def output(text: Any = None, call_id: str = "c1", **fields: Any) -> dict[str, Any]:
    said = result() if text is None else text
    return {"type": "function_call_output", "call_id": call_id, "output": said, **fields}


def request(*items: Any, **fields: Any) -> Any:
    return {"model": "gpt-6", "instructions": "Be brief.", "tools": TOOLS, "input": [USER, *items], **fields}


def loading(injected: Any) -> list[Any]:
    """Return the items of a request that load tools."""
    items = [cast("dict[str, Any]", item) for item in injected["input"] if isinstance(item, dict)]
    return [item for item in items if item.get("type") in ("additional_tools", "tool_search_output")]


def loaded(injected: Any) -> list[list[str]]:
    """Return the names that each loading item of a request loads."""
    return [[tool["name"] for tool in item["tools"]] for item in loading(injected)]


def names(injected: Any) -> list[str]:
    return [tool.get("name", tool["type"]) for tool in injected["tools"]]


def check(injected: Any, capability: Capability) -> None:
    accepted(injected, [], frozenset({capability.value}))
    assert inject(injected, capability) == injected


def test_additional_tools_follow_the_output() -> None:
    injected = inject(request(call(), output(), USER), ADDITIONAL)
    assert injected["input"] == [
        USER,
        call(),
        output(),
        {
            "type": "additional_tools",
            "role": "developer",
            "tools": [
                {
                    "type": "function",
                    "name": "fetch_weather",
                    "description": "Forecast.",
                    "parameters": CITY,
                    "strict": False,
                }
            ],
        },
        USER,
    ]
    assert names(injected) == ["describe_tools", "eager", "search_tools"]
    check(injected, ADDITIONAL)


def test_tool_search_follows_the_output_and_has_its_entry() -> None:
    injected = inject(request(call(), output(), USER), SEARCH)
    same = {"call_id": "disclosed_1", "execution": "client", "status": "completed"}
    assert injected["input"] == [
        USER,
        call(),
        output(),
        {"type": "tool_search_call", "arguments": {"names": ["fetch_weather"]}, **same},
        {
            "type": "tool_search_output",
            "tools": [
                {
                    "type": "function",
                    "name": "fetch_weather",
                    "description": "Forecast.",
                    "parameters": CITY,
                    "strict": False,
                    "defer_loading": True,
                }
            ],
            **same,
        },
        USER,
    ]
    assert names(injected) == ["describe_tools", "eager", "search_tools", "tool_search"]
    check(injected, SEARCH)


@pytest.mark.parametrize("capability", FORMS)
def test_what_is_sent_is_what_the_models_of_the_sdk_say(capability: Capability) -> None:
    injected = inject(request(call(), output(), call("c2", "fetch_weather"), output("x", "c2")), capability)
    kinds = [item.type for item in TypeAdapter(list[ResponseInputItem]).validate_python(injected["input"])]
    assert kinds == [item.get("type") for item in injected["input"]]
    assert [tool.type for tool in TypeAdapter(list[Tool]).validate_python(injected["tools"])][-1] == (
        "tool_search" if capability is SEARCH else "function"
    )


@pytest.mark.parametrize("capability", FORMS)
def test_each_of_two_parallel_calls_is_followed_by_what_it_disclosed(capability: Capability) -> None:
    items = [call("c1"), call("c2", "eager"), call("c3"), output(call_id="c1"), output("x", "c2")]
    injected = inject(request(*items, output(result(definition("send_mail")), "c3")), capability)
    assert loaded(injected) == [["fetch_weather"], ["send_mail"]]
    after_first = injected["input"].index(output(call_id="c1")) + 1
    assert injected["input"][after_first]["type"] in {"additional_tools", "tool_search_call"}
    check(injected, capability)


LIST_TEXT = [{"type": "input_text", "text": result()}]
REMINDER = {"type": "input_text", "text": "Be brief."}
PICTURE = {"type": "input_image", "detail": "auto", "image_url": "data:image/png;base64,AAAA"}
HALVES = [{"type": "input_text", "text": result()[:20]}, {"type": "input_text", "text": result()[20:]}]
NOTHING: list[list[str]] = []
WEATHER = [["fetch_weather"]]

TRANSCRIPTS = [
    pytest.param([], NOTHING, id="no-items"),
    pytest.param([call(), output()], WEATHER, id="plain"),
    pytest.param([call(status="completed", id="fc_1"), output(status="completed")], WEATHER, id="completed"),
    pytest.param([call(), USER, output()], WEATHER, id="something-between"),
    pytest.param([call(), output(LIST_TEXT)], WEATHER, id="list-of-text"),
    pytest.param([call(), output([PICTURE, *LIST_TEXT, PICTURE])], WEATHER, id="text-between-pictures"),
    pytest.param([call(), output([*LIST_TEXT, REMINDER])], WEATHER, id="text-beside-it"),
    pytest.param([call(), output(LIST_TEXT * 2)], NOTHING, id="two-results-in-one-output"),
    pytest.param([call(), output(HALVES)], NOTHING, id="text-in-two-parts"),
    pytest.param([call(), output([PICTURE])], NOTHING, id="picture-alone"),
    pytest.param([call(), output([])], NOTHING, id="no-parts"),
    pytest.param([call(), output("")], NOTHING, id="empty"),
    pytest.param([call(), output("UNKNOWN_TOOL: no such tool")], NOTHING, id="failure"),
    pytest.param([call(), output("RESULT_TOO_LARGE: " + result())], NOTHING, id="failure-that-quotes-a-result"),
    pytest.param([call(), output(result()[:-1])], NOTHING, id="truncated"),
    pytest.param([call(), output(result() + "\n[edited]")], NOTHING, id="text-after"),
    pytest.param([call(), output("Here: " + result())], NOTHING, id="text-before"),
    pytest.param([call(), output(f"[{result()}]")], NOTHING, id="list"),
    pytest.param([call(), output(result() * 2)], NOTHING, id="two-objects"),
    pytest.param([call(), output('{"tools": []}')], NOTHING, id="no-tools"),
    pytest.param([call(), output(result(definition(), {"name": "x"}))], NOTHING, id="one-bad-entry"),
    pytest.param([call(), output(result(definition(parameters={"type": 7})))], NOTHING, id="no-schema"),
    pytest.param([call(), output(status="incomplete")], NOTHING, id="incomplete-output"),
    pytest.param([call(status="incomplete"), output()], NOTHING, id="incomplete-call"),
    pytest.param([call(name="search_tools"), output()], NOTHING, id="imitated-by-another-tool"),
    pytest.param([call(name="eager"), output()], NOTHING, id="imitated-by-an-eager-tool"),
    pytest.param([{"role": "user", "content": result()}], NOTHING, id="imitated-by-the-user"),
    pytest.param([call(), output("x"), {"role": "developer", "content": result()}], NOTHING, id="imitated-beside-it"),
    pytest.param(
        [call(), output(result(definition("invoke_tool"), definition("run_code")))], NOTHING, id="reserved-names"
    ),
    pytest.param([call(), output(result(definition("eager")))], NOTHING, id="eager-name"),
    pytest.param([call(), output(result(definition("eager"), definition()))], WEATHER, id="eager-name-and-another"),
    pytest.param([call(), output(result(definition(), definition()))], WEATHER, id="twice-in-one-result"),
    pytest.param([call(), output(), call("c2"), output(call_id="c2")], WEATHER, id="described-twice"),
    pytest.param(
        [call(), output(), call("c2"), output(result(definition(), definition("send_mail")), "c2")],
        [["fetch_weather"], ["send_mail"]],
        id="described-twice-with-another",
    ),
    pytest.param(
        [call(), output(), {"type": "compaction", "id": "cmp_1", "encrypted_content": "gAAA"}],
        WEATHER,
        id="compaction-after",
    ),
    pytest.param([call(), output(result(definition("odd.name"), definition()))], WEATHER, id="name-the-api-refuses"),
    pytest.param([call(), output(result(definition("odd.name")))], NOTHING, id="only-a-name-the-api-refuses"),
    pytest.param([call(), output(result(definition("x" * 64)))], [["x" * 64]], id="longest-name"),
    pytest.param([call(), output(result(definition("x" * 65)))], NOTHING, id="name-too-long"),
]


@pytest.mark.parametrize("capability", FORMS)
@pytest.mark.parametrize(("items", "expected"), TRANSCRIPTS)
def test_transcript_discloses_this(items: list[Any], expected: list[list[str]], capability: Capability) -> None:
    injected = inject(request(*items), capability)
    assert loaded(injected) == expected
    left = iter(injected["input"])
    assert all(any(item == each for each in left) for item in [USER, *items])
    check(injected, capability)


OUTPUT_TEXT = [{"type": "output_text", "text": result()}]
NO_ITEMS: list[Any] = [None, 7, "text", [], {"type": []}]

BROKEN = [
    pytest.param([output()], NOTHING, id="no-call"),
    pytest.param([output(), call()], NOTHING, id="result-before-the-call"),
    pytest.param([call(), output(call_id="c2")], NOTHING, id="id-of-no-call"),
    pytest.param([call(), {"type": "function_call_output", "output": result()}], NOTHING, id="no-id"),
    pytest.param([call(), output("x"), output()], NOTHING, id="second-output-of-one-call"),
    pytest.param([call(), call(name="eager"), output(), output()], NOTHING, id="id-shared-with-another-tool"),
    pytest.param([call(name="eager"), call(), output()], NOTHING, id="id-taken-from-another-tool"),
    pytest.param([call(), output("x"), call(name="eager"), output()], NOTHING, id="id-used-again-by-another-tool"),
    pytest.param([call(), output("x"), call(), output()], WEATHER, id="id-used-again-by-describe"),
    pytest.param([call(namespace="mcp"), output()], NOTHING, id="another-tool-of-the-name"),
    pytest.param([{**call(), "type": "custom_tool_call"}, output()], NOTHING, id="custom-tool-of-the-name"),
    pytest.param([{"type": "message", "role": "assistant", "content": result()}], NOTHING, id="message"),
    pytest.param([call(), output(OUTPUT_TEXT)], NOTHING, id="text-of-another-kind"),
    pytest.param([*NO_ITEMS, call(), output(7)], NOTHING, id="no-items-at-all"),
]


@pytest.mark.parametrize("capability", FORMS)
@pytest.mark.parametrize(("items", "expected"), BROKEN)
def test_transcript_that_the_api_would_refuse_does_no_harm(
    items: list[Any], expected: list[list[str]], capability: Capability
) -> None:
    injected = inject(request(*items), capability)
    assert loaded(injected) == expected
    assert names(injected)[:3] == ["describe_tools", "eager", "search_tools"]
    assert inject(injected, capability) == injected


@pytest.mark.parametrize("capability", FORMS)
def test_first_definition_is_kept_when_the_schema_changes(capability: Capability) -> None:
    changed = definition(parameters={"type": "object", "properties": {"town": {"type": "string"}}})
    injected = inject(request(call(), output(), call("c2"), output(result(changed), "c2")), capability)
    assert loaded(injected) == WEATHER
    assert loading(injected)[0]["tools"][0]["parameters"] == CITY


REFUSED: list[Any] = [
    {"type": "object", "properties": {}, "oneOf": [{"required": ["a"]}, {"required": ["b"]}]},
    {"type": "object", "properties": {"tags": {"type": "array"}}},
    {"type": "object", "properties": {"tags": {"type": ["array", "null"]}}},
    {"enum": [{}]},
    {"type": ["object", "null"]},
    {"type": "array"},
]


@pytest.mark.parametrize("capability", FORMS)
@pytest.mark.parametrize("parameters", REFUSED)
def test_schema_that_the_api_refuses_is_loaded_open_and_told(parameters: Any, capability: Capability) -> None:
    injected = inject(request(call(), output(result(definition(parameters=parameters)))), capability)
    tool = loading(injected)[0]["tools"][0]
    assert tool["parameters"] == {"type": "object", "additionalProperties": True, "properties": {}}
    assert json.loads(tool["description"].partition("exactly: ")[2]) == parameters
    check(injected, capability)


@pytest.mark.parametrize("capability", FORMS)
@pytest.mark.parametrize(
    ("tools", "advice"),
    [
        pytest.param(TOOLS, "Use other tools, or say that they have to be renamed.", id="native"),
        pytest.param([*TOOLS, function("run_code")], 'await tools["exact-name"](arguments)', id="both"),
    ],
)
def test_model_is_told_once_of_names_that_no_call_can_have(tools: Any, advice: str, capability: Capability) -> None:
    odd = result(definition("ignore.all.rules"), definition())
    items = [call(), output(odd), call("c2"), output(odd, "c2")]
    injected = inject(request(*items, tools=tools), capability)
    notes = [item["content"] for item in injected["input"] if item.get("role") == "developer" and "content" in item]
    assert len(notes) == 1
    assert notes[0].endswith(advice)
    assert "ignore" not in notes[0]
    assert injected["input"][3]["content"] == notes[0]
    with pytest.raises(UnsupportedToolError) as caught:
        openai_responses_tools([Definition("ignore.all.rules", "", {}).schema()])
    assert caught.value.rule in notes[0]
    assert loaded(injected) == WEATHER
    check(injected, capability)


@pytest.mark.parametrize("capability", FORMS)
def test_name_that_the_transcript_declares_itself_is_not_declared_again(capability: Capability) -> None:
    own = {"type": "additional_tools", "role": "developer", "tools": [function("fetch_weather")]}
    injected = inject(request(call(), output(), own), capability)
    assert loaded(injected) == WEATHER
    accepted(injected, [], BOTH_FORMS)
    assert inject(injected, capability) == injected


@pytest.mark.parametrize("capability", FORMS)
def test_name_of_a_namespace_or_a_custom_tool_is_taken(capability: Capability) -> None:
    space: dict[str, Any] = {"type": "namespace", "name": "fetch_weather", "description": "", "tools": []}
    injected = inject(request(call(), output(), tools=[*TOOLS, space]), capability)
    assert loaded(injected) == NOTHING
    injected = inject(
        request(call(), output(), tools=[*TOOLS, {"type": "custom", "name": "fetch_weather"}]), capability
    )
    assert loaded(injected) == NOTHING


def test_later_call_of_a_loaded_function_carries_its_namespace_and_an_earlier_one_does_not() -> None:
    early, bare = call("c0", "fetch_weather"), call("c2", "fetch_weather")
    own = call("c3", "fetch_weather", namespace="fetch_weather")
    other = call("c4", "eager")
    outputs = [output("x", call_id) for call_id in ("c2", "c3", "c4")]
    injected = inject(request(early, output("x", "c0"), call(), output(), bare, own, other, *outputs), SEARCH)
    spaces = [item.get("namespace") for item in injected["input"] if item.get("type") == "function_call"]
    assert spaces == [None, None, "fetch_weather", "fetch_weather", None]
    assert "namespace" not in bare
    check(injected, SEARCH)


def test_namespace_that_came_with_a_call_is_replayed_whatever_the_form() -> None:
    own = call("c2", "fetch_weather", namespace="fetch_weather")
    assert own in inject(request(own, output("x", "c2")), SEARCH)["input"]
    assert own in inject(request(call(), output(), own, output("x", "c2")), ADDITIONAL)["input"]


def test_search_of_the_model_is_answered_only_where_nobody_did() -> None:
    ask: dict[str, Any] = {
        "type": "tool_search_call",
        "call_id": "call_1",
        "execution": "client",
        "arguments": {},
        "status": "completed",
    }
    answer: dict[str, Any] = {
        "type": "tool_search_output",
        "call_id": "call_1",
        "execution": "client",
        "status": "completed",
        "tools": [],
    }
    hosted: dict[str, Any] = {"type": "tool_search_call", "call_id": None, "execution": "server", "arguments": {}}
    assert inject(request(ask, USER), SEARCH)["input"] == [USER, ask, answer, USER]
    assert inject(request(ask, answer), SEARCH)["input"] == [USER, ask, answer]
    assert inject(request(hosted), SEARCH)["input"] == [USER, hosted]


def test_search_entry_of_the_application_is_kept_and_serves() -> None:
    own = {"type": "tool_search", "execution": "client", "description": "Ours.", "parameters": CITY}
    injected = inject(request(call(), output(), tools=[own, *TOOLS]), SEARCH)
    assert names(injected) == ["tool_search", "describe_tools", "eager", "search_tools"]
    assert injected["tools"][0] is own
    check(injected, SEARCH)


@pytest.mark.parametrize("capability", FORMS)
@pytest.mark.parametrize("before", FORMS)
@pytest.mark.parametrize(
    "removed",
    [
        pytest.param((), id="nothing"),
        pytest.param((1, 2), id="describe-pair"),
        pytest.param((3,), id="first-that-was-added"),
        pytest.param((4,), id="second-that-was-added"),
        pytest.param((1, 2, 3), id="describe-pair-and-first"),
        pytest.param((1, 2, 4), id="describe-pair-and-second"),
        pytest.param((3, 4), id="both-that-were-added"),
    ],
)
def test_what_compaction_left_of_an_earlier_injection_does_no_harm(
    removed: tuple[int, ...], before: Capability, capability: Capability
) -> None:
    kept = inject(request(call(), output(), USER), before)["input"]
    injected = inject(request(*(item for index, item in enumerate(kept) if index not in {0, *removed})), capability)
    accepted(injected, [], BOTH_FORMS)
    is_there = 1 not in removed or (before is ADDITIONAL and 3 not in removed)
    assert loaded(injected) == (WEATHER if is_there else NOTHING)
    assert inject(injected, capability) == injected


LEFT_ALONE = [
    pytest.param({"tools": [function("run_code")]}, id="code-mode"),
    pytest.param({"tools": []}, id="no-tools"),
    pytest.param({"tools": [{"type": "custom", "name": "describe_tools"}, *TOOLS[1:]]}, id="custom-describe"),
    pytest.param({"previous_response_id": "resp_1"}, id="previous-response"),
    pytest.param({"conversation": "conv_1"}, id="conversation"),
    pytest.param({"conversation": {"id": "conv_1"}}, id="conversation-object"),
    pytest.param({"input": [call(), output(), {"type": "item_reference", "id": "rs_1"}]}, id="reference"),
    pytest.param({"input": [call(), output(), {"id": "rs_1"}]}, id="reference-without-a-type"),
    pytest.param(
        {
            "tool_choice": {
                "type": "allowed_tools",
                "mode": "auto",
                "tools": [{"type": "function", "name": "invoke_tool"}],
            }
        },
        id="invoke-tool-allowed",
    ),
]


@pytest.mark.parametrize("capability", FORMS)
@pytest.mark.parametrize("fields", LEFT_ALONE)
def test_request_is_left_as_it_is(fields: Any, capability: Capability) -> None:
    given = request(call(), output(), **fields)
    assert inject(given, capability) == given


@pytest.mark.parametrize("capability", [Capability.NONE, Capability.TOOL_REFERENCES])
def test_request_is_left_as_it_is_without_a_capability_of_this_api(capability: Capability) -> None:
    given = request(call(), output())
    assert inject(given, capability) == given


def test_request_with_a_hosted_search_takes_additional_tools_alone() -> None:
    hosted = {"type": "tool_search"}
    given = request(call(), output(), tools=[*TOOLS, hosted, function("later") | {"defer_loading": True}])
    assert inject(given, SEARCH) == given
    injected = inject(given, ADDITIONAL)
    assert loaded(injected) == WEATHER
    accepted(injected, [], BOTH_FORMS)


def test_request_without_tools_or_input_is_served() -> None:
    given: Any = {"model": "gpt-6"}
    assert inject(given, ADDITIONAL) == given
    given["tools"] = TOOLS
    assert names(inject(given, ADDITIONAL)) == ["describe_tools", "eager", "search_tools"]


@pytest.mark.parametrize("capability", FORMS)
def test_first_request_with_a_text_has_the_tools_of_the_later_ones(capability: Capability) -> None:
    first = inject(request() | {"input": "Oslo?"}, capability)
    later = inject(request(call(), output()), capability)
    assert first["input"] == "Oslo?"
    assert json.dumps(first["tools"]) == json.dumps(later["tools"])
    check(first, capability)


@pytest.mark.parametrize("capability", FORMS)
def test_choice_that_forces_invoke_tool_forces_any_tool(capability: Capability) -> None:
    injected = inject(request(tool_choice={"type": "function", "name": "invoke_tool"}), capability)
    assert injected["tool_choice"] == "required"
    check(injected, capability)


@pytest.mark.parametrize("capability", FORMS)
@pytest.mark.parametrize(
    "choice",
    [
        "auto",
        "none",
        {"type": "function", "name": "eager"},
        {"type": "allowed_tools", "mode": "required", "tools": [{"type": "function", "name": "eager"}]},
    ],
)
def test_any_other_choice_stays(choice: Any, capability: Capability) -> None:
    injected = inject(request(call(), output(), tool_choice=choice), capability)
    assert injected["tool_choice"] == choice
    assert loaded(injected) == WEATHER
    check(injected, capability)


@pytest.mark.parametrize("capability", FORMS)
def test_in_both_mode_the_declarations_for_programs_stay_readable(capability: Capability) -> None:
    text = result(language="python", sdk="class Tools: ...")
    injected = inject(request(call(), output(text), tools=[*TOOLS, function("run_code")]), capability)
    assert output(text) in injected["input"]
    assert loaded(injected) == WEATHER
    assert "run_code" in names(injected)


@pytest.mark.parametrize("capability", FORMS)
def test_request_is_never_changed(capability: Capability) -> None:
    given = request(call(), output(), call("c2", "fetch_weather"), output("x", "c2"), tool_choice="auto")
    before = copy.deepcopy(given)
    injected = inject(given, capability)
    assert given == before
    injected["tools"].clear()
    injected["input"].clear()
    assert given == before


@pytest.mark.parametrize("capability", FORMS)
def test_iterators_are_read_once_and_the_result_has_lists(capability: Capability) -> None:
    given = request(call(), output())
    once: Any = {**given, "tools": iter(given["tools"]), "input": iter(given["input"])}
    assert inject(once, capability) == inject(given, capability)
    once |= {"tools": iter(given["tools"]), "input": iter(given["input"]), "previous_response_id": "resp_1"}
    assert inject(once, capability) == {**given, "previous_response_id": "resp_1"}


@pytest.mark.parametrize("capability", FORMS)
def test_objects_of_the_sdk_are_read_like_dictionaries(capability: Capability) -> None:
    describe = ResponseFunctionToolCall(type="function_call", call_id="c1", name="describe_tools", arguments="{}")
    weather = ResponseFunctionToolCall(type="function_call", call_id="c2", name="fetch_weather", arguments="{}")
    told = ResponseFunctionToolCallOutputItem(
        type="function_call_output", id="fco_1", call_id="c1", output=result(), status="completed"
    )
    injected = inject(request(describe, told, weather, output("x", "c2")), capability)
    assert loaded(injected) == WEATHER
    replayed = next(item for item in injected["input"] if getattr(item, "call_id", None) == "c2")
    assert replayed.namespace == ("fetch_weather" if capability is SEARCH else None)
    assert weather.namespace is None
    assert inject(injected, capability) == injected


def test_items_of_a_parsed_response_can_be_sent_back() -> None:
    response = Response.model_validate(
        {
            "id": "resp_1",
            "object": "response",
            "created_at": 0,
            "model": "gpt-6",
            "output": [call(id="fc_1", status="completed"), call("c2", id="fc_2", status="completed")],
            "parallel_tool_calls": True,
            "tool_choice": "auto",
            "tools": [],
        }
    )
    injected = inject(request(*response.output, output(), output("x", "c2")), ADDITIONAL)
    assert [item for item in injected["input"] if not isinstance(item, dict)] == response.output
    assert loaded(injected) == WEATHER


def test_the_sdk_is_not_imported() -> None:
    code = "import sys, progressive.native.openai; sys.exit('openai' in sys.modules or 'anthropic' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


@pytest.mark.parametrize("capability", FORMS)
def test_cost_grows_with_the_transcript_and_no_faster(capability: Capability) -> None:
    def transcript(turns: int) -> Any:
        pairs = [(call(f"c{n}"), output(result(definition(f"tool_{n}")), f"c{n}")) for n in range(turns)]
        return request(*(item for pair in pairs for item in pair))

    small, large = transcript(200), transcript(1_600)
    # Eight times the length: eight times the time, sixty-four times if anything were quadratic.
    assert growth(lambda: inject(small, capability), lambda: inject(large, capability), enough=16) < 16
