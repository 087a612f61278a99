"""Properties of injection over random registries and conversations, and over transcripts that nobody would send."""

import copy
import json
from typing import Any, cast

import anyio
from hypothesis import given
from hypothesis import strategies as st

from progressive import Disclosure, DisclosureOptions
from progressive.formats import openai_responses_tools
from progressive.native.capability import Capability
from progressive.native.openai import inject
from tests.progressive.native.openai_rules import Accepted, accepted
from tests.progressive.toolkit import plain_tool
from tool_runtime import Disposer, JsonObject, ToolCall, ToolRuntime

FORMS = st.sampled_from([Capability.ADDITIONAL_TOOLS, Capability.TOOL_SEARCH])
NAMES = ["alpha", "beta-2", "Gamma", "odd.name", "x" * 64, "y" * 65]
SCHEMAS: list[JsonObject] = [
    {"type": "object", "properties": {}},
    {"type": "object", "properties": {"a": {"type": "integer"}}, "additionalProperties": False},
    {"type": "object", "properties": {"a": {"type": "array"}}},
    {"type": "object", "properties": {}, "oneOf": [{"required": ["a"]}, {"required": ["b"]}]},
    {"type": "object"},
]

name = st.sampled_from(NAMES)
STEPS = st.one_of(
    st.tuples(st.just("register"), name, st.sampled_from(SCHEMAS)),
    st.tuples(st.just("unregister"), name),
    st.tuples(st.just("describe"), st.lists(st.lists(name, min_size=1, max_size=3), min_size=1, max_size=2)),
    st.tuples(st.just("call"), name),
    st.tuples(st.just("compact"), st.integers(1, 4)),
    st.tuples(st.just("clear"), st.integers(0, 4)),
    st.tuples(st.just("ask")),
)


class Conversation:
    """An agent whose registry and transcript change between requests."""

    def __init__(self, capability: Capability) -> None:
        self.capability = capability
        self.runtime = ToolRuntime()
        self.runtime.register(plain_tool("eager"))
        self.disclosure = Disclosure(self.runtime, DisclosureOptions(eager_tools=("eager",)))
        self.registered: dict[str, Disposer] = {"alpha": self.runtime.register(plain_tool("alpha"))}
        self.turns: list[list[dict[str, Any]]] = [[{"role": "user", "content": "Hello."}]]
        self.is_rewritten = False
        self.ids = 0

    def request(self) -> Any:
        surface = self.disclosure.surface()
        return {
            "model": "gpt-6",
            "instructions": surface.prompt,
            "tools": openai_responses_tools(surface.tools),
            "input": [item for turn in self.turns for item in turn],
        }

    async def take(self, step: Any, allowed: Accepted) -> None:
        self.is_rewritten = step[0] in {"compact", "clear"}
        match step:
            case ("register", str(name), schema):
                if name not in self.registered:
                    self.registered[name] = self.runtime.register(plain_tool(name, f"Does {name}.", schema))
            case ("unregister", str(name)):
                self.registered.pop(name, lambda: None)()
            case ("describe", asked):
                await self.run([("describe_tools", {"names": names}) for names in asked], allowed)
            case ("call", str(name)):
                if name in allowed.namespaces:
                    await self.run([(name, {})], allowed)
            case ("compact", int(count)):
                self.turns = [[{"role": "user", "content": "A summary."}], *self.turns[count:]]
            case ("clear", int(index)):
                for item in self.turns[min(index, len(self.turns) - 1)]:
                    if "output" in item:
                        item["output"] = item["output"][:-1]
            case _:
                self.turns.append([{"role": "user", "content": "Go on."}])

    async def run(self, calls: list[tuple[str, dict[str, Any]]], allowed: Accepted) -> None:
        turn: list[ToolCall] = []
        items: list[dict[str, Any]] = []
        for name, arguments in calls:
            self.ids += 1
            turn.append(ToolCall(name, arguments, id=f"call_{self.ids}"))
            item = {"type": "function_call", "call_id": turn[-1].id, "name": name, "arguments": json.dumps(arguments)}
            space = allowed.namespaces[name]
            items.append(item if space is None else {**item, "namespace": space})
        for call, result in zip(turn, await self.disclosure.surface().run_turn(turn), strict=True):
            items.append({"type": "function_call_output", "call_id": call.id, "output": result.text})
        self.turns.append(items)


@given(capability=FORMS, steps=st.lists(STEPS, max_size=8))
def test_prefix_keeps_its_bytes_and_no_request_is_refused(capability: Capability, steps: list[Any]) -> None:
    async def converse() -> None:
        conversation = Conversation(capability)
        prefixes: set[str] = set()
        before: list[Any] = []
        for step in [("ask",), *steps, ("ask",)]:
            request = conversation.request()
            kept = copy.deepcopy(request)
            injected = inject(request, capability)
            assert request == kept
            assert inject(injected, capability) == injected
            allowed = accepted(injected, [], frozenset({capability.value}))
            prefixes.add(json.dumps([injected["instructions"], injected["tools"]]))
            assert conversation.is_rewritten or injected["input"][: len(before)] == before
            before = injected["input"]
            await conversation.take(step, allowed)
        assert len(prefixes) == 1

    anyio.run(converse)


@given(steps=st.lists(STEPS, max_size=8))
def test_both_forms_load_the_same_at_the_same_places(steps: list[Any]) -> None:
    async def converse() -> None:
        conversation = Conversation(Capability.ADDITIONAL_TOOLS)
        for step in [*steps, ("ask",)]:
            request = conversation.request()
            added = inject(request, Capability.ADDITIONAL_TOOLS)["input"]
            searched = inject(request, Capability.TOOL_SEARCH)["input"]
            assert [shape(item) for item in added] == [
                shape(item) for item in searched if item.get("type") != "tool_search_call"
            ]
            allowed = accepted(inject(request, Capability.ADDITIONAL_TOOLS), [], frozenset({"additional_tools"}))
            await conversation.take(step, allowed)

    def shape(item: dict[str, Any]) -> Any:
        if item.get("type") in {"additional_tools", "tool_search_output"}:
            return [{key: value for key, value in tool.items() if key != "defer_loading"} for tool in item["tools"]]
        return {key: value for key, value in item.items() if key != "namespace"}

    anyio.run(converse)


RESULT = json.dumps({"tools": [{"name": "alpha", "description": "", "parameters": {"type": "object"}, "output": {}}]})
IDS = st.sampled_from(["c1", "c2", "disclosed_1", None])
ODD = st.one_of(
    st.none(),
    st.integers(),
    st.text(max_size=5),
    st.just({"role": "user", "content": RESULT}),
    st.fixed_dictionaries(
        {
            "type": st.sampled_from(
                ["function_call", "function_call_output", "tool_search_call", "tool_search_output", "additional_tools"]
            ),
            "call_id": IDS,
            "name": st.sampled_from(["describe_tools", "alpha", "eager", 7]),
            "output": st.sampled_from([RESULT, RESULT[:-1], [{"type": "input_text", "text": RESULT}], [None], 7, None]),
            "status": st.sampled_from(["completed", "incomplete", None, []]),
            "execution": st.sampled_from(["client", "server", None]),
            "tools": st.sampled_from([[], [{"type": "function", "name": "alpha"}], [None], None]),
        }
    ),
)


@given(capability=FORMS, items=st.lists(ODD, max_size=12))
def test_any_transcript_is_kept_as_it_is_and_completed_once(capability: Capability, items: list[Any]) -> None:
    tools = [{"type": "function", "name": name} for name in ("describe_tools", "invoke_tool")]
    request: Any = {"model": "gpt-6", "tools": tools, "input": items}
    kept = copy.deepcopy(request)
    injected = inject(request, capability)
    assert request == kept
    assert inject(injected, capability) == injected
    left = map(bare, injected["input"])
    for item in items:
        assert is_of_an_injection(item) or any(bare(item) == each for each in left)


def is_of_an_injection(item: Any) -> bool:
    kind, call_id = bare(item).get("type"), bare(item).get("call_id")
    return kind in {"tool_search_call", "tool_search_output"} and call_id == "disclosed_1"


def bare(item: Any) -> dict[str, Any]:
    """Return an item without the namespace that injection may have added."""
    if not isinstance(item, dict):
        return {"item": item}
    return {key: value for key, value in cast("dict[str, Any]", item).items() if key != "namespace"}
