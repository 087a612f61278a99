from typing import Any

import pytest
from pydantic import ValidationError

from progressive import DisclosureOptions


def test_the_defaults_are_the_specified_ones() -> None:
    assert DisclosureOptions().model_dump() == {
        "eager_tools": (),
        "max_search_results": 10,
        "max_describe_tools": 5,
        "max_summary_chars": 240,
        "max_query_chars": 500,
        "max_tool_name_chars": 200,
        "max_result_bytes": 1_048_576,
    }


@pytest.mark.parametrize(
    ("options", "reason"),
    [
        ({"eager_tools": ["a", "b", "a"]}, "given twice: a"),
        ({"eager_tools": [""]}, "a name is empty"),
        ({"eager_tools": ["run_code", "invoke_tool"]}, "reserved for the discovery tools: invoke_tool, run_code"),
        ({"max_search_results": 0}, "greater than 0"),
        ({"max_describe_tools": -1}, "greater than 0"),
        ({"max_summary_chars": 1.5}, "valid integer"),
        ({"max_query_chars": True}, "positive integer"),
        ({"max_result_bytes": "x"}, "valid integer"),
        ({"max_results": 5}, "not permitted"),
    ],
)
def test_a_wrong_setting_is_refused_when_it_is_made(options: dict[str, Any], reason: str) -> None:
    with pytest.raises(ValidationError, match=reason):
        DisclosureOptions.model_validate(options)
