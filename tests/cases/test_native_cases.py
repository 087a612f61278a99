"""Every given case of native injection, as requests of both SDKs."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final, cast

import pytest

from progressive.native.capability import Capability
from tests.cases.disclosure_rulings import NATIVE_RULINGS
from tests.cases.native_stage import Seen, capabilities_of, see

_TABLE: Final = json.loads(Path(__file__).with_name("disclosure.json").read_text())
_CASES: Final = {case["id"]: case for case in _TABLE["cases"] if case["call"] == "native_request"}
_LOADING: Final = tuple(capability for capability in Capability if capability is not Capability.NONE)


def _plays() -> Iterator[tuple[str, Capability]]:
    """Yield the cases with the capabilities to play them in.

    Cases of gates have those of their model. All others are about histories, whose rules are the same in every format,
    unless the case is about an API that can load nothing.
    """
    for case_id, case in _CASES.items():
        capabilities = capabilities_of(case["args"]["model"])
        is_gate = case_id.startswith("gate-") or capabilities == (Capability.NONE,)
        for capability in capabilities if is_gate else _LOADING:
            yield case_id, capability


@pytest.mark.parametrize(("case_id", "capability"), tuple(_plays()))
def test_a_case_is_injected_as_specified(case_id: str, capability: Capability) -> None:
    case = _CASES[case_id]
    ruling = NATIVE_RULINGS.get(case_id)
    expect = cast("dict[str, Any]", case["expect"] if ruling is None else ruling.expect)
    seen = see(case["args"], capability)
    assert _shown(seen, expect) == expect


def test_all_cases_are_played() -> None:
    assert len(_CASES) == 29
    assert {case_id for case_id, _ in _plays()} == set(_CASES)


def test_every_ruling_overrides_a_given_case() -> None:
    assert set(NATIVE_RULINGS) <= set(_CASES)
    for case_id, ruling in NATIVE_RULINGS.items():
        assert ruling.expect != _CASES[case_id]["expect"]


def _shown(seen: Seen, expect: dict[str, Any]) -> dict[str, Any]:
    shown: dict[str, Any] = {"tool_names": seen.tool_names, "added_names_per_tool_result": seen.added}
    if "fetch_weather_parameters" in expect:
        shown["fetch_weather_parameters"] = seen.parameters.get("fetch_weather")
    return shown
