"""What a model is shown, in bytes, by the size of the catalog: `python -m benchmarks.disclosure.size [--data DIR]`."""

import json
import sys
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass
from statistics import median
from typing import Any

import anyio

from benchmarks.disclosure.catalogs import catalog_of
from benchmarks.disclosure.command import load, parser_of
from progressive import Disclosure
from progressive.formats import anthropic_tools
from tool_runtime import JsonObject, Tool, ToolCall, ToolRuntime

_COUNTS = (0, 10, 100, 1_000, 10_000)
_DESCRIBED = 50


@dataclass(frozen=True, slots=True, kw_only=True)
class Size:
    """Bytes of what a request carries for a catalog.

    Attributes:
        tools: How many tools there are.
        up_front: All of them declared, in the format of the Anthropic API.
        prefix: The discovery tools in that format, with the section of the prompt.
        listing: The text of `search_tools({})`.
        search: The text of a ranked search, the median of some.
        describe: The text of `describe_tools` for one tool, the median of some.
    """

    tools: int
    up_front: int
    prefix: int
    listing: int
    search: int
    describe: int


def main(arguments: Sequence[str] | None = None) -> int:
    options = parser_of("size", __doc__).parse_args(arguments)
    [steps, *_] = load(options.data)
    queries = [request.query for request in steps.requests[:_DESCRIBED]]
    sizes = [anyio.run(measure, catalog_of(count, steps.tools), queries) for count in _COUNTS]
    for size in sizes:
        print(json.dumps(asdict(size)))
    print(table(sizes))
    return 0


async def measure(tools: Sequence[Tool[Any]], queries: Sequence[str]) -> Size:
    runtime = ToolRuntime()
    for tool in tools:
        runtime.register(tool)
    up_front = len(_json(anthropic_tools(runtime.schemas())))
    surface = Disclosure(runtime).surface()
    chosen = tools[:: max(1, len(tools) // _DESCRIBED)]
    return Size(
        tools=len(tools),
        up_front=up_front,
        prefix=len(_json(anthropic_tools(surface.tools))) + len(surface.prompt.encode()),
        listing=await _text_bytes(runtime, "search_tools", {}),
        search=round(median([await _text_bytes(runtime, "search_tools", {"query": query}) for query in queries])),
        describe=round(
            median([await _text_bytes(runtime, "describe_tools", {"names": [tool.name]}) for tool in chosen] or [0])
        ),
    )


def table(sizes: Iterable[Size]) -> str:
    """Return a Markdown table."""
    rows = [
        "| tools | all declared up front | stable prefix | full listing | ranked search | describe one |",
        f"|{'---:|' * 6}",
    ]
    for size in sizes:
        figures = (size.tools, size.up_front, size.prefix, size.listing, size.search, size.describe)
        rows.append(f"| {' | '.join(f'{figure:,}' for figure in figures)} |")
    return "\n".join(rows)


async def _text_bytes(runtime: ToolRuntime, name: str, arguments: JsonObject) -> int:
    result = await runtime.execute(ToolCall(name, arguments, id="c"))
    return len(result.text.encode())


def _json(value: object) -> bytes:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":")).encode()


if __name__ == "__main__":
    sys.exit(main())
