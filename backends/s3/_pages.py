"""How a listing goes on from page to page, and that it comes to an end. Pure."""

import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final, cast

from backends.s3._errors import Failure, RequestFailed
from backends.s3._objects import ListAnswer

__all__ = ["BARREN_PAGES_MAX", "PAGE_KEYS_MAX", "Position", "next_position"]

PAGE_KEYS_MAX: Final = 1000
"""Most keys that a store sends at once (Amazon S3 API Reference, "ListObjectsV2")."""

BARREN_PAGES_MAX: Final = 1000
"""How many pages on end may hold nothing that was asked for: of a store that has much to pass over, they are a few."""


@dataclass(frozen=True, slots=True)
class Position:
    """Where a listing goes on, and what shows that it goes round in circles.

    Attributes:
        token: What the store wants to see.
        last: The last name of all pages before.
        pages: How many of them had names.
        mark: The last name of one of them.
    """

    token: str
    last: str
    pages: int
    mark: str

    def dumps(self) -> str:
        """Return a text that `loads` understands."""
        return json.dumps([self.token, self.last, self.pages, self.mark])

    @classmethod
    def loads(cls, text: str) -> "Position":
        """Return the position that gave `text`."""
        token, last, pages, mark = cast("tuple[str, str, int, str]", json.loads(text))
        return cls(token=token, last=last, pages=pages, mark=mark)


def next_position(page: ListAnswer, names: Sequence[str], *, before: Position | None) -> Position | None:
    """Return where the listing goes on behind `page`, which holds `names`; `None` at its end.

    No listing has a name twice. The last names of the pages number 1, 2, 4, 8 and so on are compared with those of
    all pages up to the next mark, so that a circle of any length is found before it is run through three times (Brent,
    "An improved Monte Carlo factorization algorithm", 1980).

    Raises:
        RequestFailed: the store tells of more pages, but not how to ask for them, or gives the same ones again.
    """
    if not page.get("IsTruncated", False):
        return None
    token = page.get("NextContinuationToken", "")
    seen = before or Position(token="", last="", pages=0, mark="")
    if token in {"", seen.token} or (names and seen.pages and names[-1] == seen.mark):
        raise RequestFailed(Failure.ENDLESS)
    if not names:
        return Position(token=token, last=seen.last, pages=seen.pages, mark=seen.mark)
    pages = seen.pages + 1
    is_marked = pages & (pages - 1) == 0
    return Position(token=token, last=names[-1], pages=pages, mark=names[-1] if is_marked else seen.mark)
