"""UTF-8 text of a file: is it text, from bytes that arrive in pieces, and what newlines and marks are. Pure."""

import codecs
from dataclasses import dataclass, field
from typing import Final

from fs_core._encoding import HEAD_BYTES, SAMPLE_BYTES_MAX, Evidence, likely_reason

__all__ = ["BOM", "NotTextFinding", "TextValidator", "find_not_text", "fold_newlines"]

BOM: Final = codecs.BOM_UTF8

_DECODED_BYTES: Final = 16 << 10
"""Decoded at once for validation: the memory for the text of more is asked from the system and given back each time."""


@dataclass(frozen=True, slots=True)
class NotTextFinding:
    """The first byte that cannot be in a text file, at `offset`."""

    offset: int
    evidence: Evidence = field(repr=False)

    def reason(self) -> str:
        """Return the likely reason as a clause. Takes milliseconds, the first time tens of them."""
        return likely_reason(self.evidence)


class TextValidator:
    """Strict UTF-8 without NUL, over pieces; keeps a bounded sample around the first offence.

    `is_ascii` tells of the last piece that it was found to be ASCII, by itself and whole.
    """

    def __init__(self) -> None:
        self.is_ascii = False
        self._pending = b""  # an unfinished sequence at the end of the last piece
        self._position = 0  # of the start of `_pending`
        self._head = bytearray()  # of the file
        self._offence: int | None = None
        self._is_cut_off = False
        self._sample = bytearray()

    def feed(self, data: bytes | bytearray) -> bool:
        """Take a piece; false once something is not text."""
        if self._offence is not None:
            self._sample += data[: SAMPLE_BYTES_MAX - len(self._sample)]
            return False
        if len(self._head) < HEAD_BYTES:
            self._head += data[: HEAD_BYTES - len(self._head)]
        self.is_ascii = not self._pending and data.isascii() and 0 not in data
        if self.is_ascii:
            self._position += len(data)
            return True
        return self._check(self._pending + data)

    def finish(self) -> NotTextFinding | None:
        """Return the first offence of the whole file, if any."""
        if self._offence is None and self._pending:
            self._is_cut_off = True
            self._begin_sample(self._pending, self._position)
        if self._offence is None:
            return None
        start = 0 if self._offence < HEAD_BYTES else self._offence
        evidence = Evidence(
            sample=bytes(self._sample),
            sample_offset=start,
            offence_index=self._offence - start,
            is_cut_off=self._is_cut_off,
            is_head_utf8=start > 0 and not self._head.isascii(),
        )
        return NotTextFinding(offset=self._offence, evidence=evidence)

    def _check(self, piece: bytes) -> bool:
        """Take what begins at the present position and may end within a sequence."""
        nul = piece.find(0)
        view = memoryview(piece if nul < 0 else piece[:nul])
        valid_bytes, is_invalid = _valid_start(view)
        if is_invalid or nul >= 0:
            self._begin_sample(piece, self._position + valid_bytes)
            return False
        self._pending = piece[valid_bytes:]
        self._position += valid_bytes
        return True

    def _begin_sample(self, piece: bytes, offence: int) -> None:
        """Sample the file's start or what begins at `offence`; `piece` starts at the present position."""
        self._offence = offence
        index = offence - self._position
        before, rest = (self._head[: self._position], piece) if offence < HEAD_BYTES else (b"", piece[index:])
        self._sample = bytearray(before)
        self._sample += rest[: SAMPLE_BYTES_MAX - len(before)]


def _valid_start(view: memoryview) -> tuple[int, bool]:
    """Return how many bytes are whole sequences, and whether what follows is invalid, not only unfinished."""
    position = 0
    while position < len(view):
        try:
            piece = view[position : position + _DECODED_BYTES]
            _, consumed = codecs.utf_8_decode(piece, "strict", False)  # noqa: FBT003 - C signature
        except UnicodeDecodeError as error:
            return position + error.start, True
        if not consumed:
            break
        position += consumed
    return position, False


def find_not_text(data: bytes) -> NotTextFinding | None:
    """Return what makes a whole file's bytes no text, or `None`."""
    validator = TextValidator()
    validator.feed(data)
    return validator.finish()


def fold_newlines(text: str) -> str:
    """Return `text` with every CRLF as LF; a lone CR stays."""
    return text.replace("\r\n", "\n") if "\r\n" in text else text
