"""The body of an answer: exactly the bytes that were asked for, whatever the store sends."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

from backends.s3._errors import Failure, RequestFailed
from backends.s3._objects import BodyAnswer, BodyStream, ObjectHead, head_of, total_size

__all__ = ["AskedBody", "asked_body"]

_PIECE_BYTES: Final = 1 << 18
"""What the event loop takes and looks through at a time; larger pieces are no faster."""


@dataclass(frozen=True, slots=True)
class AskedBody:
    """An answer to GET whose body has not been read: `wanted_bytes` of it were asked for, after `skipped_bytes`."""

    head: ObjectHead
    stream: BodyStream
    skipped_bytes: int
    wanted_bytes: int

    @property
    def transfer_bytes(self) -> int:
        """Return how much has to arrive."""
        return self.skipped_bytes + self.wanted_bytes

    async def receive(self, sink: Callable[[bytes], object]) -> None:
        """Feed what was asked for to `sink`, in pieces of at most 256 KiB.

        The body is read to its end, or to the first piece that goes beyond.

        Raises:
            RequestFailed: the body is shorter.
        """
        got, end = 0, self.transfer_bytes
        while got <= end and (piece := await self.stream.read(min(_PIECE_BYTES, end - got + 1))):
            asked = piece[max(0, self.skipped_bytes - got) : end - got]
            got += len(piece)
            if asked:
                sink(asked)
        if got < end:
            raise RequestFailed(Failure.OTHER_BYTES)


def asked_body(answer: BodyAnswer, *, offset: int, limit: int | None) -> AskedBody:
    """Return what an answer to a GET of `limit` bytes from `offset` brings.

    Raises:
        RequestFailed: its body starts behind `offset`. One that starts before is of a store that knows no ranges.
        ValueError: the store gave no entity tag, or no size.
    """
    head = head_of(answer)
    start, total_bytes = total_size(answer)
    if start > offset:
        raise RequestFailed(Failure.OTHER_BYTES)
    first = min(offset, total_bytes)
    end = total_bytes if limit is None else min(offset + limit, total_bytes)
    return AskedBody(head=head, stream=answer["Body"], skipped_bytes=first - start, wanted_bytes=end - first)
