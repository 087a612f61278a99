"""How long a search takes, and what one change costs: `python -m benchmarks.disclosure.speed [--data DIR]`.

The machine's noise is high: compare within one run. Every search is set against a scan of all tools by the baselines
of the retrieval benchmark, for the same queries in the same run.
"""

import json
import sys
import time
from collections.abc import Awaitable, Callable, Iterable, Sequence
from dataclasses import asdict, dataclass, replace
from statistics import median
from typing import Any

import anyio

from benchmarks.disclosure.baselines import PlainBm25, TermMatching
from benchmarks.disclosure.catalogs import catalog_of
from benchmarks.disclosure.command import load, parser_of
from progressive import Disclosure
from progressive.catalog import Catalog
from tool_runtime import Tool, ToolCall, ToolRuntime

_Search = Callable[[str], Awaitable[object]]

_LARGE = 10_000
_ROUNDS = 3


@dataclass(frozen=True, slots=True, kw_only=True)
class Speed:
    """Milliseconds, medians over the queries, for a catalog.

    Attributes:
        tools: How many tools there are.
        first_search: Which analyses every tool, once; other tasks run meanwhile.
        ranking: A search of the catalog, warm.
        search_tools: The same as a call through the whole pipeline, with its text.
        bm25_scan: Plain BM25 over all tools.
        term_scan: Term matching over all tools.
        change: Registering a tool, and the first search after it less a warm one.
        removal: The same for removing it.
    """

    tools: int
    first_search: float
    ranking: float
    search_tools: float
    bm25_scan: float
    term_scan: float
    change: float
    removal: float


def main(arguments: Sequence[str] | None = None) -> int:
    options = parser_of("speed", __doc__).parse_args(arguments)
    [steps, *_] = load(options.data)
    queries = [request.query for request in steps.requests]
    speeds = [anyio.run(measure, catalog_of(count, steps.tools), queries) for count in (len(steps.tools), _LARGE)]
    for speed in speeds:
        print(json.dumps(asdict(speed)))
    print(table(speeds))
    return 0


async def measure(tools: Sequence[Tool[Any]], queries: Sequence[str]) -> Speed:
    runtime = ToolRuntime()
    for tool in tools:
        runtime.register(tool)
    catalog = Catalog(runtime, eager=frozenset())

    async def search(query: str) -> object:
        return await catalog.ranked(query)

    async def call(query: str) -> object:
        return await runtime.execute(ToolCall("search_tools", {"query": query}, id="c"))

    first = await _timed_ms(search, queries[0])
    ranking = await _median_ms(search, queries)
    warm = await _median_ms(search, [queries[0]] * len(queries))
    changes, removals = await _changes_ms(runtime, search, catalog_of(len(queries), tools), queries[0])
    scans = [
        await _median_ms(_asynchronous(rank), queries) for rank in (PlainBm25(tools).rank, TermMatching(tools).rank)
    ]
    Disclosure(runtime)
    await call(queries[0])
    return Speed(
        tools=len(tools),
        first_search=first,
        ranking=ranking,
        search_tools=await _median_ms(call, queries),
        bm25_scan=scans[0],
        term_scan=scans[1],
        change=changes - warm,
        removal=removals - warm,
    )


def table(speeds: Iterable[Speed]) -> str:
    """Return a Markdown table."""
    rows = [
        "| tools | first search | warm ranking | search_tools call | BM25 scan | term scan | ranking / BM25 scan "
        "| ranking / term scan | one more tool | one less |",
        f"|{'---:|' * 10}",
    ]
    for speed in speeds:
        times = (speed.first_search, speed.ranking, speed.search_tools, speed.bm25_scan, speed.term_scan)
        ratios = (speed.ranking / speed.bm25_scan, speed.ranking / speed.term_scan)
        cells = [f"{speed.tools:,}", *(f"{time_ms:.2f} ms" for time_ms in times), *(f"{ratio:.3f}" for ratio in ratios)]
        cells += [f"{speed.change:.2f} ms", f"{speed.removal:.2f} ms"]
        rows.append(f"| {' | '.join(cells)} |")
    return "\n".join(rows)


async def _changes_ms(
    runtime: ToolRuntime, search: _Search, tools: Sequence[Tool[Any]], query: str
) -> tuple[float, float]:
    """Return the medians of registering a tool and searching, and of removing it and searching."""
    added: list[float] = []
    removed: list[float] = []
    for number, tool in enumerate(tools):
        new = replace(tool, name=f"new_{number}")
        started_s = time.perf_counter()
        dispose = runtime.register(new)
        await search(query)
        added.append(time.perf_counter() - started_s)
        started_s = time.perf_counter()
        dispose()
        await search(query)
        removed.append(time.perf_counter() - started_s)
    return median(added) * 1e3, median(removed) * 1e3


async def _median_ms(search: _Search, queries: Sequence[str]) -> float:
    """Return the median over the queries of the least time of some rounds."""
    return median([min([await _timed_ms(search, query) for _ in range(_ROUNDS)]) for query in queries])


async def _timed_ms(search: _Search, query: str) -> float:
    started_s = time.perf_counter()
    await search(query)
    return (time.perf_counter() - started_s) * 1e3


def _asynchronous(rank: Callable[[str], object]) -> _Search:
    async def search(query: str) -> object:
        return rank(query)

    return search


if __name__ == "__main__":
    sys.exit(main())
