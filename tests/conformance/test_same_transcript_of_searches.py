"""Looking around in one tree: byte for byte the same results, whichever store is behind the tools."""

import json
from collections.abc import Sequence
from dataclasses import asdict
from typing import Any, Final, cast

import pytest
from pydantic import JsonValue

from fs_core.filesystem import BackedFileSystem
from fs_core.policy import Unguarded
from fs_core.session import FileSession
from fs_core.testing.harness import StoreHarness
from tests.cases.stores import STORES, new_root
from tool_fs.search.limits import SearchLimits
from tool_fs.search.toolset import tree_tools
from tool_runtime import ToolCall, ToolFailure, ToolResult, ToolRuntime

pytestmark = [pytest.mark.anyio, pytest.mark.xdist_group("seaweedfs")]

_ROWS: Final = b"".join(b"row %d\n" % number for number in range(1, 400))
_TREE: Final = {
    ".gitignore": b"# made here\n*.log\n!keep.log\n/build/\ntmp/*\n!tmp/kept.txt\n",
    ".git/config": b"timeout = git\n",
    ".hidden/x.py": b"timeout = 0\n",
    "a-b": b"timeout a-b\n",
    "a.c": b"timeout a.c\n",
    "a/x": b"timeout a/x\n",
    "a/x.log": b"timeout log\n",
    "a/keep.log": b"timeout kept\n",
    "a0": b"timeout a0\n",
    "build/out.py": b"timeout = build\n",
    "src/.gitignore": b"generated_*\n!generated_but_kept.py\n",
    "src/generated_a.py": b"timeout = generated\n",
    "src/generated_but_kept.py": b"timeout = kept\n",
    "src/build/out.py": b"timeout = not at the top\n",
    "src/bin.dat": b"timeout\0\1\2",
    "src/latin.txt": b"timeout caf\xe9\n",
    "src/utf16.txt": "timeout\n".encode("utf-16"),
    "src/crlf.c": b"int a;\r\nTimeout(a);\r\n\r\nint b;\rstill b\r\n",
    "src/bom.py": b"\xef\xbb\xbftimeout = 1",
    "src/caf\u00e9 (1).md": "\u4f60\u597d timeout \U0001f600\n".encode(),
    "src/deep/er/x.py": b"def f():\n    return timeout\n",
    "src/wide.txt": b"x" * 3_000 + b"timeout" + b"y" * 3_000 + b"\nshort timeout\n",
    "src/rows.txt": _ROWS,
    "src/empty.txt": b"",
    "src/blank.txt": b"\n\n",
    "tmp/dropped.txt": b"timeout\n",
    "tmp/kept.txt": b"timeout kept\n",
    "12: odd.txt": b"timeout\n",
}

_Calls = Sequence[tuple[str, dict[str, JsonValue]]]

_CALLS: Final[_Calls] = (
    ("list_dir", {}),
    ("list_dir", {"depth": 99}),
    ("list_dir", {"path": "./src/../a/"}),
    ("list_dir", {"path": "build"}),
    ("list_dir", {"path": "empty"}),
    ("list_dir", {"path": "missing"}),
    ("list_dir", {"path": "a-b"}),
    ("list_dir", {"path": "a-b/below"}),
    ("list_dir", {"path": "../outside"}),
    ("glob", {"pattern": "*"}),
    ("glob", {"pattern": "*/"}),
    ("glob", {"pattern": "*.log"}),
    ("glob", {"pattern": "./a*"}),
    ("glob", {"pattern": "{a,src}/[!g]*"}),
    ("glob", {"pattern": "er/**", "path": "src/deep"}),
    ("glob", {"pattern": "*", "path": "build"}),
    ("glob", {"pattern": "*", "path": "a-b"}),
    ("glob", {"pattern": "nothing*"}),
    ("glob", {"pattern": "a[b"}),
    ("grep", {"pattern": "timeout"}),
    ("grep", {"pattern": "TIMEOUT", "ignore_case": True, "include": "src/**/*.{c,md}", "context": 2}),
    ("grep", {"pattern": "timeout", "path": "src/latin.txt"}),
    ("grep", {"pattern": "timeout", "path": "src/generated_a.py"}),
    ("grep", {"pattern": r"row 1\d\d$|^$", "path": "src", "context": 1}),
    ("grep", {"pattern": "nowhere"}),
    ("grep", {"pattern": "timeout", "path": "missing"}),
    ("grep", {"pattern": "a(b"}),
)

_CUT: Final[_Calls] = (
    ("list_dir", {"path": "src", "depth": 99}),
    ("glob", {"pattern": "*"}),
    ("grep", {"pattern": "timeout", "context": 9}),
)

_SESSION: Final = (
    (SearchLimits(), _CALLS),
    (SearchLimits(max_entries=5, max_matches=7, max_line_chars=40, max_depth=3, max_context=1), _CUT),
    (SearchLimits(max_result_bytes=90), _CUT),
)
"""Calls, and within which limits."""


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


async def _transcript(harness: StoreHarness) -> list[tuple[str, ToolResult]]:
    """Return what every call came back with, as text without the root's name, and as it is."""
    for path, content in _TREE.items():
        harness.put(path, content)
    harness.mkdir("empty")
    backend = await harness.open()
    session = FileSession(BackedFileSystem(backend), policy=Unguarded())
    transcript: list[tuple[str, ToolResult]] = []
    try:
        for limits, chosen in _SESSION:
            runtime = ToolRuntime()
            for tool in tree_tools(limits=limits):
                runtime.register(tool)
            calls = [ToolCall(name, arguments, id=str(index)) for index, (name, arguments) in enumerate(chosen)]
            for result in await runtime.run_turn(calls, owner=session):
                text = json.dumps(asdict(result), ensure_ascii=False).replace(backend.root.url, "ROOT")
                transcript.append((text, result))
    finally:
        await backend.aclose()
    return transcript


async def test_searches_give_the_same_bytes_on_every_store_cut_and_uncut(request: pytest.FixtureRequest) -> None:
    transcripts = {store: await _transcript(new_root(".", store, request).workspace) for store in STORES}
    on_memory = transcripts["memory"]
    calls = [call for _, chosen in _SESSION for call in chosen]
    for store, transcript in transcripts.items():
        for (seen, _), (expected, _), call in zip(transcript, on_memory, calls, strict=True):
            assert seen == expected, (store, call)
    results = [result for _, result in on_memory]
    codes = {result.code for result in results if isinstance(result, ToolFailure)}
    assert codes == {"FS_NOT_DIRECTORY", "FS_NOT_FOUND", "FS_SANDBOX_DENIED", "INVALID_ARGS"}
    values = [_value(result) for result in results if not isinstance(result, ToolFailure)]
    assert {value["truncated_by"] for value in values} == {None, "entries", "matches", "bytes"}
    paths = [file["path"] for file in _value(results[_CALLS.index(("grep", {"pattern": "timeout"}))])["files"]]
    assert paths[:7] == [".hidden/x.py", "12: odd.txt", "a-b", "a.c", "a/keep.log", "a/x", "a0"]
    assert paths == sorted(paths, key=str.encode)


def _value(result: ToolResult) -> dict[str, Any]:
    assert not isinstance(result, ToolFailure), result
    return cast("dict[str, Any]", result.value)
