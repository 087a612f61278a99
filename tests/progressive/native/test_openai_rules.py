"""The local Responses API refuses what the real one refuses, with an error of its shape."""

from typing import Any

import pytest
from openai import BadRequestError, DefaultHttpxClient, OpenAI

from tests.progressive.native.fake_openai import BOTH_FORMS, FakeOpenAI, Say
from tests.progressive.native.openai_rules import Refusal, accepted


def function(name: str = "read", **fields: Any) -> dict[str, Any]:
    parameters: dict[str, Any] = {"type": "object", "properties": {}}
    return {"type": "function", "name": name, "parameters": parameters, "strict": False} | fields


def call(call_id: str = "c1", **fields: Any) -> dict[str, Any]:
    return {"type": "function_call", "call_id": call_id, "name": "read", "arguments": "{}"} | fields


def output(call_id: str = "c1") -> dict[str, Any]:
    return {"type": "function_call_output", "call_id": call_id, "output": "x"}


def search(call_id: str = "s1", **fields: Any) -> dict[str, Any]:
    arguments: dict[str, Any] = {}
    return {"type": "tool_search_call", "call_id": call_id, "execution": "client", "arguments": arguments} | fields


def found(*tools: Any, call_id: str = "s1") -> dict[str, Any]:
    return {"type": "tool_search_output", "call_id": call_id, "execution": "client", "tools": list(tools)}


def added(*tools: Any, **fields: Any) -> dict[str, Any]:
    return {"type": "additional_tools", "role": "developer", "tools": list(tools)} | fields


SEARCH_TOOL = {"type": "tool_search", "execution": "client"}
LATER = function("later", defer_loading=True)
ARRAY = {"type": "object", "properties": {"x": {"type": "array"}}}

REFUSED: list[Any] = [
    pytest.param({"tool": 1}, "Unknown parameter: 'tool'", id="unknown-parameter"),
    pytest.param({"tools": [function(x=1)]}, r"Unknown parameter: 'tools\[0\].x'", id="unknown-field-of-a-tool"),
    pytest.param({"input": [call(x=1), output()]}, r"Unknown parameter: 'input\[0\].x'", id="unknown-field-of-an-item"),
    pytest.param({"input": [{"type": "tool_result"}]}, "Invalid value: 'tool_result'", id="unknown-item"),
    pytest.param({"tools": [{"type": "tool"}]}, "Invalid value: 'tool'", id="unknown-tool"),
    pytest.param({"input": [call(arguments={}), output()]}, r"Invalid type for 'input\[0\].arguments'", id="type"),
    pytest.param({"input": [{"role": "tool", "content": "x"}]}, r"Invalid type for 'input\[0\]", id="role"),
    pytest.param({"input": [added(function(), role="user")]}, r"Invalid type for 'input\[0\].role", id="role-of-tools"),
    pytest.param({"tools": [function("a.b")]}, "string does not match pattern", id="name"),
    pytest.param({"tools": [function("a" * 65)]}, "string too long", id="long-name"),
    pytest.param({"input": [call("c" * 65), output("c" * 65)]}, r"'input\[0\].call_id': string too long", id="long-id"),
    pytest.param({"input": [call(id="call_1"), output()]}, "an ID that begins with 'fc'", id="id-of-another-kind"),
    pytest.param(
        {"input": [call("c1", id="fc_1"), output(), call("c2", id="fc_1"), output("c2")]},
        "Duplicate item found",
        id="id-twice",
    ),
    pytest.param({"tools": [function(parameters={"oneOf": []})]}, "not have 'oneOf'", id="schema"),
    pytest.param({"tools": [function(parameters={"type": "object"})]}, "missing properties", id="no-properties"),
    pytest.param({"tools": [function(parameters=ARRAY)]}, "array schema missing items", id="no-items"),
    pytest.param({"tools": [function(), function()]}, "Duplicate tool name: 'read'", id="tool-twice"),
    pytest.param({"tools": [function()], "input": [added(function())]}, "Duplicate tool name", id="added-again"),
    pytest.param({"input": [added(function()), added(function())]}, "Duplicate tool name", id="added-twice"),
    pytest.param({"input": [added(LATER)], "tools": [SEARCH_TOOL]}, "defer_loading", id="added-deferred"),
    pytest.param({"tools": [LATER]}, "Deferred tools require tools.tool_search", id="deferred-without-search"),
    pytest.param({"input": [search(), found(LATER)]}, "require tools.tool_search", id="found-without-search-tool"),
    pytest.param({"tools": [{"type": "tool_search"}]}, "requires at least one deferred", id="hosted-search-of-nothing"),
    pytest.param({"tools": [SEARCH_TOOL, SEARCH_TOOL]}, "Only one tool_search", id="two-search-tools"),
    pytest.param(
        {"tools": [SEARCH_TOOL], "input": [found()]}, "No tool call found for tool search output", id="found-unasked"
    ),
    pytest.param(
        {"tools": [SEARCH_TOOL], "input": [search()]}, "No tool output found for tool search call", id="not-found"
    ),
    pytest.param({"input": [output()]}, "No tool call found for function call output", id="output-alone"),
    pytest.param({"input": [output(), call()]}, "No tool call found for function call output", id="output-first"),
    pytest.param({"input": [call()]}, "No tool output found for function call c1", id="call-alone"),
    pytest.param(
        {"tools": [SEARCH_TOOL], "input": [search(), found(LATER), call(name="later"), output()]},
        "Missing namespace for function_call 'later'",
        id="no-namespace",
    ),
    pytest.param({"tool_choice": {"type": "function", "name": "read"}}, "Tool choice 'read' not found", id="choice"),
    pytest.param(
        {"tool_choice": {"type": "allowed_tools", "mode": "auto", "tools": [{"type": "function", "name": "read"}]}},
        "Tool choice 'read' not found",
        id="allowed",
    ),
]


@pytest.mark.parametrize(("fields", "message"), REFUSED)
def test_request_is_refused(fields: dict[str, Any], message: str) -> None:
    with pytest.raises(Refusal, match=message):
        accepted({"model": "gpt-6", **fields}, [], BOTH_FORMS)


ACCEPTED: list[Any] = [
    pytest.param({"input": "Hello"}, {}, id="text"),
    pytest.param({"tools": [function(), SEARCH_TOOL]}, {"read": None}, id="search-of-the-client"),
    pytest.param({"input": [call(), call("c2"), output("c2"), output()]}, {}, id="parallel"),
    pytest.param({"input": [call(), added(function("a")), output()]}, {"a": None}, id="tools-between"),
    pytest.param({"input": [call(namespace="gone"), output()]}, {}, id="namespace-of-nothing"),
    pytest.param(
        {"tools": [SEARCH_TOOL], "input": [call(name="later"), output(), search(), found(LATER)]},
        {"later": "later"},
        id="call-before-it-was-loaded",
    ),
    pytest.param(
        {"tools": [SEARCH_TOOL], "input": [search(), found(LATER), call(name="later", namespace="later"), output()]},
        {"later": "later"},
        id="namespace",
    ),
]


@pytest.mark.parametrize(("fields", "callable_names"), ACCEPTED)
def test_request_is_accepted(fields: dict[str, Any], callable_names: dict[str, str | None]) -> None:
    assert accepted({"model": "gpt-6", **fields}, [], BOTH_FORMS).namespaces == callable_names


def test_client_gets_the_error_of_a_refusal_and_the_answer_of_what_is_right() -> None:
    fake = FakeOpenAI([[Say("Hello.")]])
    http = DefaultHttpxClient(verify=False)
    with fake.running() as url, OpenAI(base_url=url, api_key="none", max_retries=0, http_client=http) as client:
        with pytest.raises(BadRequestError) as caught:
            client.responses.create(
                model="gpt-6", input=[{"type": "function_call_output", "call_id": "c1", "output": ""}]
            )
        assert (caught.value.status_code, caught.value.param, caught.value.type) == (
            400,
            "input",
            "invalid_request_error",
        )
        with pytest.raises(BadRequestError, match="Previous response with id 'resp_9' not found"):
            client.responses.create(model="gpt-6", input="Hello", previous_response_id="resp_9")
        assert client.responses.create(model="gpt-6", input="Hello").output_text == "Hello."
    assert len(fake.refusals) == 2
