"""Text by the letter of the specification, whole and slow: what the scanner is compared with."""

import itertools

from hypothesis import strategies as st

from fs_core.lineindex import LineIndex, LineIndexer
from fs_core.page import Page, PageReader, Span, TextScanner, Window
from fs_core.text import BOM, NotTextFinding

PIECES = [
    b"\n",
    b"\r\n",
    b"\r",
    b"a",
    b"bc",
    b"\t",
    BOM,
    "é".encode(),
    "€".encode(),
    "😀".encode(),
    "\ufffd".encode(),
    "\x0b\x0c\x85\u2028\u2029".encode(),
]
OFFENCES = [
    b"\0",
    b"\xff",
    b"\xc3",
    b"\x80",
    b"\xed\xa0\x80",
    b"\xe2\x82",
    b"\xf0\x9f\x98",
    b"\xc0\x80",
    b"\xf4\x90\x80\x80",
]

texts = st.lists(st.sampled_from(PIECES), max_size=40).map(b"".join)
near_texts = st.lists(st.sampled_from(PIECES + OFFENCES), max_size=20).map(b"".join)
windows = st.builds(
    Window,
    first_line=st.integers(1, 12),
    lines_max=st.integers(1, 6),
    line_chars_max=st.integers(1, 6),
    bytes_max=st.integers(1, 24),
)
cuts = st.lists(st.integers(0, 60), max_size=8)


def chunked(data: bytes, at: list[int]) -> list[bytes]:
    borders = [0, *sorted(min(cut, len(data)) for cut in at), len(data)]
    return [data[start:end] for start, end in itertools.pairwise(borders)]


def scan(chunks: list[bytes], window: Window) -> Page | NotTextFinding:
    scanner = TextScanner(window)
    for chunk in chunks:
        scanner.feed(chunk)
    return scanner.finish()


def indexed(chunks: list[bytes], *, block_bytes: int) -> LineIndex:
    indexer = LineIndexer(block_bytes=block_bytes)
    for chunk in chunks:
        indexer.feed(chunk)
    return indexer.finish()


def read(data: bytes, index: LineIndex, window: Window) -> tuple[Page, list[Span]]:
    reader, spans = PageReader(index, window), list[Span]()
    while (span := reader.wanted) is not None:
        spans.append(span)
        reader.feed(data[span.offset : span.offset + span.limit])
    return reader.page(), spans


def first_offence(data: bytes) -> int | None:
    offences = [data.index(b"\0")] if b"\0" in data else []
    try:
        data.decode("utf-8", "strict")
    except UnicodeDecodeError as error:
        offences.append(error.start)
    return min(offences, default=None)


def expected_page(data: bytes, window: Window) -> Page:
    lines = _lines(data.removeprefix(BOM).decode())
    shown: list[str] = []
    cut_lengths: dict[int, int] = {}
    stopped_by = None
    size_bytes = 0
    for number, text in enumerate(lines, start=1):
        if number < window.first_line:
            continue
        cut = text[: window.line_chars_max]
        added = len(cut.encode()) + (1 if shown else 0)
        if len(shown) == window.lines_max:
            stopped_by = "lines"
        elif shown and size_bytes + added > window.bytes_max:
            stopped_by = "bytes"
        if stopped_by is not None:
            break
        size_bytes += added
        shown.append(cut)
        if cut != text:
            cut_lengths[number] = len(text)
    return Page(
        first_line=window.first_line,
        texts=tuple(shown),
        cut_lengths=cut_lengths,
        total_lines=len(lines),
        next_line=None if stopped_by is None else window.first_line + len(shown),
        truncated_by=stopped_by,
        has_final_newline=data.endswith(b"\n"),
        has_cr_only_endings=b"\r" in data and b"\n" not in data,
    )


def _lines(text: str) -> list[str]:
    *ended, last = text.split("\n")
    return [line.removesuffix("\r") for line in ended] + ([last] if last else [])
