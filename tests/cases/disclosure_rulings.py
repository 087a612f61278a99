"""Where a given case of disclosure and the specification disagree, the specification holds: the whole list."""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType
from typing import Any, Final

__all__ = ["NATIVE_RULINGS", "RULINGS", "Ruling"]

Expect = dict[str, Any] | list[dict[str, Any]]

_GIVEN: Final[dict[str, Any]] = {
    case["id"]: case["expect"] for case in json.loads(Path(__file__).with_name("disclosure.json").read_text())["cases"]
}


@dataclass(frozen=True)
class Ruling:
    """What the specification demands of a case instead, and the rule with the section that it stands in."""

    expect: Expect
    rule: str


_SECTION = "progressive, section 6: one prompt section tells the protocol; its text depends on the mode only"
_CJK = "progressive, section 3: CJK bigrams"
_INTEGERS = 'tools, section 2: an integer given as "3" is accepted'
_MODELS = "progressive, sections 7 and 9: a current table of models"
_KEYWORDS = "progressive, section 3: JSON-Schema keywords are no words of a tool"


def _changed(case_id: str, **changes: object) -> Expect:
    given: Expect = _GIVEN[case_id]
    return [{**step, **changes} for step in given] if isinstance(given, list) else {**given, **changes}


def _one_found(name: str) -> Expect:
    return {"total": 1, "truncated": False, "names": [name]}


def _with_section(case_id: str) -> Ruling:
    return Ruling(_changed(case_id, discovery_section=True), _SECTION)


RULINGS: Final[Mapping[str, Ruling]] = MappingProxyType(
    {
        "describe-both-direct-before-assemble": Ruling(
            _changed("describe-both-direct-before-assemble", language="python", has_sdk=True),
            "progressive, section 4: in Code and Both also language and sdk; nothing waits for an assembly",
        ),
        "describe-code-mode-ts": Ruling(
            _changed("describe-code-mode-ts", language="python"), "progressive, section 8: programs are Python"
        ),
        "search-cjk-part": Ruling(_one_found("查询日历"), _CJK),
        "search-cjk-phrase": Ruling(_one_found("查询日历"), _CJK),
        "search-limit-string": Ruling(
            {"total": 6, "truncated": True, "names": ["archive_ticket", "convertCurrency", "fetch_weather"]}, _INTEGERS
        ),
        "search-not-byte-limited": Ruling(
            _changed("search-not-byte-limited", keys=["name"]),
            "progressive, section 3: beyond the bound in bytes entries carry the name only",
        ),
        "search-schema-keyword-matches-all-with-schema": Ruling(
            {"total": 6, "returned": 6, "truncated": False}, _KEYWORDS
        ),
        "search-unknown-extra-arg": Ruling(
            {"error_kind": "invalid_arguments"},
            "tools, section 2: unknown extra keys are refused with the list of known ones",
        ),
        "surface-code-unknown-language": Ruling(
            {"wire_tools_set": ["run_code"], "sdk_mentions": {"class Tools": True}},
            "progressive, sections 1 and 8: programs are Python, and no setting names another language",
        ),
        **{
            case_id: _with_section(case_id)
            for case_id in (
                "prefix-stable-both",
                "prefix-stable-code",
                "surface-both",
                "surface-both-eager",
                "surface-code",
                "surface-code-eager",
                "surface-code-python",
            )
        },
    }
)
"""By case id."""

_LOADED: Final[Expect] = _GIVEN["native-one-disclosure"]

NATIVE_RULINGS: Final[Mapping[str, Ruling]] = MappingProxyType(
    {
        "gate-anthropic-claude-haiku-4-5": Ruling(_LOADED, _MODELS),
        "gate-anthropic-claude-mythos-5": Ruling(_LOADED, _MODELS),
        "native-duplicate-last-schema-wins": Ruling(
            _changed(
                "native-duplicate-last-schema-wins",
                added_names_per_tool_result=[["fetch_weather"], None],
                fetch_weather_parameters={"type": "object", "properties": {"city": {"type": "string"}}},
            ),
            "progressive, section 7: the first disclosed definition of a name is frozen",
        ),
        "native-infra-name-disclosed": Ruling(
            {"tool_names": ["search_tools", "describe_tools"], "added_names_per_tool_result": [None]},
            "progressive, section 7: a disclosure never touches eager or reserved names",
        ),
    }
)
"""By case id: those of native injection."""
