from collections.abc import Callable
from datetime import datetime
from typing import cast

import pytest
from botocore import utils

from backends.s3._session import moment

by_botocore = cast("Callable[[object], datetime]", vars(utils)["parse_timestamp"])


@pytest.mark.parametrize(
    "value",
    [
        "Sun, 30 Nov 2026 08:37:44 GMT",
        "Sunday, 06-Nov-94 08:49:37 GMT",
        "Sun Nov  6 08:49:37 1994",
        "2026-11-30T08:37:44.123Z",
        "2026-11-30T08:37:44Z",
        "2026-11-30T08:37:44+02:00",
        "1700000000",
        1700000000.5,
    ],
)
def test_timestamps_are_those_of_botocore(value: object) -> None:
    assert moment(value) == by_botocore(value)


@pytest.mark.parametrize("value", ["", "someday", "rubbishZ"])
def test_what_is_no_timestamp_is_refused_as_by_botocore(value: str) -> None:
    for parse in (moment, by_botocore):
        with pytest.raises(ValueError, match="timestamp"):
            parse(value)
