"""One long editing session: byte for byte the same files and texts, whichever store is behind the tools."""

import json
from dataclasses import asdict
from typing import Final

import pytest

from fs_core.testing.harness import StoreHarness
from tests.cases.stores import new_root
from tests.support.tool_agent import ToolAgent
from tool_runtime import JsonObject, ToolFailure

pytestmark = pytest.mark.anyio

_STORES: Final = ("memory", "local", "seaweedfs", "sshd")

_FILES: Final = {
    "src/crlf.c": b"int a;\r\n\tint b;\r\nint c;\r\n",
    "src/mixed.txt": b"one\r\ntwo\nthree\r\nfour\rstill four\nfive",
    "src/bom.ps1": b"\xef\xbb\xbfWrite-Host 'caf\xc3\xa9'\r\nexit\r\n",
    "src/unseen.txt": b"zero\xe2\x80\x8bwidth\nfull\xef\xbc\x88width\xef\xbc\x89\nnfd cafe\xcc\x81\nnul is not here\n",
    "src/latin.txt": b"caf\xe9\n",
    "src/wide.txt": b"x" * 5_000 + b"\nshort\n",
    "src/empty.txt": b"",
    "src/many.txt": b"".join(b"row %d\n" % number for number in range(5_000)),
    "src/mac.txt": b"one\rtwo\rthree",
    "docs/read me #1?.md": "\u4f60\u597d \U0001f600 100%\n".encode(),
}


def _read(path: str, **window: int) -> tuple[str, JsonObject]:
    return "read", {"file_path": path, **window}


def _write(path: str, content: str) -> tuple[str, JsonObject]:
    return "write", {"file_path": path, "content": content}


def _edit(path: str, old: str, new: str, **options: bool) -> tuple[str, JsonObject]:
    return "edit", {"file_path": path, "old_string": old, "new_string": new, **options}


_SESSION: Final[tuple[list[tuple[str, JsonObject]] | tuple[str, bytes], ...]] = (
    [_read(path) for path in _FILES],
    [_read("src"), _read("src/missing.txt"), _read("docs/read me #2?.md"), _read("src/mixed.txt/below")],
    [_read("src/many.txt", offset=4_990, limit=5), _read("src/many.txt", offset=5_001), _read("src/crlf.c", limit=0)],
    [_edit("src/crlf.c", "int a;\n\tint b;", "int a;\n\tint a2;\n\tint b;")],
    [_edit("src/crlf.c", "int", "long"), _edit("src/crlf.c", "int", "long", replace_all=True)],
    [_edit("src/mixed.txt", "two\nthree", "2\n3\n3a"), _edit("src/mixed.txt", "five", "five\nsix")],
    [_edit("src/bom.ps1", "Write-Host", "Write-Output"), _read("src/bom.ps1")],
    [_edit("src/crlf.c", "    long b;", "x"), _edit("src/unseen.txt", "zerowidth", "x")],
    [_edit("src/unseen.txt", "full(width)", "x"), _edit("src/unseen.txt", "nfd caf\u00e9", "x")],
    [_edit("src/unseen.txt", "2: full\uff08width\uff09", "x"), _edit("src/many.txt", "row 5000\n", "x")],
    [_edit("src/latin.txt", "caf", "tea"), _write("src/latin.txt", "caf\u00e9\n")],
    [_edit("src/wide.txt", "x\nshort", "x\nlong"), _edit("src/empty.txt", "a", "b")],
    [_write("src/crlf.c", "int a;\nint b;\n"), _write("src/bom.ps1", "exit\n"), _write("new/deep/file.txt", "a\n")],
    [_write("src/mac.txt", "one\ntwo\nthree\n"), _write("src/nul.txt", "a\0b"), _write("src/empty.txt", "")],
    ("src/many.txt", b"row 0\nrow one\n" + b"".join(b"row %d\n" % number for number in range(2, 5_000))),
    [_edit("src/many.txt", "row 4999", "last row"), _write("src/many.txt", "gone\n")],
    [_read("src/many.txt", limit=3)],
    [_edit("src/many.txt", "row 4999", "last row"), _edit("src/many.txt", "row 4998", "last but one")],
    ("docs/other.md", b"theirs\n"),
    [_write("docs/other.md", "ours\n"), _edit("docs/other.md", "theirs", "ours"), _read("docs/other.md")],
    [_edit("docs/other.md", "theirs", "ours"), _edit("docs/read me #1?.md", "100%", "100 %")],
    [_edit("docs/read me #1?.md", "\u4f60\u597d", "$& \\1 \U0001f600"), _read("docs/read me #1?.md")],
    [_read("/etc/hostname"), _read("../outside"), _read("~/notes.md"), _read("C:\\notes.md"), _write("src", "x")],
    [_read(path) for path in (*_FILES, "new/deep/file.txt")],
)
"""Turns of an agent, and what somebody else writes between them."""

_CODES: Final = {
    "FS_AMBIGUOUS_EDIT",
    "FS_EDIT_NOT_FOUND",
    "FS_INVALID_PATH",
    "FS_NOT_FOUND",
    "FS_NOT_OBSERVED",
    "FS_NOT_REGULAR_FILE",
    "FS_NOT_TEXT",
    "FS_OUT_OF_RANGE",
    "FS_SANDBOX_DENIED",
    "FS_STALE_VERSION",
    "INVALID_ARGS",
}


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


async def _session(harness: StoreHarness) -> tuple[list[str], set[str]]:
    """Return what every call came back with, the root's name left out, and the codes among them."""
    for path, content in _FILES.items():
        harness.put(path, content)
    backend = await harness.open()
    agent = ToolAgent(backend)
    transcript: list[str] = []
    codes: set[str] = set()
    try:
        for step in _SESSION:
            if isinstance(step, tuple):
                harness.put(*step)
                continue
            for result in await agent.turn(step):
                transcript.append(json.dumps(asdict(result), ensure_ascii=False).replace(agent.root_url, "ROOT"))
                codes |= {result.code} if isinstance(result, ToolFailure) else set()
    finally:
        await backend.aclose()
    return transcript, codes


def _contents(harness: StoreHarness) -> dict[str, bytes | None]:
    directories = ("docs", "new/deep", "src")
    return {
        f"{directory}/{name}": harness.get(f"{directory}/{name}")
        for directory in directories
        for name in harness.names(directory)
    }


@pytest.mark.xdist_group("seaweedfs")
async def test_a_long_session_gives_the_same_bytes_and_texts_on_every_store(request: pytest.FixtureRequest) -> None:
    harnesses = {store: new_root(".", store, request).workspace for store in _STORES}
    transcripts = {store: await _session(harness) for store, harness in harnesses.items()}
    on_memory, codes = transcripts["memory"]
    assert codes == _CODES
    for store, harness in harnesses.items():
        assert transcripts[store][0] == on_memory, store
        assert _contents(harness) == _contents(harnesses["memory"]), store
    kept = _contents(harnesses["memory"])
    assert kept["src/mixed.txt"] == b"one\r\n2\n3\n3a\r\nfour\rstill four\nfive\nsix"
    assert kept["src/unseen.txt"] == _FILES["src/unseen.txt"]
