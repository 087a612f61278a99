"""What `.gitignore` files leave out. The expected values are those of `git ls-files --others` (git 2.39)."""

import threading
import time
from collections.abc import Callable, Sequence
from collections.abc import Set as AbstractSet

import anyio
import pytest
from anyio import to_thread

from fs_core.errors import FsError, PermissionDenied
from fs_core.protocol import FileSink
from fs_core.search import _ignoring, ignore
from fs_core.search.bounds import SearchBounds
from fs_core.search.ignore import IGNORE_FILE_BYTES_MAX, RULE_CHARS_MAX, IgnoreRules, Names, ignored
from fs_core.search.outcomes import SkipReason
from fs_core.search.walk import Walk
from fs_core.testing.memory import MemoryBackend
from fs_core.types import Target
from tests.fs_core.search.trees import root_of, store_of, walked
from tests.support.waiting import WAIT_S, until

pytestmark = pytest.mark.anyio

TREE = [
    "a",
    "a.log",
    "a b",
    "b/a/x",
    "b/keep.log",
    "build/out.o",
    "build/keep/x",
    "c/build",
    "doc/a/b/c.txt",
    "doc/c.txt",
    "doc/d.txt",
    "#x",
    "!y",
    "[z]",
    "sp ",
    "w\\v",
]

LEFT_OUT: list[tuple[str, list[str]]] = [
    ("a", ["a", "b/a/x", "doc/a/b/c.txt"]),
    ("/a", ["a"]),
    ("a/", ["b/a/x", "doc/a/b/c.txt"]),
    ("/a/", []),
    ("*.log", ["a.log", "b/keep.log"]),
    ("*.log\n!keep.log", ["a.log"]),
    ("!keep.log\n*.log", ["a.log", "b/keep.log"]),
    ("build", ["build/out.o", "build/keep/x", "c/build"]),
    ("build/", ["build/out.o", "build/keep/x"]),
    ("/build", ["build/out.o", "build/keep/x"]),
    ("build\n!build/keep/", ["build/out.o", "build/keep/x", "c/build"]),
    ("build/*\n!build/keep/", ["build/out.o"]),
    (
        "*\n!*/\n!*.txt",
        [
            "a",
            "a.log",
            "a b",
            "b/a/x",
            "b/keep.log",
            "build/out.o",
            "build/keep/x",
            "c/build",
            "#x",
            "!y",
            "[z]",
            "sp ",
            "w\\v",
        ],
    ),
    ("doc/**", ["doc/a/b/c.txt", "doc/c.txt", "doc/d.txt"]),
    ("doc/**/c.txt", ["doc/a/b/c.txt", "doc/c.txt"]),
    ("doc/*/c.txt", []),
    ("**/c.txt", ["doc/a/b/c.txt", "doc/c.txt"]),
    ("/c.txt", []),
    ("doc/c.txt", ["doc/c.txt"]),
    ("doc/a/", ["doc/a/b/c.txt"]),
    (
        "**",
        [
            "a",
            "a.log",
            "a b",
            "b/a/x",
            "b/keep.log",
            "build/out.o",
            "build/keep/x",
            "c/build",
            "doc/a/b/c.txt",
            "doc/c.txt",
            "doc/d.txt",
            "#x",
            "!y",
            "[z]",
            "sp ",
            "w\\v",
        ],
    ),
    (
        "*/",
        ["b/a/x", "b/keep.log", "build/out.o", "build/keep/x", "c/build", "doc/a/b/c.txt", "doc/c.txt", "doc/d.txt"],
    ),
    (
        "/*\n!/doc",
        [
            "a",
            "a.log",
            "a b",
            "b/a/x",
            "b/keep.log",
            "build/out.o",
            "build/keep/x",
            "c/build",
            "#x",
            "!y",
            "[z]",
            "sp ",
            "w\\v",
        ],
    ),
    ("#x", []),
    ("\\#x", ["#x"]),
    ("!y", []),
    ("\\!y", ["!y"]),
    ("[z]", []),
    ("\\[z\\]", ["[z]"]),
    ("[[]z]", ["[z]"]),
    ("sp ", []),
    ("sp\\ ", ["sp "]),
    ("a b  ", ["a b"]),
    ("w\\v", []),
    ("w\\\\v", ["w\\v"]),
    ("?", ["a", "b/a/x", "b/keep.log", "build/keep/x", "c/build", "doc/a/b/c.txt"]),
    (
        "??*",
        [
            "a.log",
            "a b",
            "b/keep.log",
            "build/out.o",
            "build/keep/x",
            "c/build",
            "doc/a/b/c.txt",
            "doc/c.txt",
            "doc/d.txt",
            "#x",
            "!y",
            "[z]",
            "sp ",
            "w\\v",
        ],
    ),
    ("[a-c]", ["a", "b/a/x", "b/keep.log", "c/build", "doc/a/b/c.txt"]),
    (
        "[!a]*",
        [
            "b/a/x",
            "b/keep.log",
            "build/out.o",
            "build/keep/x",
            "c/build",
            "doc/a/b/c.txt",
            "doc/c.txt",
            "doc/d.txt",
            "#x",
            "!y",
            "[z]",
            "sp ",
            "w\\v",
        ],
    ),
    (
        "[^a]*",
        [
            "b/a/x",
            "b/keep.log",
            "build/out.o",
            "build/keep/x",
            "c/build",
            "doc/a/b/c.txt",
            "doc/c.txt",
            "doc/d.txt",
            "#x",
            "!y",
            "[z]",
            "sp ",
            "w\\v",
        ],
    ),
    ("[[:alpha:]]", ["a", "b/a/x", "b/keep.log", "build/keep/x", "c/build", "doc/a/b/c.txt"]),
    ("a\r", ["a", "b/a/x", "doc/a/b/c.txt"]),
    ("\r\n*.log\r\n", ["a.log", "b/keep.log"]),
    ("\ufeffa", ["a", "b/a/x", "doc/a/b/c.txt"]),
    ("a\\", []),
    ("[a", []),
    ("/", []),
    ("//", []),
    ("", []),
    ("b/**/x", ["b/a/x"]),
    ("**/a/**", ["b/a/x", "doc/a/b/c.txt"]),
    ("b/a", ["b/a/x"]),
    ("a/x", []),
    ("{a,b}", []),
    ("*.l?g", ["a.log", "b/keep.log"]),
    ("a[ ]b", ["a b"]),
    ("A", []),
]


@pytest.mark.parametrize(("lines", "left_out"), LEFT_OUT)
def test_a_file_at_the_root_leaves_out_what_git_leaves_out(lines: str, left_out: list[str]) -> None:
    found = anyio.run(walked, MemoryBackend(store_of(TREE, ignore={".gitignore": lines})))
    assert [path for path in TREE if path not in found] == left_out


async def test_the_nearest_file_decides_and_nothing_below_a_directory_left_out_comes_back() -> None:
    files = {
        ".gitignore": "*.log\n/out/\n!/out/keep\n",
        "a/.gitignore": "!*.log\n/x\n",
        "a/b/.gitignore": "*.log\n!/x\n",
    }
    paths = ["1.log", "out/keep", "a/2.log", "a/x", "a/b/3.log", "a/b/x", "a/c/x", "a/c/4.log"]
    found = await walked(MemoryBackend(store_of(paths, ignore=files)))
    assert [path for path in found if not path.endswith(".gitignore")] == ["a/2.log", "a/b/x", "a/c/4.log", "a/c/x"]


async def test_names_with_line_ends_are_names_like_others() -> None:
    paths = ["a\nb.log", "b.log", "d\n/x.log", "d\n/y", "x\ny/z"]
    found = await walked(MemoryBackend(store_of(paths, ignore={".gitignore": "*.log\nx?y\n!b.log\n"})))
    assert found == [".gitignore", "b.log", "d\n/y"]
    found = await walked(MemoryBackend(store_of(paths, ignore={".gitignore": "b.log\n"})))
    assert found == [".gitignore", "a\nb.log", "d\n/x.log", "d\n/y", "x\ny/z"]


def left_out_by(data: bytes, *names: str) -> list[str]:
    return sorted(ignored([(IgnoreRules().with_file("", data), Names("", names, ()))]))


def test_lines_that_cannot_be_used_are_without_effect_and_the_others_count() -> None:
    lines = [b"\xff\xfe*", b"[z-a]*", b"a\\", b"\0", b"x" * 1_025, b"*" * 1_025, b"[[:nope:]y]", b"*.log"]
    assert left_out_by(b"\n".join(lines), "x", "a.log", "x" * 1_025) == ["a.log"]


def test_rules_beyond_the_bound_are_without_effect() -> None:
    many = b"".join(b"name-%d\n" % number for number in range(20_000))
    rules = IgnoreRules().with_file("", many)
    assert rules.size_chars <= RULE_CHARS_MAX
    assert ignored([(rules, Names("", ["name-0", "name-19999"], ()))]) == {"name-0"}
    assert rules.with_file("d/", b"x" * 900).size_chars <= RULE_CHARS_MAX


def test_a_rule_is_compared_with_names_alone_or_with_paths_of_its_depth_and_the_same_file_is_compiled_once(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    compiled: list[str] = []
    texts: list[bytes] = []

    class Noting:
        programsize = 1

        def search(self, text: bytes, pos: int, endpos: int, /) -> None:
            texts.append(text[pos:endpos])

    def compiling(pattern: str, **_: object) -> Noting:
        compiled.append(pattern)
        return Noting()

    monkeypatch.setattr(ignore, "compile_expression", compiling)
    data = b"*.o\n**/tags\n/c/x.py\n# test_a_rule_is_compared_with_names\n"
    for prefix in ("a/", "b/"):
        rules = IgnoreRules().with_file(prefix, data)
        assert not ignored([(rules, Names(prefix + below, ["x.py"], ["d"])) for below in ("", "c/", "c/d/")])
    assert len(compiled) == 2
    assert texts == [b"x.py\nd/\nx.py\nd/\nx.py\nd/", b"c/x.py\nc/d/"] * 2


def test_many_files_in_force_do_not_add_up_without_end() -> None:
    rules = IgnoreRules()
    for depth in range(100):
        rules = rules.with_file("d/" * depth, b"x%d\n" % depth)
    assert len(rules.files) == 64


@pytest.mark.parametrize(
    "data",
    [
        (b"*a" * 400 + b"b\n") * 20,
        b"".join(b"*a*b*c*d%d\n" % number for number in range(500)),
        b"**/a/" * 150 + b"b\n",
        b"".join(b"*x%d\n!*y%d\n" % (number, number) for number in range(2_000)),
        b"[z-a]\n" * 1_000,
        bytes(range(256)) * 100,
    ],
    ids=["stars", "many", "depths", "alternating", "invalid", "binary"],
)
def test_patterns_that_explode_elsewhere_take_little_time(data: bytes) -> None:
    names = ["abcd" * 40 + str(number) for number in range(20)]

    def seconds() -> float:
        began = time.thread_time()
        left_out_by(data, *names)
        return time.thread_time() - began

    # What else a machine does can make it longer, though hardly every time.
    assert any(seconds() < 3.0 for _ in range(10))


async def test_matching_that_takes_long_is_given_up_with_the_walk(monkeypatch: pytest.MonkeyPatch) -> None:
    hostile = "".join(f"*{'*'.join('abcdefgh'[n % 8 :])}q{n}\n" for n in range(2_000))
    paths = [f"{number:05}" + "abcdefgh" * 10 for number in range(3_000)]
    backend = MemoryBackend(store_of(paths, ignore={".gitignore": hostile}))
    begun, is_left, endings = threading.Event(), threading.Event(), list[str]()

    def watched(listed: Sequence[tuple[IgnoreRules, Names]], *, check: Callable[[], None]) -> AbstractSet[str]:
        def look() -> None:
            begun.set()
            assert is_left.wait(WAIT_S), "the walk waits for the matching"
            check()

        try:
            found = ignored(listed, check=look)
        except BaseException:
            endings.append("given up")
            raise
        endings.append("all compared")
        return found

    monkeypatch.setattr(_ignoring, "ignored", watched)
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(walked, backend)
        await to_thread.run_sync(begun.wait)
        tasks.cancel_scope.cancel()
    is_left.set()
    await until(lambda: bool(endings))
    assert endings == ["given up"]


async def test_a_file_that_is_too_large_or_may_not_be_read_is_passed_over_and_counted() -> None:
    class Denied(MemoryBackend):
        async def read_many(
            self, files: Sequence[Target], sink: FileSink, *, size_bytes_max: int
        ) -> Sequence[FsError | None]:
            del sink, size_bytes_max
            return [PermissionDenied("no", path=file.display_path, operation="read") for file in files]

    large = "#" * IGNORE_FILE_BYTES_MAX + "\n*\n"
    for backend, reason in (
        (MemoryBackend(store_of(["a"], ignore={".gitignore": large})), SkipReason.TOO_LARGE),
        (Denied(store_of(["a"], ignore={".gitignore": "*"})), SkipReason.DENIED),
    ):
        async with Walk(backend, await root_of(backend), bounds=SearchBounds(), ordered=True) as walk:
            found = [run.prefix + name async for run in walk for name in run.files]
        assert found == [".gitignore", "a"]
        assert +walk.skipped == {reason: 1}
