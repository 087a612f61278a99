"""What a provider caches stays the same bytes over a conversation, whatever comes and goes in the registry."""

import json
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final, cast

import anyio
from anthropic.types import ToolUnionParam
from anthropic.types.message_create_params import MessageCreateParamsNonStreaming
from hypothesis import given
from hypothesis import strategies as st

from progressive import Disclosure, DisclosureOptions, Mode
from progressive.formats import anthropic_tools
from progressive.native.anthropic import inject
from progressive.native.capability import Capability
from tests.progressive.native.fake_anthropic import check_request, loaded_names
from tests.progressive.toolkit import plain_tool
from tool_runtime import JsonObject, ToolCall, ToolFailure, ToolRuntime

EAGER: Final = ("eager_read", "eager_write")
NAMES: Final = ("alpha", "Beta", "send-mail", "has space", "日历")
SCHEMAS: Final[Sequence[JsonObject]] = (
    {"type": "object", "properties": {"a": {"type": "string"}}},
    {"type": "object", "properties": {"b": {"type": "integer"}}, "required": ["b"]},
    {"type": "object", "oneOf": [{"required": ["a"]}]},
    {"type": "object", "properties": {"odd key": {}}},
)
MARK: Final = {"type": "ephemeral"}
NOTHING_DESCRIBED: Final[list[str]] = []

Step = tuple[str, Any]

names = st.sampled_from(NAMES)
schemas = st.sampled_from(SCHEMAS)
registries = st.dictionaries(names, schemas, min_size=2)
steps = st.lists(
    st.one_of(
        st.tuples(st.just("register"), st.tuples(names, schemas)),
        st.tuples(st.just("remove"), names),
        st.tuples(
            st.just("call"),
            st.lists(
                st.one_of(
                    st.tuples(st.just("describe_tools"), st.lists(names, min_size=1, max_size=3)),
                    st.tuples(st.just("search_tools") | names, st.just(NOTHING_DESCRIBED)),
                ),
                min_size=1,
                max_size=3,
            ),
        ),
        st.tuples(st.just("compact"), st.none()),
    ),
    max_size=12,
)


class Conversation:
    """A runtime with the layer, and a transcript that grows."""

    def __init__(self, registry: Mapping[str, JsonObject], mode: Mode, *, is_marked: bool) -> None:
        self.runtime = ToolRuntime()
        for name in (*EAGER, "run_code"):
            self.runtime.register(plain_tool(name, "Always there."))
        self.disclosure = Disclosure(self.runtime, DisclosureOptions(eager_tools=EAGER))
        self.mode = mode
        self.is_marked = is_marked
        self.messages: list[Any] = [{"role": "user", "content": "Do it."}]
        self.calls = 0
        self.registered: dict[str, Callable[[], None]] = {
            name: self.runtime.register(plain_tool(name, "Does it.", schema)) for name, schema in registry.items()
        }

    async def run(self, step: Step) -> None:
        kind, value = step
        if kind == "register":
            self._remove(value[0])
            self.registered[value[0]] = self.runtime.register(plain_tool(value[0], "Does it.", value[1]))
        elif kind == "remove":
            self._remove(value)
        elif kind == "compact":
            self.messages = [{"role": "user", "content": "A summary."}]
        else:
            await self._call(value)

    def injected(self) -> dict[str, Any]:
        surface = self.disclosure.surface(mode=self.mode)
        tools: list[Any] = [*anthropic_tools(surface.tools)]
        if self.is_marked:
            tools[-1] = {**tools[-1], "cache_control": MARK}
        request: MessageCreateParamsNonStreaming = {
            "model": "m",
            "max_tokens": 10,
            "system": surface.prompt,
            "messages": self.messages,
            "tools": cast("list[ToolUnionParam]", tools),
        }
        return cast("dict[str, Any]", inject(request, Capability.TOOL_REFERENCES))

    def _remove(self, name: str) -> None:
        if name in self.registered:
            self.registered.pop(name)()

    def _arguments(self, name: str, described: list[str]) -> JsonObject:
        if name != "describe_tools":
            return {"a": "x"} if name in NAMES else {}
        # One unknown name fails the whole call; that is drawn where none of them is there.
        return {"names": [*([each for each in described if each in self.registered] or described)]}

    async def _call(self, wanted: list[tuple[str, list[str]]]) -> None:
        calls = [
            ToolCall(name, self._arguments(name, described), id=f"c{self.calls + n}")
            for n, (name, described) in enumerate(wanted)
        ]
        self.calls += len(calls)
        found = await self.runtime.run_turn(calls)
        uses = [{"type": "tool_use", "id": each.id, "name": each.name, "input": each.arguments} for each in calls]
        answers = [
            {
                "type": "tool_result",
                "tool_use_id": each.id,
                "content": [{"type": "text", "text": block.text} for block in result.content],
                "is_error": isinstance(result, ToolFailure),
            }
            for each, result in zip(calls, found, strict=True)
        ]
        self.messages = [
            *self.messages,
            {"role": "assistant", "content": uses},
            {"role": "user", "content": answers},
        ]


def prefix_of(found: dict[str, Any]) -> bytes:
    """Return what stands before the first message, as bytes: a deferred tool is no part of it."""
    tools = found["tools"]
    last = max(index for index, each in enumerate(tools) if not each.get("defer_loading"))
    return json.dumps([found["system"], tools[: last + 1]]).encode()


@given(registries, steps, st.sampled_from([Mode.NATIVE, Mode.BOTH]), st.booleans())
def test_prefix_is_the_same_bytes_over_every_conversation(
    registry: dict[str, JsonObject], steps: list[Step], mode: Mode, is_marked: bool
) -> None:
    async def converse() -> None:
        conversation = Conversation(registry, mode, is_marked=is_marked)
        before = conversation.injected()
        for step in steps:
            await conversation.run(step)
            after = conversation.injected()
            check_request(after)
            assert prefix_of(after) == prefix_of(before)
            if step[0] != "compact":
                # What was said before is cached as well: it is only ever added to.
                assert after["messages"][: len(before["messages"])] == before["messages"]
                assert json.dumps(after["tools"]).startswith(json.dumps(before["tools"])[:-1])
            assert "invoke_tool" not in loaded_names(after)
            before = after

    anyio.run(converse)
