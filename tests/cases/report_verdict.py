"""Compares a reported case as it went with what a good tool does. Pure; every disagreement is a line of text."""

import json
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, cast

from fs_core.paths import is_staged_name
from tests.cases.case_root import Tree
from tests.cases.report_decisions import OWNERS_APART, Decision
from tests.cases.report_stage import Played
from tests.cases.report_table import Report
from tests.support.tool_agent import shown
from tests.support.waiting import WAIT_S
from tool_runtime import ToolFailure, ToolResult, ToolSuccess

__all__ = ["Outcome", "report_problems"]


@dataclass(frozen=True)
class Outcome:
    """How a case went: its calls, and what stood in the store before the last of them and at the end."""

    played: tuple[Played, ...]
    before_last: Tree
    after: Tree
    changed_during_call: bool = False


def report_problems(report: Report, decision: Decision, outcome: Outcome) -> Iterator[str]:
    """Yield what is not as wanted."""
    results = [played.result for played in outcome.played]
    yield from _code_problems(report, decision, results)
    yield from _text_problems(report, decision, results)
    yield from _value_problems(report, results)
    yield from _store_problems(report, decision, outcome, results)
    if report.wanted.max_seconds is not None:
        # The cases are about what waits or computes for ever. A busy machine makes a call last, and compute no more.
        for index, played in enumerate(outcome.played):
            if played.computed_s > report.wanted.max_seconds or played.elapsed_s > WAIT_S:
                yield f"call {index} took {played.elapsed_s:.2f} s, and computed {played.computed_s:.2f} s"


def _code_problems(report: Report, decision: Decision, results: list[ToolResult]) -> Iterator[str]:
    codes = [result.code if isinstance(result, ToolFailure) else None for result in results]
    if report.id in OWNERS_APART:
        codes.sort(key=str)
    wanted = list(decision.codes) or [None] * len(results)
    if codes != wanted:
        yield f"codes {codes}, wanted {wanted}: {[shown(result) for result in results]}"


def _text_problems(report: Report, decision: Decision, results: list[ToolResult]) -> Iterator[str]:
    everything = "\n".join(shown(result) for result in results)
    refusals = "\n".join(shown(result) for result in results if isinstance(result, ToolFailure))
    calls = zip(report.calls, results, strict=True)
    reads = "\n".join(shown(result) for call, result in calls if call.tool == "read")
    for text, places in (
        *((text, everything) for text in (*decision.says, *report.wanted.result_contains)),
        *((text, refusals) for text in report.wanted.error_contains),
        *((text, reads) for text in report.wanted.read_contains),
    ):
        if text not in places:
            yield f"{text!r} is missing in {places!r}"
    for text in report.wanted.read_not_contains:
        if text in reads:
            yield f"{text!r} stands in {reads!r}"


def _value_problems(report: Report, results: list[ToolResult]) -> Iterator[str]:
    values = [cast("dict[str, Any]", result.value) for result in results if isinstance(result, ToolSuccess)]
    for text, number in report.wanted.read_line_of.items():
        lines = [line["text"] for value in values for line in value["lines"] if line["number"] == number]
        if lines != [text]:
            yield f"line {number} is {lines}, wanted {text!r}"
    if report.wanted.count is not None and values[-1]["replacements"] != report.wanted.count:
        yield f"replacements of {values[-1]}, wanted {report.wanted.count}"


def _store_problems(report: Report, decision: Decision, outcome: Outcome, results: list[ToolResult]) -> Iterator[str]:
    is_refused = isinstance(results[-1], ToolFailure)
    contents = {path: stored.data for path, stored in outcome.after.items() if stored.kind == "file"}
    if is_refused and not outcome.changed_during_call and outcome.after != outcome.before_last:
        yield f"a refused call changed the store from {outcome.before_last} to {outcome.after}"
    wanted = dict(decision.after)
    if not is_refused or report.wanted.outcome == "ok":
        wanted |= report.wanted.bytes_after
    for path, content in wanted.items():
        if contents.get(path) != content:
            yield f"{path} is {_brief(contents.get(path))}, wanted {_brief(content)}"
    never = report.wanted.never_bytes
    if never and any(data is not None and never in data for data in contents.values()):
        yield f"{never!r} was written: {contents}"
    if report.wanted.mode_after is not None:
        mode = outcome.after[report.files[0].path].mode
        if mode != report.wanted.mode_after:
            yield f"mode {mode}, wanted {report.wanted.mode_after}"
    link = report.wanted.still_symlink
    if link is not None and outcome.after[link].kind != "link":
        yield f"{link} is no link any more"
    key = report.wanted.single_key_after
    if key is not None and list(outcome.after) != [key]:
        yield f"keys {list(outcome.after)}, wanted {key!r} alone"
    yield from (f"left behind: {path}" for path in outcome.after if is_staged_name(path.rpartition("/")[2]))


def _brief(content: bytes | None) -> str:
    return json.dumps(repr(content)[:200])
