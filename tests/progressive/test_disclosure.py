import pytest

from progressive import Disclosure, DisclosureOptions, Mode, Surface, SurfaceError
from tests.progressive.toolkit import plain_tool
from tool_runtime import DuplicateNameError, ScopeId, ToolCall, ToolFailure, ToolRuntime, ToolSuccess, UnknownScopeError

pytestmark = pytest.mark.anyio

DISCOVERY = ["describe_tools", "invoke_tool", "search_tools"]


def runtime_with(*names: str) -> ToolRuntime:
    runtime = ToolRuntime()
    for name in names:
        runtime.register(plain_tool(name))
    return runtime


def declared(surface: Surface) -> list[str]:
    return [schema.name for schema in surface.tools]


@pytest.mark.parametrize(
    ("mode", "loads_tools", "names"),
    [
        (Mode.NATIVE, False, ["describe_tools", "eager", "invoke_tool", "search_tools"]),
        (Mode.NATIVE, True, ["describe_tools", "eager", "search_tools"]),
        (Mode.BOTH, False, ["describe_tools", "eager", "run_code", "search_tools"]),
        (Mode.CODE, False, ["run_code"]),
    ],
)
def test_each_mode_declares_its_tools(mode: Mode, names: list[str], *, loads_tools: bool) -> None:
    runtime = runtime_with("eager", "deferred", "run_code")
    disclosure = Disclosure(runtime, DisclosureOptions(eager_tools=("eager",)))
    assert declared(disclosure.surface(mode=mode, loads_tools=loads_tools)) == names


def test_the_prompt_of_each_mode_tells_the_protocol_among_the_other_sections() -> None:
    runtime = runtime_with("run_code")
    runtime.prompt.add("files", "Files are here.")
    disclosure = Disclosure(runtime)
    prompts = {mode: disclosure.surface(mode=mode).prompt for mode in Mode}
    assert len(set(prompts.values())) == 3
    for prompt in prompts.values():
        assert prompt.startswith("Files are here.\n\n## Tools that are not declared\n")
        assert "describe_tools" in prompt


def test_a_complete_prompt_stays_untouched_and_the_tools_are_the_same() -> None:
    disclosure = Disclosure(runtime_with("a"))
    surface = disclosure.surface(complete_prompt="Mine.")
    assert surface.prompt == "Mine."
    assert surface.tools == disclosure.surface().tools


def test_the_layer_covers_scopes_that_were_open_before_and_are_opened_after() -> None:
    runtime = runtime_with("a", "b")
    before = runtime.scope()
    runtime.restrict(before, allow=["a"])
    disclosure = Disclosure(runtime)
    for scope in (None, before, runtime.scope(), runtime.scope(before)):
        assert declared(disclosure.surface(scope)) == DISCOVERY


async def test_unmounting_restores_the_full_surface_everywhere() -> None:
    runtime = runtime_with("a", "b")
    scope = runtime.scope()
    full = [runtime.schemas(scope), runtime.prompt.text(scope)]
    disclosure = Disclosure(runtime)
    disclosure.unmount()
    disclosure.unmount()
    surface = disclosure.surface(scope, mode=Mode.CODE)
    assert [list(surface.tools), surface.prompt] == full
    assert isinstance((await surface.run_turn([ToolCall("a", {}, id="1")]))[0], ToolSuccess)
    [result] = await surface.run_turn([ToolCall("search_tools", {}, id="1")])
    assert isinstance(result, ToolFailure)
    assert result.code == "UNKNOWN_TOOL"
    assert declared(Disclosure(runtime).surface(scope)) == DISCOVERY


def test_a_second_layer_is_refused_and_leaves_the_first_as_it_is() -> None:
    runtime = runtime_with("a")
    disclosure = Disclosure(runtime)
    with pytest.raises(DuplicateNameError, match="search_tools"):
        Disclosure(runtime)
    assert declared(disclosure.surface()) == DISCOVERY


def test_a_layer_that_cannot_be_mounted_whole_is_not_mounted_at_all() -> None:
    runtime = runtime_with("invoke_tool")
    with pytest.raises(DuplicateNameError, match="invoke_tool"):
        Disclosure(runtime)
    assert [tool.name for tool in runtime.tools()] == ["invoke_tool"]


def test_an_eager_tool_that_a_scope_does_not_see_fails_assembly_and_lists_what_it_sees() -> None:
    runtime = runtime_with("hot", "b", "a")
    disclosure = Disclosure(runtime, DisclosureOptions(eager_tools=("hot", "missing")))
    with pytest.raises(SurfaceError, match=r"not visible: missing; visible here: a, b, hot$"):
        disclosure.surface()
    runtime.register(plain_tool("missing"))
    scope = runtime.scope()
    runtime.restrict(scope, deny=["hot"])
    with pytest.raises(SurfaceError, match=r"not visible: hot; visible here: a, b, missing$"):
        disclosure.surface(scope)
    assert declared(disclosure.surface()) == ["describe_tools", "hot", "invoke_tool", "missing", "search_tools"]


def test_a_long_list_of_visible_tools_is_cut() -> None:
    disclosure = Disclosure(
        runtime_with(*(f"tool_{number:03}" for number in range(80))), DisclosureOptions(eager_tools=("x",))
    )
    with pytest.raises(SurfaceError, match=r"tool_049 and 30 more$"):
        disclosure.surface()


@pytest.mark.parametrize("mode", [Mode.CODE, Mode.BOTH])
def test_a_mode_with_programs_needs_run_code(mode: Mode) -> None:
    with pytest.raises(SurfaceError, match="run_code is not visible in scope 0; this mode needs it"):
        Disclosure(runtime_with("a")).surface(mode=mode)


def test_a_discovery_tool_that_is_shadowed_or_denied_fails_assembly_there() -> None:
    runtime = runtime_with("a")
    disclosure = Disclosure(runtime)
    shadowing, denying = runtime.scope(), runtime.scope()
    runtime.register(plain_tool("search_tools"), shadowing)
    runtime.restrict(denying, deny=["invoke_tool"])
    with pytest.raises(SurfaceError, match="search_tools is shadowed by another tool of that name in scope 1"):
        disclosure.surface(shadowing)
    with pytest.raises(SurfaceError, match="invoke_tool is hidden in scope 2"):
        disclosure.surface(denying)
    assert declared(disclosure.surface(denying, loads_tools=True)) == ["describe_tools", "search_tools"]


def test_a_closed_scope_has_no_surface() -> None:
    runtime = runtime_with("a")
    disclosure = Disclosure(runtime)
    with pytest.raises(UnknownScopeError):
        disclosure.surface(ScopeId(7))


async def test_any_visible_name_runs_without_discovery_and_results_keep_their_order() -> None:
    runtime = runtime_with("a", "b")
    surface = Disclosure(runtime).surface()
    calls = [ToolCall(name, {}, id=str(number)) for number, name in enumerate(("b", "nope", "a"))]
    first, second, third = await surface.run_turn(calls)
    assert isinstance(first, ToolSuccess)
    assert isinstance(third, ToolSuccess)
    assert (first.value, third.value) == ({"tool": "b", "arguments": {}}, {"tool": "a", "arguments": {}})
    assert isinstance(second, ToolFailure)
    assert second.code == "UNKNOWN_TOOL"


async def test_in_code_mode_only_run_code_is_called_directly() -> None:
    ran: list[str] = []
    runtime = runtime_with("run_code")
    runtime.register(plain_tool("a", ran=ran))
    observed: list[str | None] = []
    runtime.add_observer(lambda observation: observed.append(observation.code))
    surface = Disclosure(runtime).surface(mode=Mode.CODE)
    calls = [ToolCall(name, {}, id=str(number)) for number, name in enumerate(("a", "run_code", "search_tools"))]
    refused, program, search = await surface.run_turn(calls)
    assert isinstance(program, ToolSuccess)
    assert program.value == {"tool": "run_code", "arguments": {}}
    assert isinstance(refused, ToolFailure)
    assert refused.code == "UNKNOWN_TOOL"
    assert refused.message == (
        'a: only run_code is called directly; inside its program: await tools["exact-name"](arguments)'
    )
    assert isinstance(search, ToolFailure)
    assert ran == []
    assert observed == ["UNKNOWN_TOOL", None, "UNKNOWN_TOOL"]


async def test_calls_that_come_one_by_one_are_refused_as_those_of_a_turn() -> None:
    ran: list[str] = []
    runtime = runtime_with("run_code")
    scope = runtime.scope()
    runtime.register(plain_tool("a", ran=ran), scope)
    disclosure = Disclosure(runtime)
    refused = await disclosure.surface(scope, mode=Mode.CODE).queue("me").run(ToolCall("a", {}, id="1"))
    program = await disclosure.surface(scope, mode=Mode.CODE).queue("me").run(ToolCall("run_code", {}, id="2"))
    direct = await disclosure.surface(scope, mode=Mode.BOTH).queue("me").run(ToolCall("a", {}, id="3"))
    assert isinstance(refused, ToolFailure)
    assert refused.code == "UNKNOWN_TOOL"
    assert refused.message.startswith("a: only run_code is called directly")
    assert isinstance(program, ToolSuccess)
    assert isinstance(direct, ToolSuccess)
    assert ran == ["a"]
