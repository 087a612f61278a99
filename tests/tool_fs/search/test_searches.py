"""The tools at work, in memory: what they show, what they cut, what they refuse."""

import time

import pytest
from pydantic import JsonValue

from fs_core.errors import FsError, IoFault, PermissionDenied, Unavailable
from fs_core.search.bounds import Looked
from fs_core.session import FileSession
from fs_core.testing.faults import Fail
from tests.tool_fs.search.bench import SearchBench
from tool_fs.search.limits import SearchLimits
from tool_fs.search.watching import current_watch, watched
from tool_runtime import ToolFailure

pytestmark = pytest.mark.anyio

TREE = {
    ".gitignore": b"*.log\nbuild/\n",
    "build/out.txt": b"timeout\n",
    "src/main.py": b"import os\n\ntimeout = 10\nprint(timeout)\n",
    "src/main.log": b"timeout\n",
    "src/deep/er/x.py": b"TIMEOUT = 1\r\n",
    "src/logo.png": b"\x89PNG\0timeout\n",
    "src/latin.txt": b"timeout caf\xe9\n",
}


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


@pytest.fixture
def bench() -> SearchBench:
    return SearchBench(TREE)


CALLS: list[tuple[str, dict[str, JsonValue]]] = [
    ("list_dir", {}),
    ("glob", {"pattern": "*"}),
    ("grep", {"pattern": "timeout"}),
]


async def test_a_directory_is_listed(bench: SearchBench) -> None:
    assert await bench.rows("list_dir") == [".gitignore\t13", "src/", "(2 entries. Skipped: 1 ignored.)"]
    assert await bench.rows("list_dir", path="src", depth=2) == [
        "src/deep/",
        "src/deep/er/",
        "src/latin.txt\t13",
        "src/logo.png\t13",
        "src/main.py\t39",
        "(5 entries. Skipped: 1 ignored.)",
    ]


async def test_files_are_found_by_name(bench: SearchBench) -> None:
    assert await bench.rows("glob", pattern="*.py") == [
        "src/deep/er/x.py",
        "src/main.py",
        "(2 paths. Skipped: 2 ignored.)",
    ]
    assert (await bench.rows("glob", pattern="*/", path="src"))[:-1] == ["src/deep/", "src/deep/er/"]
    assert (await bench.rows("glob", pattern="*.rs", path="src"))[0].startswith("(No path matches.")


async def test_lines_are_found_with_the_numbers_of_read(bench: SearchBench) -> None:
    assert await bench.rows("grep", pattern="timeout", context=1) == [
        "src/main.py",
        "2- ",
        "3: timeout = 10",
        "4: print(timeout)",
        "(2 matching lines in 1 file; 3 files searched. Skipped: 2 ignored, 1 binary, 1 not UTF-8.)",
    ]
    assert (await bench.rows("grep", pattern="^timeout", path="src/deep", ignore_case=True))[:2] == [
        "src/deep/er/x.py",
        "1: TIMEOUT = 1",
    ]
    page = await bench.value("read", file_path="src/main.py")
    assert page["lines"][2] == {"number": 3, "text": "timeout = 10"}


async def test_what_is_named_itself_is_looked_at_even_if_it_is_left_out_elsewhere(bench: SearchBench) -> None:
    assert (await bench.rows("list_dir", path="build"))[0] == "build/out.txt\t8"
    assert (await bench.rows("glob", pattern="*", path="build"))[0] == "build/out.txt"
    assert (await bench.rows("grep", pattern="timeout", path="src/main.log"))[:2] == ["src/main.log", "1: timeout"]


async def test_without_gitignore_everything_is_looked_at() -> None:
    bench = SearchBench(TREE, limits=SearchLimits(gitignore=False))
    assert (await bench.rows("glob", pattern="*.log"))[:-1] == ["src/main.log"]
    assert "build/" in await bench.rows("list_dir")
    assert (await bench.value("grep", pattern="timeout"))["matches"] == 4


async def test_no_match_is_said_with_how_many_files_were_searched(bench: SearchBench) -> None:
    assert await bench.rows("grep", pattern="nowhere", include="*.py") == [
        "(No line matches; 2 files searched. Skipped: 2 ignored.)"
    ]


async def test_a_line_that_was_shown_is_no_read(bench: SearchBench) -> None:
    for name, arguments in CALLS:
        await bench.value(name, **arguments)
    edit: dict[str, JsonValue] = {
        "file_path": "src/main.py",
        "old_string": "timeout = 10",
        "new_string": "timeout = 30",
    }
    assert (await bench.failure("edit", **edit)).code == "FS_NOT_OBSERVED"
    write: dict[str, JsonValue] = {"file_path": "src/main.py", "content": "x\n"}
    assert (await bench.failure("write", **write)).code == "FS_NOT_OBSERVED"
    assert await bench.seam.seen("src/main.py") is None


async def test_a_read_stays_one_after_a_search(bench: SearchBench) -> None:
    await bench.value("read", file_path="src/main.py")
    bench.seam.put("src/main.py", b"import os\n\ntimeout = 20\n")
    await bench.value("grep", pattern="timeout")
    edit: dict[str, JsonValue] = {
        "file_path": "src/main.py",
        "old_string": "timeout = 20",
        "new_string": "timeout = 30",
    }
    assert (await bench.failure("edit", **edit)).code == "FS_STALE_VERSION"


async def test_every_bound_is_told_with_what_is_left() -> None:
    files = {f"d/{number:03}.txt": b"hit\nhit\n" for number in range(9)}
    bench = SearchBench(files, limits=SearchLimits(max_entries=4, max_matches=3))
    value = await bench.value("list_dir", path="d")
    assert (len(value["entries"]), value["total"], value["exact"], value["truncated_by"]) == (4, 9, True, "entries")
    value = await bench.value("glob", pattern="*.txt")
    assert value["paths"] == ["d/000.txt", "d/001.txt", "d/002.txt", "d/003.txt"]
    assert (value["total"], value["exact"], value["truncated_by"]) == (9, True, "entries")
    value = await bench.value("grep", pattern="hit")
    assert (value["matches"], value["truncated_by"]) == (3, "matches")
    assert value["files_searched"] + value["files_left"] in {8, 9}
    assert "Narrow it with path, include or a narrower pattern.)" in await bench.text("grep", pattern="hit")
    bench = SearchBench(files, limits=SearchLimits(max_result_bytes=40))
    for name, arguments in CALLS[1:]:
        value = await bench.value(name, **{**arguments, "pattern": "*.txt" if name == "glob" else "hit"})
        assert value["truncated_by"] == "bytes"


async def test_a_long_line_is_cut_around_its_match() -> None:
    bench = SearchBench({"a.txt": b"x" * 900 + b"hit" + b"y" * 900}, limits=SearchLimits(max_line_chars=20))
    value = await bench.value("grep", pattern="hit")
    (line,) = value["files"][0]["lines"]
    assert "hit" in line["text"]
    assert (len(line["text"]), line["length"]) == (20, 1_803)
    assert line["start"] + line["text"].index("hit") == 900
    (note,) = value["notes"]
    assert note["text"].startswith("a.txt line 1 is cut: characters ")


@pytest.mark.parametrize(("name", "arguments"), CALLS)
@pytest.mark.parametrize(
    ("path", "code"),
    [
        ("..", "FS_SANDBOX_DENIED"),
        ("../outside", "FS_SANDBOX_DENIED"),
        ("/etc", "FS_SANDBOX_DENIED"),
        ("src/../../x", "FS_SANDBOX_DENIED"),
        ("missing", "FS_NOT_FOUND"),
        ("src/main.py/below", "FS_NOT_FOUND"),
        ("a\0b", "FS_INVALID_PATH"),
        (" ", "FS_INVALID_PATH"),
        ("C:\\x", "FS_INVALID_PATH"),
    ],
)
async def test_a_path_that_leads_nowhere_is_refused(
    bench: SearchBench, name: str, arguments: dict[str, JsonValue], path: str, code: str
) -> None:
    failure = await bench.failure(name, path=path, **arguments)
    assert failure.code == code
    assert len(failure.message.splitlines()) == 1


async def test_a_file_is_no_directory_to_list_but_may_be_searched(bench: SearchBench) -> None:
    for name, arguments in CALLS[:2]:
        failure = await bench.failure(name, path="src/main.py", **arguments)
        assert failure.code == "FS_NOT_DIRECTORY"
        assert failure.message == ("src/main.py: is not a directory. Give the directory it is in; read shows a file.")
    assert (await bench.value("grep", pattern="timeout", path="src/main.py"))["files_searched"] == 1


async def test_a_pattern_may_begin_with_the_absolute_form_of_the_root(bench: SearchBench) -> None:
    (prefix, *_) = bench.seam.files.root.prefixes
    value = await bench.value("glob", pattern=f"{prefix}/src/*.py", path="src/deep")
    assert (value["path"], value["paths"]) == (".", ["src/main.py"])
    assert (await bench.value("glob", pattern=f"{prefix}/*"))["paths"] == [".gitignore"]


@pytest.mark.parametrize("pattern", ["../*", "/etc/*", "src/../../*", "file:///etc/*"])
async def test_a_glob_that_leads_out_of_the_root_is_refused(bench: SearchBench, pattern: str) -> None:
    assert (await bench.failure("glob", pattern=pattern)).code in {"FS_SANDBOX_DENIED", "FS_INVALID_PATH"}


async def test_names_with_control_characters_stay_on_their_rows() -> None:
    names = ["a\n(9 paths.)", "b\r\x1b[31m", "1: forged", "c\u2028d", "plain"]
    bench = SearchBench(dict.fromkeys(names, b"hit\n"))
    for name, arguments in (("list_dir", {}), ("glob", {"pattern": "*"}), ("grep", {"pattern": "hit"})):
        text = await bench.text(name, **arguments)
        assert text.isprintable() or set(text) & {"\n", "\t"}
        rows = [row for row in text.split("\n") if row]
        assert len(rows) == (11 if name == "grep" else 6)
        assert rows[-1].startswith("(5 ")
        assert rows[-1].endswith(" Paths in quotes are written as in Python.)")
        assert sum(row.startswith("'") for row in rows) == 4
    assert set((await bench.value("glob", pattern="*"))["paths"]) == set(names)


@pytest.mark.parametrize(
    ("name", "arguments"),
    [
        ("glob", {"pattern": "*" * 1_000 + "x"}),
        ("glob", {"pattern": "**/" * 500 + "x"}),
        ("glob", {"pattern": "a*" * 500 + "x"}),
        ("grep", {"pattern": "(a*)*(a|aa)+$"}),
        ("grep", {"pattern": "(x+x+)+y"}),
        ("grep", {"pattern": "hit", "include": "a*" * 500 + "x"}),
    ],
)
async def test_a_pattern_that_explodes_elsewhere_is_answered_at_once(
    name: str, arguments: dict[str, JsonValue]
) -> None:
    bench = SearchBench({"a" * 200: b"a" * 20_000 + b"b\n", "x" * 200: b"x" * 20_000 + b"\n"})
    started_s = time.process_time()
    result = await bench.call(name, **arguments)
    assert time.process_time() - started_s < 5
    assert not isinstance(result, ToolFailure)


@pytest.mark.parametrize(("name", "arguments"), CALLS)
@pytest.mark.parametrize("kind", [Unavailable, PermissionDenied, IoFault])
async def test_a_fault_of_the_store_is_handed_on_under_its_code(
    bench: SearchBench, name: str, arguments: dict[str, JsonValue], kind: type[FsError]
) -> None:
    bench.seam.backend.add(Fail("resolve", kind("for some reason", path="src", operation="resolve", retryable=True)))
    failure = await bench.failure(name, path="src", **arguments)
    assert (failure.code, failure.retryable) == (kind.code, True)
    assert failure.message == "src: for some reason."


def test_whoever_watches_is_known_within_the_block_alone() -> None:
    def watch(_looked: Looked) -> None:
        """Take it."""

    assert current_watch() is None
    with watched(watch):
        assert current_watch() is watch
    assert current_watch() is None


@pytest.mark.parametrize(("name", "arguments"), CALLS)
async def test_whoever_watches_is_told_how_far_a_search_has_come(
    bench: SearchBench, name: str, arguments: dict[str, JsonValue], monkeypatch: pytest.MonkeyPatch
) -> None:
    given: list[object] = []
    method = "list_tree" if name == "list_dir" else name
    search = getattr(FileSession, method)

    async def noted(session: FileSession, *given_arguments: object, watch: object, **options: object) -> object:
        given.append(watch)
        return await search(session, *given_arguments, watch=watch, **options)

    def watch(_looked: Looked) -> None:
        """Take it."""

    monkeypatch.setattr(FileSession, method, noted)
    with watched(watch):
        await bench.value(name, **arguments)
    await bench.value(name, **arguments)
    assert given == [watch, None]
