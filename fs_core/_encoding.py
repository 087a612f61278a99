"""Why bytes are not UTF-8 text: another encoding by name when the evidence is clear, damage, or a binary file. Pure.

The only module that knows charset-normalizer.
"""

import codecs
import re
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final

__all__ = ["HEAD_BYTES", "SAMPLE_BYTES_MAX", "Evidence", "likely_reason"]

HEAD_BYTES: Final = 4096
"""A sample is taken from the file's start if the first offence is that near, else from the offence."""

SAMPLE_BYTES_MAX: Final = 64 << 10

_WIDE_BYTES: Final = 512
_JUDGED_BYTES_MAX: Final = 2560  # charset-normalizer looks at five blocks of 512 bytes; this is all of them in one

# The mark of UTF-32 little-endian begins with that of UTF-16 and so comes first.
_MARKS: Final = (
    (codecs.BOM_UTF32_LE, "UTF-32 little-endian"),
    (codecs.BOM_UTF32_BE, "UTF-32 big-endian"),
    (codecs.BOM_UTF16_LE, "UTF-16 little-endian"),
    (codecs.BOM_UTF16_BE, "UTF-16 big-endian"),
)
_WIDE_CODECS: Final = (
    ("utf_32_le", "UTF-32 little-endian"),
    ("utf_32_be", "UTF-32 big-endian"),
    ("utf_16_le", "UTF-16 little-endian"),
    ("utf_16_be", "UTF-16 big-endian"),
)

_LATIN_1: Final = "Latin-1/Windows-1252"
_SINGLE_BYTE: Final = f"a single-byte legacy encoding such as {_LATIN_1}"
_MULTIBYTE: Final = {
    "GB18030/GBK": ("gb18030", "gbk", "gb2312"),
    "Big5": ("big5", "cp950"),
    "Shift-JIS": ("cp932", "shift_jis"),
    "EUC-JP": ("euc_jp",),
    "EUC-KR": ("cp949", "euc_kr"),
}
_SINGLE: Final = {
    _LATIN_1: ("cp1252", "latin_1", "iso8859_15"),
    "Latin-2/Windows-1250": ("cp1250", "iso8859_2"),
    "Windows-1251 (Cyrillic)": ("cp1251",),
    "KOI8-R (Cyrillic)": ("koi8_r", "koi8_u"),
    "CP866 (Cyrillic)": ("cp866",),
    "ISO-8859-5 (Cyrillic)": ("iso8859_5",),
    "Windows-1253/ISO-8859-7 (Greek)": ("cp1253", "iso8859_7"),
    "Windows-1254 (Turkish)": ("cp1254",),
    "Windows-1255/ISO-8859-8 (Hebrew)": ("cp1255", "iso8859_8"),
    "Windows-1256 (Arabic)": ("cp1256",),
    "Windows-874 (Thai)": ("cp874", "tis_620"),
    "Windows-1257 (Baltic)": ("cp1257",),
    "CP437/CP850 (DOS)": ("cp437", "cp850", "cp852"),
}
_NAMES: Final = {codec: name for name, codecs_ in (_MULTIBYTE | _SINGLE).items() for codec in codecs_}

# Measured on message catalogues of 32 languages in their legacy encodings, 1, 5 and 40 messages at a time: with these
# bounds more than 99 % of the names given are right.
_CONFIDENT_BYTES_MIN: Final = 8
_CHAOS_MARGIN: Final = 0.03
_COHERENCE_MARGIN: Final = 0.1
_COHERENCE_MIN: Final = 0.3  # of single-byte codecs, which decode anything
_CANDIDATES_MAX: Final = 3

_UTF8_PER_OFFENCE: Final = 2
"""Text in a legacy encoding is valid UTF-8 now and then, but not this often."""

_CONTROLS: Final = bytes(sorted({*range(0x20), 0x7F} - set(b"\t\n\r\f\x1b")))
_CONTROLS_SHARE_MAX: Final = 0.02
_CONTEXT_BYTES: Final = 32
_NEIGHBOURHOOD: Final = re.compile(rb"(?:[\x80-\xff][^\x80-\xff]{0,%d})+" % _CONTEXT_BYTES)
_NOT_ASCII: Final = re.compile(rb"[\x80-\xff]+")
_ASCII_TEXT: Final = bytes([*b"\t\n\r", *range(0x20, 0x7F)])
_ASCII_SHARE_MAX: Final = 0.7
_ODD_CHARACTERS_SHARE_MAX: Final = 0.05


@dataclass(frozen=True, slots=True)
class Evidence:
    """What a file looks like around its first byte that is no UTF-8 text.

    `sample` holds at most `SAMPLE_BYTES_MAX` bytes from `sample_offset` on, with the offence at `offence_index`.
    `is_cut_off`: the offence is the start of a sequence that the end of the file cuts. `is_head_utf8`: before the
    sample, the first `HEAD_BYTES` of the file are valid and not all ASCII.
    """

    sample: bytes
    sample_offset: int
    offence_index: int
    is_cut_off: bool
    is_head_utf8: bool


def likely_reason(evidence: Evidence) -> str:
    """Return the likely reason as a clause. Takes milliseconds, and the first time tens of them for an import."""
    sample = evidence.sample
    for mark, name in _MARKS:
        if sample.startswith(mark):
            return f"it begins with the byte order mark of {name} text"
    if b"\0" in sample:
        wide = _wide_encoding(sample[:_WIDE_BYTES]) if evidence.sample_offset == 0 else None
        return f"likely {wide} text without a byte order mark" if wide else "it holds NUL bytes: likely a binary file"
    good, bad = _utf8_characters(sample)
    if evidence.is_cut_off:
        return _cut_off(len(sample) - evidence.offence_index, is_utf8=good > 0 or evidence.is_head_utf8)
    if evidence.is_head_utf8 or good >= _UTF8_PER_OFFENCE * bad:
        return "it is UTF-8 elsewhere: likely damaged, or a mix of encodings"
    if _share(sample, _CONTROLS) > _CONTROLS_SHARE_MAX:
        return "it holds control bytes: likely a binary file"
    return _legacy(_judged(sample))


def _wide_encoding(head: bytes) -> str | None:
    """Name the UTF-16 or UTF-32 that makes plain text of `head`, if it makes more sense than ASCII with NULs does."""
    if _share(head, _ASCII_TEXT) > _ASCII_SHARE_MAX:
        return None
    for codec, name in _WIDE_CODECS:
        try:
            text = codecs.getincrementaldecoder(codec)().decode(head)
        except UnicodeDecodeError:
            continue
        odd = sum(not (character.isprintable() or character.isspace()) for character in text)
        has_ascii = any(character.isascii() for character in text)
        if len(text) > 1 and has_ascii and "\0" not in text and odd <= len(text) * _ODD_CHARACTERS_SHARE_MAX:
            return name
    return None


def _utf8_characters(sample: bytes) -> tuple[int, int]:
    """Count characters of several bytes, and stretches that belong to none."""
    text = sample.decode("utf-8", "replace")
    bad = text.count("\ufffd") - sample.count("\ufffd".encode())
    return sum(not character.isascii() for character in text) - bad, bad


def _cut_off(size_bytes: int, *, is_utf8: bool) -> str:
    what = "byte is" if size_bytes == 1 else f"{size_bytes} bytes are"
    told = f"the last {what} the beginning of a longer UTF-8 sequence: the file may be cut off"
    return told if is_utf8 or size_bytes > 1 else f"{told}, or be in {_SINGLE_BYTE}"


def _share(data: bytes, members: bytes) -> float:
    return 1 - len(data.translate(None, members)) / len(data)


def _judged(sample: bytes) -> bytes:
    """Return the bytes beyond ASCII with what stands around them, as far as they are judged."""
    pieces: list[bytes] = []
    size_bytes = end = 0
    for match in _NEIGHBOURHOOD.finditer(sample):
        start = max(match.start() - _CONTEXT_BYTES, end)
        end = match.end()
        pieces.append(sample[start:end])
        size_bytes += end - start + 1
        if size_bytes > _JUDGED_BYTES_MAX:
            break
    judged = b"\n".join(pieces)[:_JUDGED_BYTES_MAX]
    is_whole = size_bytes <= _JUDGED_BYTES_MAX and len(sample) < SAMPLE_BYTES_MAX
    if is_whole or _is_multibyte(judged) or not _is_multibyte(judged[:-1]):
        return judged
    return judged[:-1]  # the other half of a character was cut off


def _is_multibyte(data: bytes) -> bool:
    return any(_decodes(data, codec) for codec, *_ in _MULTIBYTE.values())


def _decodes(data: bytes, codec: str) -> bool:
    try:
        data.decode(codec)
    except UnicodeDecodeError:
        return False
    return True


def _legacy(judged: bytes) -> str:
    # Loading it takes about 50 ms, which only a file that is not text should cost.
    from charset_normalizer import from_bytes

    matches = from_bytes(judged, cp_isolation=list(_NAMES), preemptive_behaviour=False, enable_fallback=False)
    best = matches.best()
    if best is None:
        return "likely in a legacy encoding, or a binary file"
    close = [
        match
        for match in matches
        if match.chaos < best.chaos + _CHAOS_MARGIN and match.coherence > best.coherence - _COHERENCE_MARGIN
    ]
    names = _names(codec for match in close for codec in match.could_be_from_charset)
    odd_runs = [len(run) for run in _NOT_ASCII.findall(judged)]
    is_clear = names[0] in _MULTIBYTE or best.coherence >= _COHERENCE_MIN
    if len(names) == 1 and sum(odd_runs) >= _CONFIDENT_BYTES_MIN and is_clear:
        return f"likely {names[0]} text"
    if _LATIN_1 in names and _are_mostly_lone(odd_runs):
        return f"likely text in {_SINGLE_BYTE}"
    *others, last = names[:_CANDIDATES_MAX]
    candidates = f"{', '.join(others)} or {last}" if others else last
    return f"likely text in a legacy encoding; {candidates} would fit"


def _names(codecs_: Iterable[str]) -> list[str]:
    found = {_NAMES[codec] for codec in codecs_ if codec in _NAMES}
    return [name for name in (*_MULTIBYTE, *_SINGLE) if name in found]


def _are_mostly_lone(odd_runs: list[int]) -> bool:
    """Whether most bytes beyond ASCII stand between ASCII ones, as accented letters do in Latin script."""
    return sum(run - 1 for run in odd_runs) * 2 <= sum(odd_runs)
