"""UTF-8 text of a file: is it text, from bytes that arrive in pieces, and what newlines and marks are. Pure."""

import codecs
from dataclasses import dataclass, field
from typing import Final

from fs_core._encoding import HEAD_BYTES, SAMPLE_BYTES_MAX, Evidence, likely_reason

__all__ = ["BOM", "NotTextFinding", "TextValidator", "find_not_text", "fold_newlines", "has_lone_surrogate"]

BOM: Final = codecs.BOM_UTF8
_UTF8_BYTES_MAX: Final = 4


@dataclass(frozen=True, slots=True)
class NotTextFinding:
    """The first byte that cannot be in a text file, at `offset`."""

    offset: int
    evidence: Evidence = field(repr=False)

    def reason(self) -> str:
        """Return the likely reason as a clause. Takes milliseconds, the first time tens of them."""
        return likely_reason(self.evidence)


class TextValidator:
    """Strict UTF-8 without NUL, over pieces; keeps a bounded sample around the first offence."""

    def __init__(self) -> None:
        self._pending = b""  # an unfinished sequence at the end of the last piece
        self._position = 0  # of the start of `_pending`
        self._head = bytearray()  # of the file
        self._offence: int | None = None
        self._is_cut_off = False
        self._sample = bytearray()

    def feed(self, data: bytes) -> bool:
        """Take a piece; false once something is not text."""
        if self._offence is not None:
            self._sample += data[: SAMPLE_BYTES_MAX - len(self._sample)]
            return False
        self._head += data[: HEAD_BYTES - len(self._head)]
        piece = self._pending + data
        offence = self._first_offence(piece)
        if offence is not None:
            self._begin_sample(piece, offence)
            return False
        keep = 0 if piece.isascii() else _unfinished_bytes(piece)
        self._pending = piece[len(piece) - keep :]
        self._position += len(piece) - keep
        return True

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

    def _begin_sample(self, piece: bytes, offence: int) -> None:
        """Sample the file's start or what begins at `offence`; `piece` starts at the present position."""
        self._offence = offence
        index = offence - self._position
        before, rest = (self._head[: self._position], piece) if offence < HEAD_BYTES else (b"", piece[index:])
        self._sample = bytearray(before)
        self._sample += rest[: SAMPLE_BYTES_MAX - len(before)]

    def _first_offence(self, piece: bytes) -> int | None:
        nul = piece.find(b"\0")
        checked = piece if nul < 0 else piece[:nul]
        if not checked.isascii():
            try:
                codecs.utf_8_decode(checked, "strict", nul >= 0)
            except UnicodeDecodeError as error:
                return self._position + error.start
        return None if nul < 0 else self._position + nul


def _unfinished_bytes(piece: bytes) -> int:
    """Return how many bytes at the end of valid UTF-8 begin a sequence that goes on in the next piece."""
    _, consumed = codecs.utf_8_decode(piece[-_UTF8_BYTES_MAX:], "ignore", False)  # noqa: FBT003 - C signature
    return len(piece[-_UTF8_BYTES_MAX:]) - consumed


def find_not_text(data: bytes) -> NotTextFinding | None:
    """Return what makes a whole file's bytes no text, or `None`."""
    validator = TextValidator()
    validator.feed(data)
    return validator.finish()


def fold_newlines(text: str) -> str:
    """Return `text` with every CRLF as LF; a lone CR stays."""
    return text.replace("\r\n", "\n") if "\r\n" in text else text


def has_lone_surrogate(text: str) -> bool:
    """Whether `text` holds half a surrogate pair, which no UTF-8 can store."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return True
    return False
