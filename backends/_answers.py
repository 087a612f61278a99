"""Answers of web servers in bounded memory, for every library here that reads them through aiohttp."""

from typing import Final

import aiohttp

__all__ = ["bounded_answers"]

_PIECE_BYTES: Final = 1 << 16


def bounded_answers(size_bytes_max: int) -> type[aiohttp.ClientResponse]:
    """Return the class of answers whose `read`, `text` and `json` give up above `size_bytes_max`.

    Such an answer raises `aiohttp.ClientPayloadError`, as one does that is cut. Reading from `content` piece by piece
    is not concerned.
    """

    class BoundedAnswer(aiohttp.ClientResponse):
        async def read(self) -> bytes:
            if self._body is None:
                self._body = await self._read_bounded()
            return await super().read()

        async def _read_bounded(self) -> bytes:
            body = bytearray()
            try:
                while piece := await self.content.read(_PIECE_BYTES):
                    body += piece
                    if len(body) > size_bytes_max:
                        reason = f"the answer has more than {size_bytes_max} bytes"
                        raise aiohttp.ClientPayloadError(reason)  # noqa: TRY301 - the handler closes the answer
            except BaseException:
                # Else its connection would count as in use for ever.
                self.close()
                raise
            return bytes(body)

    return BoundedAnswer
