"""Every given case of search, describe, invoke and surfaces; those of native injection have a table of their own."""

import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, Final, cast

import pytest
from pydantic import ValidationError

from progressive import Surface, SurfaceError
from tests.cases.disclosure_rulings import RULINGS
from tests.cases.disclosure_stage import Outcome, Stage
from tool_runtime import JsonObject, ToolFailure, ToolSuccess

pytestmark = pytest.mark.anyio

_TABLE: Final = json.loads(Path(__file__).with_name("disclosure.json").read_text())
_CASES: Final = {case["id"]: case for case in _TABLE["cases"] if case["call"] != "native_request"}
_CODES: Final = {
    "empty_value": "INVALID_ARGS",
    "invalid_arguments": "INVALID_ARGS",
    "invalid_limit": "INVALID_ARGS",
    "result_too_large": "RESULT_TOO_LARGE",
    "too_long": "INVALID_ARGS",
    "too_many_names": "INVALID_ARGS",
    "unavailable_tool": "UNKNOWN_TOOL",
    "unknown_tool": "UNKNOWN_TOOL",
}


@pytest.mark.parametrize("case_id", _CASES)
async def test_a_case_ends_as_specified(case_id: str) -> None:
    case = _CASES[case_id]
    ruling = RULINGS.get(case_id)
    expect = case["expect"] if ruling is None else ruling.expect
    outcomes, first = await _play(case)
    expectations = cast("list[JsonObject]", expect if isinstance(expect, list) else [expect])
    assert len(outcomes) == len(expectations)
    for outcome, expected in zip(outcomes, expectations, strict=True):
        assert list(_problems(outcome, expected, first)) == []


def test_every_ruling_overrides_a_given_case() -> None:
    assert set(RULINGS) <= set(_CASES)
    for case_id, ruling in RULINGS.items():
        assert ruling.expect != _CASES[case_id]["expect"]


async def _play(case: Mapping[str, Any]) -> tuple[list[Outcome], Surface | None]:
    """Return what came of a case, step by step, and the first surface that was assembled in it."""
    try:
        stage = Stage(_TABLE["catalogs"][case["catalog"]], case["config"], case["mode"])
    except ValidationError as error:
        return [error], None
    match case["call"]:
        case "mount":
            return [], None
        case "assemble":
            return [stage.assemble()], stage.first
        case "sequence":
            outcomes = [await stage.take(step) for step in case["args"]]
            return [outcome for outcome in outcomes if outcome is not None], stage.first
        case name:
            return [await stage.call(name, case["args"], via=case.get("via", "direct"))], stage.first


def _problems(outcome: Outcome, expect: Mapping[str, Any], first: Surface | None) -> Iterator[str]:
    match outcome:
        case ValidationError() | SurfaceError():
            yield from _error_problems(outcome, expect)
        case ToolFailure():
            yield from _failure_problems(outcome, expect)
        case Surface():
            yield from _surface_problems(outcome, expect, first)
        case ToolSuccess():
            yield from _value_problems(outcome, expect)
        case None:
            yield "nothing came of it"


def _error_problems(error: ValidationError | SurfaceError, expect: Mapping[str, Any]) -> Iterator[str]:
    words = {
        "config_duplicate_eager": "given twice",
        "config_invalid_number": "max_",
        "config_reserved_eager": "reserved",
        "eager_not_visible": "eager tools not visible: ",
    }
    kind = expect.get("error_kind")
    if kind not in words or words[kind] not in str(error):
        yield f"expected {expect}, got {error}"


def _failure_problems(failure: ToolFailure, expect: Mapping[str, Any]) -> Iterator[str]:
    if "hint" in expect:
        if expect["hint"] not in failure.message:
            yield f"no hint {expect['hint']!r}: {failure.message}"
    elif _CODES.get(expect.get("error_kind", "")) != failure.code:
        yield f"expected {expect}, got {failure}"


def _surface_problems(surface: Surface, expect: Mapping[str, Any], first: Surface | None) -> Iterator[str]:
    names = [schema.name for schema in surface.tools]
    if sorted(names) != expect.get("wire_tools_set"):
        yield f"tools: {names}"
    if expect.get("discovery_section", True) != ("describe_tools" in surface.prompt):
        yield f"prompt: {surface.prompt!r}"
    if expect.get("prefix_identical_to_first") and surface != first:
        yield "the prefix changed"
    for text, is_mentioned in expect.get("sdk_mentions", {}).items():
        [program] = [schema.description for schema in surface.tools if schema.name == "run_code"]
        if (text in program) != is_mentioned:
            yield f"{text} mentioned: {not is_mentioned}"


def _value_problems(success: ToolSuccess, expect: Mapping[str, Any]) -> Iterator[str]:
    if "value" in expect:
        if success.value != expect["value"]:
            yield f"value: {success.value}"
        return
    value = cast("dict[str, Any]", success.value)
    if "tools" in expect:
        if value["tools"] != expect["tools"]:
            yield f"tools: {value['tools']}"
        if value.get("language") != expect["language"] or ("sdk" in value) != expect["has_sdk"]:
            yield f"language and sdk: {value.get('language')}, {value.get('sdk')}"
    elif "matches" in value:
        yield from _search_problems(value, expect)
    else:
        yield f"expected {expect}, got {success}"


def _search_problems(value: Mapping[str, Any], expect: Mapping[str, Any]) -> Iterator[str]:
    matches = value["matches"]
    seen = {
        "total": value["total"],
        "truncated": value["truncated"],
        "returned": len(matches),
        "names": [match["name"] for match in matches],
        "descriptions": [match.get("description") for match in matches],
        "first": matches[0]["name"] if matches else None,
    }
    known = seen.keys() | {"keys", "returned_max"}
    if not expect.keys() <= known:
        yield f"expected {expect}, got a search result"
    yield from (f"{key}: {seen[key]}" for key in seen.keys() & expect.keys() if seen[key] != expect[key])
    if len(matches) > expect.get("returned_max", len(matches)):
        yield f"returned: {len(matches)}"
    if any(list(match) != expect.get("keys", list(match)) for match in matches):
        yield f"keys: {matches}"
