from collections.abc import Iterator
from itertools import count

import pytest

from backends.s3._errors import Failure, RequestFailed
from backends.s3._objects import ListAnswer
from backends.s3._pages import Position, next_position

FIRST = Position(token="t", last="b", pages=1, mark="b")


def truncated(token: str) -> ListAnswer:
    return {"IsTruncated": True, "NextContinuationToken": token}


def test_a_page_that_is_not_truncated_is_the_last_whatever_token_it_has() -> None:
    assert next_position({"IsTruncated": False, "NextContinuationToken": "t"}, ["a"], before=FIRST) is None
    assert next_position({}, [], before=None) is None


def test_a_position_survives_as_text() -> None:
    position = Position(token='"\n', last="é\U0010ffff\0", pages=7, mark="")
    assert Position.loads(position.dumps()) == position


@pytest.mark.parametrize("page", [{"IsTruncated": True}, truncated(""), truncated("t")])
def test_more_pages_that_cannot_be_asked_for_are_refused(page: ListAnswer) -> None:
    with pytest.raises(RequestFailed) as refused:
        next_position(page, ["c"], before=FIRST)
    assert refused.value.failure is Failure.ENDLESS


def follow(names: Iterator[str], followed: list[str]) -> None:
    position: Position | None = None
    for name in names:
        followed.append(name)
        position = next_position(truncated(f"another {len(followed)}"), [name], before=position)


@pytest.mark.parametrize("start", [0, 1, 5, 100])
@pytest.mark.parametrize("length", [1, 2, 3, 64, 100])
def test_a_circle_of_pages_is_found_before_it_is_run_through_three_times(start: int, length: int) -> None:
    names = (str(number if number < start else start + (number - start) % length) for number in count())
    followed: list[str] = []
    with pytest.raises(RequestFailed):
        follow(names, followed)
    assert len(followed) <= 2 * start + 3 * length + 1


def test_pages_without_names_are_no_circle() -> None:
    position: Position | None = None
    for number in range(5):
        position = next_position(truncated(f"t{number}"), ["a"] if number == 0 else [], before=position)
    assert position == Position(token="t4", last="a", pages=1, mark="a")
