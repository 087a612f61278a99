"""The tools of one server in the runtime, kept as its list says."""

import logging
from collections.abc import Sequence

import anyio
import anyio.lowlevel
import pytest
from mcp import types
from pydantic import JsonValue

from progressive.gateway import GatewayOptions
from progressive.gateway._definitions import Definition
from progressive.gateway._listing import Listing
from progressive.gateway._secrets import Secrets
from progressive.gateway._shelf import Shelf
from progressive.gateway._tools import ToolMaker
from tests.progressive.gateway.support import definition
from tool_runtime import JsonObject, TextBlock, Tool, ToolContext, ToolRuntime

pytestmark = pytest.mark.anyio


async def answer(_definition: Definition, _args: JsonObject) -> types.CallToolResult:
    return types.CallToolResult(content=[])


class Fixture:
    def __init__(self) -> None:
        options = GatewayOptions()
        self.runtime = ToolRuntime()
        maker = ToolMaker(server="s", call=answer, secrets=Secrets([]), options=options)
        self.shelf = Shelf(self.runtime, "s", maker, options)

    async def arrange(self, *listed: JsonValue, unread: int = 0) -> None:
        await self.shelf.arrange(Listing(list(listed), unread, cuts=("the end is missing",) if unread else ()))

    @property
    def names(self) -> Sequence[str]:
        return [tool.name for tool in self.runtime.tools()]


@pytest.fixture
def fixture() -> Fixture:
    return Fixture()


async def test_an_unchanged_definition_keeps_its_very_tool(fixture: Fixture) -> None:
    await fixture.arrange(definition("a", description="one"), definition("b"))
    before = {tool.name: tool for tool in fixture.runtime.tools()}
    await fixture.arrange(definition("b"), definition("a", description="two"), definition("c"))
    after = {tool.name: tool for tool in fixture.runtime.tools()}
    assert after.keys() == {"mcp__s__a", "mcp__s__b", "mcp__s__c"}
    assert after["mcp__s__b"] is before["mcp__s__b"]
    assert after["mcp__s__a"].description == "two"


async def test_gone_tools_are_unregistered(fixture: Fixture) -> None:
    await fixture.arrange(definition("a"), definition("b"))
    await fixture.arrange(definition("b"))
    assert fixture.names == ["mcp__s__b"]
    fixture.shelf.clear()
    assert fixture.names == []


async def test_a_tool_that_gets_a_double_changes_its_name_and_back(fixture: Fixture) -> None:
    await fixture.arrange(definition("a b"))
    assert fixture.names == ["mcp__s__a_b"]
    await fixture.arrange(definition("a b"), definition("a.b"))
    assert len(fixture.names) == 2
    assert "mcp__s__a_b" not in fixture.names
    await fixture.arrange(definition("a b"))
    assert fixture.names == ["mcp__s__a_b"]


async def test_what_cannot_be_used_is_skipped_counted_and_logged_once(
    fixture: Fixture, caplog: pytest.LogCaptureFixture
) -> None:
    listed: list[JsonValue] = [
        definition("good"),
        definition("good", description="a double"),
        {"name": "no schema"},
        definition("bad", inputSchema={"type": "object", "properties": {"a": {"type": "nonsense"}}}),
        {"name": 5},
        definition(""),
        "no definition",
    ]
    with caplog.at_level(logging.WARNING):
        for _ in range(3):
            await fixture.arrange(*listed, unread=10)
    assert fixture.names == ["mcp__s__good"]
    assert fixture.shelf.skipped == 16
    cut, doubles, nameless, *unusable = fixture.shelf.left_out
    assert cut == "the end is missing"
    assert doubles == "1 with a name that is listed before"
    assert nameless == "3 without a usable name"
    assert unusable[0] == "'no schema': inputSchema is not a schema of an object"
    assert unusable[1].startswith("'bad': ")
    assert len(unusable) == 2
    ours = [record.getMessage() for record in caplog.records if record.name.startswith("progressive")]
    assert [message.partition(" is left out: ")[0] for message in ours] == [
        "mount s: tool 'no schema'",
        "mount s: tool 'bad'",
    ]


async def test_what_is_told_of_the_unusable_is_bounded_and_up_to_date(fixture: Fixture) -> None:
    bad = [definition(f"bad\n{number}" + "x" * 5_000, inputSchema=None) for number in range(500)]
    await fixture.arrange(*bad)
    lines = fixture.shelf.left_out
    assert len(lines) == 11
    assert lines[-1] == "490 more that cannot be used"
    assert all(len(line) < 500 and "\n" not in line for line in lines)
    await fixture.arrange(definition("good"))
    assert fixture.shelf.left_out == ()


@pytest.mark.parametrize("levels", [300, 5_000])
async def test_a_definition_that_nests_too_deep_costs_that_tool_only(fixture: Fixture, levels: int) -> None:
    deep: JsonObject = {"type": "object"}
    for _ in range(levels):
        deep = {"type": "object", "properties": deep}
    await fixture.arrange(definition("deep", inputSchema=deep), definition("good"))
    assert fixture.names == ["mcp__s__good"]
    assert len(fixture.shelf.left_out) == 1
    assert fixture.shelf.left_out[0].startswith("'deep': it")


async def test_a_definition_that_becomes_invalid_takes_its_tool_away_and_back(fixture: Fixture) -> None:
    await fixture.arrange(definition("a"))
    await fixture.arrange({"name": "a"})
    assert fixture.names == []
    await fixture.arrange(definition("a"))
    assert fixture.names == ["mcp__s__a"]


async def test_an_invalid_output_schema_costs_the_schema_only(fixture: Fixture) -> None:
    await fixture.arrange(definition("a", outputSchema={"type": "nonsense"}))
    assert [schema.output for schema in fixture.runtime.schemas()] == [{}]


async def test_a_name_that_somebody_else_has_costs_that_tool_only(fixture: Fixture) -> None:
    async def execute(_args: JsonObject, _ctx: ToolContext) -> JsonValue:
        return None

    other = Tool[JsonObject](
        name="mcp__s__a",
        description="",
        parameters={"type": "object"},
        output={},
        execute=execute,
        render=lambda _args, _value: (TextBlock(""),),
    )
    dispose = fixture.runtime.register(other)
    await fixture.arrange(definition("a"), definition("b"))
    assert fixture.runtime.get("mcp__s__a") is other
    assert fixture.names == ["mcp__s__a", "mcp__s__b"]
    assert fixture.shelf.skipped == 1
    dispose()
    await fixture.arrange(definition("a"), definition("b"))
    assert fixture.names == ["mcp__s__a", "mcp__s__b"]
    assert fixture.shelf.skipped == 0


async def test_a_long_list_lets_others_work(fixture: Fixture) -> None:
    turns = 0
    done = anyio.Event()

    async def count() -> None:
        nonlocal turns
        while not done.is_set():
            turns += 1
            await anyio.lowlevel.checkpoint()

    async with anyio.create_task_group() as tasks:
        tasks.start_soon(count)
        await fixture.arrange(*(definition(f"t{number}") for number in range(300)))
        done.set()
    assert len(fixture.names) == 300
    assert turns > 100
