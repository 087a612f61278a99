"""How often the right tool is among the first: `python -m benchmarks.disclosure.retrieval [--data DIR]`.

The parameters of the ranking were chosen on the tuning half of each set; the held-out half is the measure.
"""

import json
import sys
from collections.abc import Callable, Iterable, Sequence
from dataclasses import asdict, dataclass
from functools import partial
from pathlib import Path
from typing import Any

from benchmarks.disclosure.baselines import PlainBm25, TermMatching
from benchmarks.disclosure.command import load, parser_of
from benchmarks.disclosure.corpora import Corpus, Request
from progressive.ranking import ToolIndex
from tool_runtime import Tool

Rank = Callable[[str], list[Tool[Any]]]


@dataclass(frozen=True, slots=True, kw_only=True)
class Quality:
    """Shares of the requests whose first right tool stands at or before a place, and its mean reciprocal place."""

    corpus: str
    half: str
    ranking: str
    requests: int
    hit_at_1: float
    hit_at_3: float
    hit_at_5: float
    hit_at_10: float
    mrr: float


def main(arguments: Sequence[str] | None = None) -> int:
    parser = parser_of("retrieval", __doc__)
    parser.add_argument("--jsonl", type=Path, help="file for the JSON lines (default: standard output)")
    options = parser.parse_args(arguments)
    sets = load(options.data)
    measured = [quality for corpus in sets for quality in measure(corpus)]
    lines = "".join(f"{json.dumps(asdict(quality))}\n" for quality in measured)
    if options.jsonl is None:
        print(lines)
    else:
        options.jsonl.write_text(lines, encoding="utf-8")
    print(table(measured))
    return 0


def measure(corpus: Corpus) -> Iterable[Quality]:
    """Yield the quality of every ranking on every half of a set, and on the whole."""
    rankings: dict[str, Rank] = {
        "progressive": _progressive(corpus.tools),
        "plain BM25": PlainBm25(corpus.tools).rank,
        "term matching": TermMatching(corpus.tools).rank,
    }
    for name, rank in rankings.items():
        places = [(request, _place(rank, request)) for request in corpus.requests]
        for half in ("tuning", "held-out", "all"):
            chosen = [place for request, place in places if half in {"all", request.half}]
            if chosen:
                yield _quality(corpus.name, half, name, chosen)


def table(measured: Iterable[Quality]) -> str:
    """Return a Markdown table."""
    rows = ["| set | half | requests | ranking | hit@1 | hit@3 | hit@5 | hit@10 | MRR |", f"|{'---|' * 9}"]
    for row in sorted(measured, key=lambda row: (row.corpus, ("tuning", "held-out", "all").index(row.half))):
        figures = (row.hit_at_1, row.hit_at_3, row.hit_at_5, row.hit_at_10, row.mrr)
        shown = " | ".join(f"{figure:.3f}" for figure in figures)
        rows.append(f"| {row.corpus} | {row.half} | {row.requests} | {row.ranking} | {shown} |")
    return "\n".join(rows)


def _progressive(tools: Sequence[Tool[Any]]) -> Rank:
    index = ToolIndex()
    for tool in tools:
        index.add(tool)
    return partial(index.rank, visible=frozenset(tools))


def _place(rank: Rank, request: Request) -> int | None:
    return next((at for at, tool in enumerate(rank(request.query), start=1) if tool.name in request.answers), None)


def _quality(corpus: str, half: str, ranking: str, places: Sequence[int | None]) -> Quality:
    found = [place for place in places if place is not None]

    def share(last: int) -> float:
        return sum(place <= last for place in found) / len(places)

    return Quality(
        corpus=corpus,
        half=half,
        ranking=ranking,
        requests=len(places),
        hit_at_1=share(1),
        hit_at_3=share(3),
        hit_at_5=share(5),
        hit_at_10=share(10),
        mrr=sum(1 / place for place in found) / len(places),
    )


if __name__ == "__main__":
    sys.exit(main())
