"""What a task costs in tokens, by surface: `python -m benchmarks.disclosure.tokens [--data DIR]`.

The task is ten steps over the 527 tools of the public set: three calls of each of three tools, and the answer. A
surface without schemas needs six requests more, a search and a describe for each of the three. Every call is run,
programs too, over tools that all return the same value; every request is made as an agent makes it, with
`progressive.native` where the API loads tools, and taken apart in the order in which a model reads it. Nothing is sent,
so the figures are the same in every run.

Tokens are those of `o200k_base`, which OpenAI publishes. Other vendors' tokenizers are not public and count otherwise,
and no vendor says how it writes tools and messages into the text that a model reads: here they are compact JSON. So
figures of one column compare; as amounts they are estimates.
"""

import json
import sys
import warnings
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from functools import cache, partial
from itertools import pairwise, takewhile
from typing import TYPE_CHECKING, Any, Final, cast

import anyio
from pydantic import JsonValue

from benchmarks.disclosure.command import load, parser_of
from benchmarks.disclosure.corpora import Request
from benchmarks.disclosure.reading import Call, Read, as_json, read_messages, read_responses
from progressive import Disclosure, Mode, Surface
from progressive.code.monty import open_monty
from progressive.code.tool import run_code_tool
from progressive.names import DESCRIBE, INVOKE, RUN_CODE, SEARCH
from progressive.native.capability import Capability
from tool_runtime import JsonObject, TextBlock, Tool, ToolCall, ToolContext, ToolRuntime, ToolSchema, ToolSuccess

if TYPE_CHECKING:
    from bpe_openai import Encoding

_TOOLS_USED: Final = 3
_CALLS_EACH: Final = 3
_FINDING: Final = frozenset({SEARCH, DESCRIBE})
_RESULT: Final[JsonObject] = {
    "status": "ok",
    "items": [{"id": f"item-{number}", "name": f"Result {number}", "score": 0.5} for number in range(10)],
}
"""What every tool of the set returns: the servers behind them are not there."""
_SAMPLES: Final[Mapping[str, JsonValue]] = {"number": 52.5, "integer": 3, "boolean": True, "array": [], "object": {}}


@dataclass(frozen=True, slots=True, kw_only=True)
class Tokens:
    """Tokens of one task.

    Attributes:
        surface: What the model was shown.
        api: The format of the requests.
        requests: How many there are.
        prefix: What stands before the first message in every one.
        sent: All that the model read in all of them.
        new: The same without what the request before began with, which a provider's cache can have.
    """

    surface: str
    api: str
    requests: int
    prefix: int
    sent: int
    new: int


@dataclass(frozen=True, slots=True)
class _Request:
    name: str
    arguments: JsonObject


@dataclass(frozen=True, slots=True)
class _Api:
    name: str
    read: Callable[[Sequence[ToolSchema], str, Sequence[Call]], Read]


_REFERENCES: Final = _Api("Anthropic, `tool_reference`", partial(read_messages, Capability.TOOL_REFERENCES))
_ITEM: Final = _Api("OpenAI, `additional_tools`", partial(read_responses, Capability.ADDITIONAL_TOOLS))
_SEARCH: Final = _Api("OpenAI, `tool_search`", partial(read_responses, Capability.TOOL_SEARCH))
_MESSAGES: Final = _Api("Anthropic", partial(read_messages, Capability.NONE))
_RESPONSES: Final = _Api("OpenAI", partial(read_responses, Capability.NONE))


def main(arguments: Sequence[str] | None = None) -> int:
    options = parser_of("tokens", __doc__).parse_args(arguments)
    [steps, *_] = load(options.data)
    measured = anyio.run(measure, steps.tools, steps.requests)
    for tokens in measured:
        print(json.dumps(asdict(tokens)))
    print(table(measured))
    return 0


async def measure(tools: Sequence[Tool[Any]], requests: Sequence[Request]) -> list[Tokens]:
    """Return what the task costs on every surface.

    Raises:
        ValueError: The set has too few requests whose tool is found.
    """
    catalog = _stand_ins(tools)
    async with open_monty() as sandbox:
        plain, programs = _runtime(catalog), _runtime([*catalog, run_code_tool(sandbox)])
        native, both = Disclosure(plain), Disclosure(programs)
        loading, invoking = native.surface(loads_tools=True), native.surface()
        code, mixed = both.surface(mode=Mode.CODE), both.surface(mode=Mode.BOTH)
        plan = _plan(await _found(plain, requests), {tool.name: tool for tool in catalog})
        task = await _made(loading, plan)
        invoked = await _made(invoking, [_invoking(request) for request in plan])
        mixed_task = await _made(mixed, plan)
        one_each = await _made(code, _programs(plan, calls_max=1))
        three_each = await _made(code, _programs(plan, calls_max=_CALLS_EACH))
    up_front = {schema.name: schema for schema in _runtime(catalog).schemas()}
    known = [call for call in task if call.name not in _FINDING]
    return [
        *(_tokens("all declared up front", api, list(up_front.values()), "", known) for api in (_MESSAGES, _RESPONSES)),
        *(
            _tokens("Native, loaded by the API", api, loading.tools, loading.prompt, task)
            for api in (_REFERENCES, _ITEM, _SEARCH)
        ),
        *(_tokens_of_growing(api, loading.tools, loading.prompt, task, up_front) for api in (_MESSAGES, _RESPONSES)),
        *(
            _tokens("Native, `invoke_tool`", api, invoking.tools, invoking.prompt, invoked)
            for api in (_MESSAGES, _RESPONSES)
        ),
        *(
            _tokens("Code, one call a program", api, code.tools, code.prompt, one_each)
            for api in (_MESSAGES, _RESPONSES)
        ),
        *(
            _tokens("Code, three calls a program", api, code.tools, code.prompt, three_each)
            for api in (_MESSAGES, _RESPONSES)
        ),
        *(
            _tokens("Both, called directly", api, mixed.tools, mixed.prompt, mixed_task)
            for api in (_REFERENCES, _ITEM, _SEARCH)
        ),
    ]


def table(measured: Iterable[Tokens]) -> str:
    """Return a Markdown table."""
    rows = [
        "| surface | API | requests | prefix | read in all | of it new |",
        f"|---|---|{'---:|' * 4}",
    ]
    for tokens in measured:
        figures = (tokens.requests, tokens.prefix, tokens.sent, tokens.new)
        rows.append(f"| {tokens.surface} | {tokens.api} | {' | '.join(f'{figure:,}' for figure in figures)} |")
    return "\n".join(rows)


def _tokens(surface: str, api: _Api, tools: Sequence[ToolSchema], prompt: str, calls: Sequence[Call]) -> Tokens:
    """Return what a conversation costs that grows by one call with every request; the last one gets the answer."""
    return _of_reads(surface, api, [api.read(tools, prompt, calls[:made]) for made in range(len(calls) + 1)])


def _tokens_of_growing(
    api: _Api, tools: Sequence[ToolSchema], prompt: str, calls: Sequence[Call], catalog: Mapping[str, ToolSchema]
) -> Tokens:
    """Return what it costs to declare every described tool at the top, where it moves all that follows."""
    reads: list[Read] = []
    for made in range(len(calls) + 1):
        described = [catalog[name] for call in calls[:made] if call.name == DESCRIBE for name in _names(call)]
        reads.append(api.read([*tools, *described], prompt, calls[:made]))
    return _of_reads("Native, `tools` grows", api, reads)


def _names(call: Call) -> list[str]:
    return cast("list[str]", call.arguments["names"])


def _of_reads(surface: str, api: _Api, reads: Sequence[Read]) -> Tokens:
    texts = [(read.prefix, *read.turns) for read in reads]
    sent = [sum(map(_count, each)) for each in texts]
    cached = [sum(map(_count, _shared(earlier, later))) for earlier, later in pairwise(texts)]
    return Tokens(
        surface=surface,
        api=api.name,
        requests=len(reads),
        prefix=_count(reads[0].prefix),
        sent=sum(sent),
        new=sum(sent) - sum(cached),
    )


def _shared(earlier: Sequence[str], later: Sequence[str]) -> list[str]:
    """Return what both begin with."""
    return [first for first, _ in takewhile(lambda pair: pair[0] == pair[1], zip(earlier, later, strict=False))]


@cache
def _count(text: str) -> int:
    return len(_encoding().encode(text, disallowed_special=()))


@cache
def _encoding() -> "Encoding":
    # The library opens its data files in a way that Python has deprecated, when it is imported.
    with warnings.catch_warnings(action="ignore", category=DeprecationWarning):
        from bpe_openai import get_encoding
    return get_encoding("o200k_base")


def _stand_ins(tools: Sequence[Tool[Any]]) -> list[Tool[Any]]:
    """Return the tools of all servers with a body that returns the same value for all.

    Where servers have tools of the same name, a number follows, for in one request a name stands once.
    """
    taken = Counter[str]()
    stand_ins: list[Tool[Any]] = []
    for tool in tools:
        taken[tool.name] += 1
        name = tool.name if taken[tool.name] == 1 else f"{tool.name}_{taken[tool.name]}"
        stand_ins.append(replace(tool, name=name, execute=_answer, render=_as_text))
    return stand_ins


async def _answer(_arguments: object, _context: ToolContext) -> JsonValue:
    return _RESULT


def _as_text(_arguments: object, value: JsonValue) -> list[TextBlock]:
    return [TextBlock(as_json(value))]


def _runtime(tools: Sequence[Tool[Any]]) -> ToolRuntime:
    runtime = ToolRuntime()
    for tool in tools:
        runtime.register(tool)
    return runtime


async def _found(runtime: ToolRuntime, requests: Sequence[Request]) -> dict[str, str]:
    """Return the queries of the first requests whose tool is found, by the tool's name."""
    queries: dict[str, str] = {}
    for request in requests:
        result = await runtime.execute(ToolCall(SEARCH, {"query": request.query}, id="c"))
        assert isinstance(result, ToolSuccess)
        matches = cast("dict[str, Any]", result.value)["matches"]
        right = next((match["name"] for match in matches if match["name"] in request.answers), None)
        if right is not None:
            queries.setdefault(right, request.query)
        if len(queries) == _TOOLS_USED:
            return queries
    raise ValueError(f"the set has {len(queries)} requests whose tool is found; the task needs {_TOOLS_USED}")


def _plan(found: Mapping[str, str], tools: Mapping[str, Tool[Any]]) -> list[_Request]:
    """Return the calls of the task: one tool after the other is found, described and called."""
    plan: list[_Request] = []
    for name, query in found.items():
        plan += [_Request(SEARCH, {"query": query}), _Request(DESCRIBE, {"names": [name]})]
        plan += [_Request(name, _sample(tools[name].schema().parameters))] * _CALLS_EACH
    return plan


def _sample(schema: JsonObject) -> JsonObject:
    """Return arguments with the keys that a tool requires."""
    properties = cast("dict[str, JsonObject]", schema.get("properties", {}))
    required = cast("list[str]", schema.get("required", []))
    return {key: _SAMPLES.get(str(properties.get(key, {}).get("type")), "a value of some words") for key in required}


def _invoking(request: _Request) -> _Request:
    if request.name in _FINDING:
        return request
    return _Request(INVOKE, {"name": request.name, "arguments": request.arguments})


def _programs(plan: Sequence[_Request], *, calls_max: int) -> list[_Request]:
    """Return programs that make the same calls, each up to so many calls of one tool."""
    programs: list[_Request] = []
    at = 0
    while at < len(plan):
        name = plan[at].name
        together = list(takewhile(lambda request, name=name: request.name == name, plan[at : at + calls_max]))
        at += len(together)
        calls = [f"await tools[{name!r}]({request.arguments!r})" for request in together]
        value = calls[0] if len(calls) == 1 else f"[{', '.join(calls)}]"
        programs.append(_Request(RUN_CODE, {"code": f"return {value}", "description": f"Call {name}"}))
    return programs


async def _made(surface: Surface, plan: Sequence[_Request]) -> list[Call]:
    """Make the calls, one turn after the other."""
    calls: list[Call] = []
    for request in plan:
        [result] = await surface.run_turn([ToolCall(request.name, request.arguments, id="c")])
        if not isinstance(result, ToolSuccess):
            raise TypeError(f"the task does not run as it should: {result.text}")
        calls.append(Call(request.name, request.arguments, result.text))
    return calls


if __name__ == "__main__":
    sys.exit(main())
