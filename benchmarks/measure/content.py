"""Files to measure with: the same bytes in every run, of any size, made at the speed of the disk.

Every file but that of one line begins and ends with a line that stands nowhere else, and holds `REPEATED` about once in
64 KiB. `ABSENT` is like those lines and in no file.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import cycle
from pathlib import Path
from typing import Final, Literal, get_args

__all__ = ["ABSENT", "CONTENTS", "FIRST", "LAST", "REPEATED", "Content", "Made", "make"]

Content = Literal["code", "CJK", "CRLF", "one line"]
CONTENTS: Final[tuple[Content, ...]] = get_args(Content)

FIRST: Final = "timeout_of_first = 10"
LAST: Final = "timeout_of_last = 10"
ABSENT: Final = "timeout_of_none = 10"
REPEATED: Final = "retries_max"

_BLOCK_BYTES: Final = 64 << 10
_CODE: Final = (
    "def handle_{n}(request: Request) -> Response:",
    '    """Answer one request of the kind {n}."""',
    "    items = [item for item in request.items if item.size > {n}]",
    "    if not items:",
    "        raise EmptyRequest({n})",
    "    total = sum(item.size * item.count for item in items)",
    '    log.info("%d of theirs", len(items))',
    "    return Response(total=total)",
    "",
)
_CJK: Final = (
    "第{n}章 文件系统的每一次读取都必须完整可靠",
    "　　行はどこで終わるのか、改行だけが決める。",
    "글자 하나가 여러 바이트로 이루어져 있다 {n}",
    "",
)


@dataclass(frozen=True, slots=True)
class Made:
    """A file that was made; `lines` as seamfs counts them."""

    path: Path
    size_bytes: int
    lines: int

    @property
    def name(self) -> str:
        """Return the name within its directory."""
        return self.path.name


def make(path: Path, content: Content, size_bytes: int) -> Made:
    """Write a file of about `size_bytes`, exactly so for one line."""
    newlines = ends_open = 0
    with path.open("wb") as file:
        for piece in _pieces(content, size_bytes):
            file.write(piece)
            newlines += piece.count(b"\n")
            ends_open = not piece.endswith(b"\n")
    return Made(path, path.stat().st_size, newlines + ends_open)


def _pieces(content: Content, size_bytes: int) -> Iterator[bytes]:
    ending = "\r\n" if content == "CRLF" else "" if content == "one line" else "\n"
    head, tail = (f"{text}{ending}".encode() for text in (FIRST, LAST))
    body_bytes = max(0, size_bytes - len(head) - len(tail))
    block = _block(content, ending)
    yield head
    yield from [block] * (body_bytes // len(block))
    rest = block[: body_bytes % len(block)]
    # Whole lines, so that the last one stands alone, and no character is cut.
    yield rest if content == "one line" else rest[: rest.rfind(b"\n") + 1]
    yield tail


def _block(content: Content, ending: str) -> bytes:
    pattern = _CJK if content == "CJK" else _CODE
    lines = [f"{REPEATED} = 3{ending}"]
    size_bytes = 0
    for number, line in enumerate(cycle(pattern)):
        if size_bytes >= _BLOCK_BYTES:
            break
        lines.append(line.format(n=number) + ending)
        size_bytes += len(lines[-1].encode())
    return "".join(lines).encode()
