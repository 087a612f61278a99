import json
from typing import Any

import anyio
import anyio.lowlevel
import pytest

from progressive import Disclosure, DisclosureOptions
from tests.progressive.toolkit import called, failure_of, found_names, plain_tool, value_of
from tool_runtime import (
    Allow,
    Ask,
    Decision,
    Deny,
    Invocation,
    JsonObject,
    RuntimeCode,
    Tool,
    ToolAnnotations,
    ToolCall,
    ToolRuntime,
    ToolSuccess,
)
from tool_runtime.scheduler import ALONE, Shared

pytestmark = pytest.mark.anyio

PARAMETERS: JsonObject = {
    "type": "object",
    "properties": {"city": {"type": "string", "description": "City to look up"}},
    "required": ["city"],
}


def disclosed(*tools: Tool[Any], eager: tuple[str, ...] = (), **options: int) -> ToolRuntime:
    runtime = ToolRuntime()
    for tool in tools:
        runtime.register(tool)
    Disclosure(runtime, DisclosureOptions.model_validate({"eager_tools": eager, **options}))
    return runtime


def numbered(count: int, description: str = "Generic helper.") -> list[Tool[Any]]:
    return [plain_tool(f"tool_{number:03}", description) for number in range(count)]


# -- search_tools --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("arguments", [{}, {"query": None}, {"query": ""}, {"query": "  "}, {"query": " * "}])
async def test_without_words_the_catalog_is_complete(arguments: JsonObject) -> None:
    value = await value_of(disclosed(*numbered(25)), "search_tools", **arguments)
    assert (value["total"], value["truncated"], len(value["matches"])) == (25, False, 25)
    assert "note" not in value


async def test_a_ranked_answer_is_capped_and_tells_the_number_of_matches() -> None:
    runtime = disclosed(*numbered(25), plain_tool("other", "Something else."))
    value = await value_of(runtime, "search_tools", query="helper")
    assert (value["total"], value["truncated"], len(value["matches"])) == (25, True, 10)
    assert "more specific words" in value["note"]


@pytest.mark.parametrize(("limit", "shown"), [(1, 1), (10, 10), (11, 10), (99, 10)])
async def test_an_explicit_limit_holds_up_to_the_cap(limit: int, shown: int) -> None:
    runtime = disclosed(*numbered(25))
    for query in (None, "helper", "zebra"):
        value = await value_of(runtime, "search_tools", query=query, limit=limit)
        assert (value["total"], value["truncated"], len(value["matches"])) == (25, True, shown)


async def test_a_query_without_a_match_says_so_and_lists_all() -> None:
    result = await called(disclosed(*numbered(12)), "search_tools", query="zebra")
    assert isinstance(result, ToolSuccess)
    assert result.text.startswith(
        "12 tools (no tool matches the query; these are all that are not declared)\ntool_000: "
    )
    assert result.text.count("\n") == 12


async def test_entries_hold_nothing_but_name_and_description() -> None:
    value = await value_of(disclosed(plain_tool("a", "One\n  line.", PARAMETERS)), "search_tools", query="city")
    assert value == {"total": 1, "truncated": False, "matches": [{"name": "a", "description": "One line."}]}


async def test_beyond_the_bound_in_bytes_entries_carry_the_name_only() -> None:
    runtime = disclosed(*numbered(100, "x" * 200), max_result_bytes=10_000)
    value = await value_of(runtime, "search_tools")
    described = [match["name"] for match in value["matches"] if "description" in match]
    assert len(json.dumps(value)) <= 10_000
    assert 20 < len(described) < 60
    assert found_names(value)[: len(described)] == described
    assert len(found_names(value)) == value["total"] == 100
    assert f"descriptions from entry {len(described) + 1} on are left out" in value["note"]


async def test_what_cannot_be_seen_in_a_description_is_not_listed() -> None:
    runtime = disclosed(plain_tool("a", "One\x1b[31m\u202e line\u2028two."), plain_tool("b"))
    result = await called(runtime, "search_tools")
    assert isinstance(result, ToolSuccess)
    assert result.text == "2 tools\na: One[31m line two.\nb"


async def test_a_query_with_outer_spaces_names_the_tool_that_has_them() -> None:
    runtime = disclosed(plain_tool("foo"), plain_tool(" foo "))
    assert found_names(await value_of(runtime, "search_tools", query=" foo ")) == [" foo ", "foo"]
    assert found_names(await value_of(runtime, "search_tools", query="foo")) == ["foo", " foo "]


async def test_a_mistyped_name_is_recognised_among_thousands_that_begin_alike() -> None:
    tools = [plain_tool(f"mcp__srv{number % 70}__tool_{number:04}") for number in range(2_000)]
    runtime = disclosed(*tools, plain_tool("mcp__zeta__readGraph"))
    failure = await failure_of(runtime, "describe_tools", names=["mcp__zeta__READ_GRPH"])
    assert "did you mean mcp__zeta__readGraph" in failure.message
    assert "did you mean mcp__zeta__readGraph" in (await failure_of(runtime, "mcp__zeta__readgraph")).message


async def test_a_search_in_a_scope_that_is_closed_meanwhile_says_so() -> None:
    runtime = disclosed(*numbered(200))
    scope = runtime.scope()
    failures: list[str] = []

    async def search() -> None:
        failures.append((await failure_of(runtime, "search_tools", scope, query="helper")).code)

    async with anyio.create_task_group() as tasks:
        tasks.start_soon(search)
        await anyio.lowlevel.checkpoint()
        runtime.close_scope(scope)
    assert failures == [RuntimeCode.UNKNOWN_TOOL]


@pytest.mark.parametrize(
    ("arguments", "reason"),
    [
        ({"query": "x" * 501}, "at most 500 characters"),
        ({"query": 5}, "query"),
        ({"limit": 0}, "limit"),
        ({"limit": 1.5}, "limit"),
        ({"q": "x"}, "known: query, limit"),
    ],
)
async def test_wrong_search_arguments_are_refused(arguments: JsonObject, reason: str) -> None:
    failure = await failure_of(disclosed(), "search_tools", **arguments)
    assert failure.code == "INVALID_ARGS"
    assert reason in failure.message


# -- describe_tools ------------------------------------------------------------------------------------------------


async def test_a_description_is_one_json_object_with_exact_schemas() -> None:
    result = await called(
        disclosed(plain_tool("weather", "Of a city.", PARAMETERS)), "describe_tools", names=["weather"]
    )
    assert isinstance(result, ToolSuccess)
    assert result.value == {
        "tools": [{"name": "weather", "description": "Of a city.", "parameters": PARAMETERS, "output": {}}]
    }
    assert json.loads(result.text) == result.value


async def test_names_come_back_in_the_order_asked_and_once() -> None:
    value = await value_of(disclosed(*numbered(3)), "describe_tools", names=["tool_002", "tool_000", "tool_002"])
    assert [tool["name"] for tool in value["tools"]] == ["tool_002", "tool_000"]


async def test_where_programs_run_a_description_carries_stubs_of_these_tools_alone() -> None:
    runtime = disclosed(*numbered(2), plain_tool("run_code"))
    value = await value_of(runtime, "describe_tools", names=["tool_001"])
    assert value["language"] == "python"
    assert "tool_001" in value["sdk"]
    assert "tool_000" not in value["sdk"]


@pytest.mark.parametrize(
    ("names", "code", "reason"),
    [
        ([], "INVALID_ARGS", "names: give 1 to 5 exact names"),
        (["a"] * 6, "INVALID_ARGS", "6 given, at most 5 at once"),
        ([""], "INVALID_ARGS", "a name is empty"),
        (["x" * 201], "INVALID_ARGS", "a name has at most 200 characters"),
        (["tool_0"], "UNKNOWN_TOOL", "there is no tool 'tool_0'; did you mean tool_0"),
        (
            ["tool_000", "zebra", "yak"],
            "UNKNOWN_TOOL",
            "no tool 'zebra'; search_tools lists what there is; there is no",
        ),
        (["hot"], "UNKNOWN_TOOL", "'hot' is already declared: call it by its name"),
        (["search_tools"], "UNKNOWN_TOOL", "'search_tools' belongs to the discovery of tools"),
        (["run_code"], "UNKNOWN_TOOL", "there is no tool 'run_code'"),
    ],
)
async def test_a_name_that_cannot_be_described_is_named_with_the_reason(
    names: list[Any], code: str, reason: str
) -> None:
    runtime = disclosed(*numbered(3), plain_tool("hot"), eager=("hot",))
    failure = await failure_of(runtime, "describe_tools", names=names)
    assert failure.code == code
    assert reason in failure.message


async def test_a_description_over_the_bound_in_bytes_tells_both_numbers() -> None:
    runtime = disclosed(plain_tool("a", "x" * 5_000), max_result_bytes=1_000)
    failure = await failure_of(runtime, "describe_tools", names=["a"])
    assert failure.code == "RESULT_TOO_LARGE"
    assert (
        "5100 bytes, at most 1000 are returned; a alone is too large: it can be called all the same" in failure.message
    )


# -- invoke_tool ---------------------------------------------------------------------------------------------------


async def test_the_target_answers_as_if_it_had_been_called_directly() -> None:
    runtime = disclosed(plain_tool("weather", "Of a city.", PARAMETERS))
    cases: tuple[JsonObject, ...] = ({"city": "Rome"}, {}, {"city": 5})
    for arguments in cases:
        direct = await called(runtime, "weather", **arguments)
        assert await called(runtime, "invoke_tool", name="weather", arguments=arguments) == direct


@pytest.mark.parametrize(
    ("arguments", "code", "reason"),
    [
        ({"name": "tool_000"}, "INVALID_ARGS", "arguments: is required"),
        ({"name": "tool_000", "arguments": None}, "INVALID_ARGS", "arguments: "),
        ({"name": "tool_000", "arguments": "{}"}, "INVALID_ARGS", "arguments: "),
        ({"name": "", "arguments": {}}, "INVALID_ARGS", "a name is empty"),
        ({"name": "x" * 300, "arguments": {}}, "INVALID_ARGS", "at most 200 characters"),
        ({"name": "nope", "arguments": {}}, "UNKNOWN_TOOL", "there is no tool 'nope'"),
        ({"name": "hot", "arguments": {}}, "UNKNOWN_TOOL", "already declared"),
        ({"name": "invoke_tool", "arguments": {}}, "UNKNOWN_TOOL", "'invoke_tool' belongs to"),
    ],
)
async def test_only_names_of_the_catalog_are_invoked(arguments: JsonObject, code: str, reason: str) -> None:
    runtime = disclosed(*numbered(1), plain_tool("hot"), eager=("hot",))
    failure = await failure_of(runtime, "invoke_tool", **arguments)
    assert failure.code == code
    assert reason in failure.message


async def test_an_invocation_is_scheduled_as_its_target() -> None:
    runtime = disclosed(*numbered(1))
    runtime.register(safe := plain_tool("safe", concurrency_safe=True))
    assert runtime.lane(ToolCall("invoke_tool", {"name": safe.name, "arguments": {}}, id="c")) == Shared()
    assert runtime.lane(ToolCall("invoke_tool", {"name": "tool_000", "arguments": {}}, id="c")) == ALONE
    assert runtime.lane(ToolCall("invoke_tool", {"name": "invoke_tool", "arguments": {}}, id="c")) == ALONE


# -- approval and guards stay authoritative --------------------------------------------------------------------------

SECRET = "tool_000"


async def denying(invocation: Invocation) -> Decision:
    return Deny("not for you") if invocation.tool.name == SECRET else Allow()


async def asking(invocation: Invocation) -> Decision:
    return Ask("really?") if invocation.tool.name == SECRET else Allow()


@pytest.mark.parametrize("gate", [denying, asking])
@pytest.mark.parametrize("discover_first", [True, False])
async def test_a_call_that_a_gate_denies_never_runs_however_it_was_found(gate: Any, *, discover_first: bool) -> None:
    ran: list[str] = []
    runtime = disclosed(plain_tool(SECRET, ran=ran))
    runtime.add_gate(gate)
    if discover_first:
        assert found_names(await value_of(runtime, "search_tools", query=SECRET)) == [SECRET]
        await value_of(runtime, "describe_tools", names=[SECRET])
    direct = await failure_of(runtime, SECRET)
    invoked = await failure_of(runtime, "invoke_tool", name=SECRET, arguments={})
    assert direct.code == RuntimeCode.DENIED
    assert invoked == direct
    assert ran == []


async def test_a_guard_sees_the_target_of_an_invocation_with_its_own_arguments() -> None:
    ran: list[str] = []
    seen: list[tuple[str, JsonObject, str | None]] = []
    runtime = disclosed(plain_tool("weather", "", PARAMETERS, ran=ran))

    def guard(invocation: Invocation) -> str | None:
        seen.append((invocation.tool.name, invocation.arguments, invocation.parent_id))
        return "no weather" if invocation.tool.name == "weather" else None

    runtime.add_guard(guard)
    failure = await failure_of(runtime, "invoke_tool", name="weather", arguments={"city": "Rome"})
    assert failure.code == RuntimeCode.DENIED
    assert seen[-1] == ("weather", {"city": "Rome"}, "c1")
    assert ran == []


async def test_what_a_scope_does_not_see_it_neither_finds_nor_describes_nor_invokes() -> None:
    ran: list[str] = []
    runtime = disclosed(plain_tool(SECRET, ran=ran), plain_tool("other"))
    denied, allowed = runtime.scope(), runtime.scope()
    runtime.restrict(denied, deny=[SECRET])
    runtime.restrict(allowed, allow=["other"])
    for scope in (denied, allowed, runtime.scope(denied)):
        assert found_names(await value_of(runtime, "search_tools", scope)) == ["other"]
        assert SECRET not in found_names(await value_of(runtime, "search_tools", scope, query=SECRET))
        described = await failure_of(runtime, "describe_tools", scope, names=[SECRET])
        invoked = await failure_of(runtime, "invoke_tool", scope, name=SECRET, arguments={})
        assert described.code == invoked.code == RuntimeCode.UNKNOWN_TOOL
        assert (await failure_of(runtime, SECRET, scope)).code == RuntimeCode.UNKNOWN_TOOL
    assert ran == []


async def test_a_layer_denied_in_a_scope_does_not_work_there() -> None:
    runtime = disclosed(*numbered(1))
    scope = runtime.scope()
    runtime.restrict(scope, deny=["invoke_tool"])
    failure = await failure_of(runtime, "invoke_tool", scope, name="tool_000", arguments={})
    assert failure.code == RuntimeCode.UNKNOWN_TOOL


async def test_two_tools_that_are_too_large_together_are_asked_for_apart() -> None:
    runtime = disclosed(plain_tool("a", "x" * 600), plain_tool("b", "x" * 600), max_result_bytes=1_000)
    failure = await failure_of(runtime, "describe_tools", names=["a", "b"])
    assert failure.code == "RESULT_TOO_LARGE"
    assert "ask for fewer tools at once" in failure.message
    assert (await value_of(runtime, "describe_tools", names=["b"]))["tools"][0]["name"] == "b"


# -- what is missing for the moment ------------------------------------------------------------------------------------


class Missing:
    def absent_note(self) -> str | None:
        return "still connecting: fs"

    def why_absent(self, name: str) -> str | None:
        return "the server fs is still being connected" if name.startswith("mcp__fs__") else None


async def test_what_is_missing_for_the_moment_is_said_in_every_search_and_of_the_names_in_question() -> None:
    runtime = ToolRuntime()
    runtime.register(plain_tool("mcp__other__echo"))
    layer = Disclosure(runtime, absences=Missing())
    for query in (None, "echo", "zebra"):
        assert "still connecting: fs" in (await value_of(runtime, "search_tools", query=query))["note"]
    for failure in (
        await failure_of(runtime, "invoke_tool", name="mcp__fs__echo", arguments={}),
        await failure_of(runtime, "describe_tools", names=["mcp__fs__echo"]),
        await failure_of(runtime, "mcp__fs__echo"),
    ):
        assert failure.code == RuntimeCode.UNKNOWN_TOOL
        assert failure.message == "there is no tool 'mcp__fs__echo' now: the server fs is still being connected"
    layer.unmount()
    assert "being connected" not in (await failure_of(runtime, "mcp__fs__echo")).message


async def test_the_name_that_a_tool_has_on_its_server_is_recognised() -> None:
    runtime = disclosed(plain_tool("mcp__srv__echo"), plain_tool("mcp__srv__other"))
    failure = await failure_of(runtime, "invoke_tool", name="echo", arguments={})
    assert failure.message == "there is no tool 'echo'; did you mean mcp__srv__echo?"


async def test_nothing_waits_for_a_search() -> None:
    runtime = disclosed()
    for name in ("search_tools", "describe_tools"):
        assert not runtime.lane(ToolCall(name, {"names": ["a"]} if name == "describe_tools" else {}, id="c")).is_ordered


async def test_hosts_are_told_that_asking_is_harmless_and_an_invocation_may_be_anything() -> None:
    hints = {schema.name: schema.annotations for schema in disclosed().schemas()}
    assert hints["search_tools"] == hints["describe_tools"]
    assert hints["search_tools"] == ToolAnnotations(read_only=True, destructive=False, idempotent=True)
    assert hints["invoke_tool"] == ToolAnnotations(read_only=False, destructive=True, idempotent=False, open_world=True)
