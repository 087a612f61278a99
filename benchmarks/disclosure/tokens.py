"""What a task costs in tokens, by surface: `python -m benchmarks.disclosure.tokens [--data DIR]`.

The task is ten steps over the 527 tools of the public set: three calls of each of three tools, and the answer. A
surface without schemas needs six requests more, a search and a describe for each of the three. Every request is made as
an agent makes it, with `progressive.native` where the API loads tools, and taken apart in the order in which a model
reads it. Nothing is sent, so the figures are the same in every run.

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
from progressive import Disclosure, Mode
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
"""What every call of a tool of the set returns: the tools themselves are not there to be run."""
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
    catalog = _with_names_once(tools)
    plain, programs = _runtime(catalog), _runtime([*catalog, _run_code()])
    up_front = plain.schemas()
    native, both = Disclosure(plain), Disclosure(programs)
    found = await _found(plain, requests)
    # Descriptions hold declarations for programs as well where there are programs.
    task, with_stubs = await _calls(plain, found), await _calls(programs, found)

    loading, invoking = native.surface(loads_tools=True), native.surface()
    code, mixed = both.surface(mode=Mode.CODE), both.surface(mode=Mode.BOTH)
    known = [call for call in task if call.name not in _FINDING]
    invoked = [_invoked(call) for call in task]
    return [
        *(_tokens("all declared up front", api, up_front, "", known) for api in (_MESSAGES, _RESPONSES)),
        *(
            _tokens("Native, loaded by the API", api, loading.tools, loading.prompt, task)
            for api in (_REFERENCES, _ITEM, _SEARCH)
        ),
        *(
            _tokens_of_growing(api, loading.tools, loading.prompt, task, {schema.name: schema for schema in up_front})
            for api in (_MESSAGES, _RESPONSES)
        ),
        *(
            _tokens("Native, `invoke_tool`", api, invoking.tools, invoking.prompt, invoked)
            for api in (_MESSAGES, _RESPONSES)
        ),
        *(
            _tokens(f"Code, {wording}", _RESPONSES, code.tools, code.prompt, _programs(with_stubs, calls_max=calls_max))
            for calls_max, wording in ((1, "one call a program"), (_CALLS_EACH, "three calls a program"))
        ),
        *(
            _tokens("Both, called directly", api, mixed.tools, mixed.prompt, with_stubs)
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


def _with_names_once(tools: Sequence[Tool[Any]]) -> list[Tool[Any]]:
    """Return the tools of all servers under names of which each stands once."""
    taken = Counter[str]()
    named: list[Tool[Any]] = []
    for tool in tools:
        taken[tool.name] += 1
        named.append(tool if taken[tool.name] == 1 else replace(tool, name=f"{tool.name}_{taken[tool.name]}"))
    return named


def _runtime(tools: Sequence[Tool[Any]]) -> ToolRuntime:
    runtime = ToolRuntime()
    for tool in tools:
        runtime.register(tool)
    return runtime


async def _found(runtime: ToolRuntime, requests: Sequence[Request]) -> dict[str, str]:
    """Return the queries of the first requests whose tool is found, by the tool's name."""
    queries: dict[str, str] = {}
    for request in requests:
        success = await _run(runtime, SEARCH, {"query": request.query})
        matches = cast("dict[str, Any]", success.value)["matches"]
        right = next((match["name"] for match in matches if match["name"] in request.answers), None)
        if right is not None:
            queries.setdefault(right, request.query)
        if len(queries) == _TOOLS_USED:
            return queries
    raise ValueError(f"the set has {len(queries)} requests whose tool is found; the task needs {_TOOLS_USED}")


async def _calls(runtime: ToolRuntime, found: Mapping[str, str]) -> list[Call]:
    """Return the calls of the task: one tool after the other is found, described and called."""
    calls: list[Call] = []
    for name, query in found.items():
        tool = runtime.get(name)
        assert tool is not None
        finding: list[tuple[str, JsonObject]] = [
            (SEARCH, {"query": query}),
            (DESCRIBE, {"names": [name]}),
        ]
        calls += [Call(own, arguments, (await _run(runtime, own, arguments)).text) for own, arguments in finding]
        calls += [Call(name, _sample(tool.schema().parameters), as_json(_RESULT))] * _CALLS_EACH
    return calls


async def _run(runtime: ToolRuntime, name: str, arguments: JsonObject) -> ToolSuccess:
    result = await runtime.execute(ToolCall(name, arguments, id="c"))
    if not isinstance(result, ToolSuccess):
        raise TypeError(result.text)
    return result


def _sample(schema: JsonObject) -> JsonObject:
    """Return arguments with the keys that a tool requires."""
    properties = cast("dict[str, JsonObject]", schema.get("properties", {}))
    required = cast("list[str]", schema.get("required", []))
    return {key: _SAMPLES.get(str(properties.get(key, {}).get("type")), "a value of some words") for key in required}


def _invoked(call: Call) -> Call:
    if call.name in _FINDING:
        return call
    return Call(INVOKE, {"name": call.name, "arguments": call.arguments}, call.result)


def _programs(calls: Sequence[Call], *, calls_max: int) -> list[Call]:
    """Return the same calls made by programs, each with up to so many calls of one tool."""
    programs: list[Call] = []
    at = 0
    while at < len(calls):
        name = calls[at].name
        together = list(takewhile(lambda call, name=name: call.name == name, calls[at : at + calls_max]))
        at += len(together)
        lines = [f"print(await tools[{name!r}]({call.arguments!r}))" for call in together]
        arguments: JsonObject = {"code": "\n".join(lines), "description": f"Call {name}"}
        programs.append(Call(RUN_CODE, arguments, "\n".join(call.result for call in together)))
    return programs


def _run_code() -> Tool[Any]:
    """Return a stand-in with what a model reads of it; nothing runs it here."""
    return Tool[JsonObject](
        name=RUN_CODE,
        description="Run a Python program as the body of an async function; printed lines and the result come back.",
        parameters={
            "type": "object",
            "properties": {"code": {"type": "string"}, "description": {"type": "string"}},
            "required": ["code", "description"],
        },
        output={},
        execute=_never_called,
        render=lambda _, value: [TextBlock(as_json(value))],
    )


async def _never_called(_args: JsonObject, _context: ToolContext) -> JsonValue:
    raise AssertionError("no program is run")


if __name__ == "__main__":
    sys.exit(main())
