"""In which order a store lists keys: what it is known for, and what its own listings show."""

from collections.abc import Sequence
from typing import Final

from backends.s3._lru import Lru
from backends.s3._objects import ListAnswer

__all__ = ["is_in_order", "known_orders"]

known_orders: Final[Lru[tuple[str, str], bool]] = Lru(entries_max=256)
"""Whether listings were in the order of the bytes of keys so far, by endpoint and bucket, in this process."""

_OUT_OF_ORDER_SERVERS: Final = ("SeaweedFS",)
"""How a server calls itself that goes down into `a/` before it tells `a-b` (observed with SeaweedFS 4.48).

A bucket may hold no names that show it until late in a listing, and its answers say at once who it is.
"""


def is_in_order(page: ListAnswer, keys: Sequence[str], *, last: str) -> bool:
    """Tell whether `keys`, all those of `page`, are in the order of their bytes, and behind the key `last`.

    Characters compare as their bytes in UTF-8 do.
    """
    server = page.get("ResponseMetadata", {}).get("HTTPHeaders", {}).get("server", "")
    if server.startswith(_OUT_OF_ORDER_SERVERS):
        return False
    return not keys or (last <= keys[0] and sorted(keys) == keys)
