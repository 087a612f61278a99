import pytest
from pydantic import JsonValue

from fs_core.errors import (
    AmbiguousEdit,
    EditNotFound,
    ErrorCode,
    FsError,
    NotFound,
    NotObserved,
    NotRegularFile,
    OutcomeUnknown,
    PermissionDenied,
    SandboxDenied,
    StaleVersion,
    Unavailable,
)
from fs_core.testing.faults import Fail
from tests.tool_fs.toolkit import Bench
from tool_fs.remedies import tool_errors
from tool_runtime import ToolError


def shown(error: FsError, *, requested_path: str = "a.txt") -> str:
    with pytest.raises(ToolError) as caught, tool_errors(requested_path):
        raise error
    assert caught.value.code == error.code
    assert caught.value.retryable == error.retryable
    assert caught.value.__cause__ is error
    return caught.value.message


@pytest.mark.parametrize(
    ("kind", "remedy"),
    [
        (StaleVersion, "Read the file again, then retry."),
        (NotObserved, "Read the file first, then retry."),
        (EditNotFound, "Copy old_string exactly from what read shows."),
        (OutcomeUnknown, "Read the file to see whether the change is there before repeating it."),
    ],
)
def test_the_way_on_is_told(kind: type[FsError], remedy: str) -> None:
    assert shown(kind("what happened", path="a.txt", operation="edit")) == f"a.txt: what happened. {remedy}"


@pytest.mark.parametrize("kind", [PermissionDenied, AmbiguousEdit, SandboxDenied])
def test_where_there_is_no_remedy_the_fact_is_told_alone(kind: type[FsError]) -> None:
    assert shown(kind("what happened", path="a.txt", operation="edit")) == "a.txt: what happened."


def test_whether_a_repeat_may_help_is_handed_on() -> None:
    assert shown(Unavailable("no answer", path="a.txt", operation="read", retryable=True)) == "a.txt: no answer."


def test_similar_names_are_offered_quoted_where_needed() -> None:
    error = NotFound("no such file", path="b", operation="read", near_names=("a b", "a\nb"))
    assert shown(error) == r"b: no such file. Similar names there: a b, 'a\nb'."


def test_the_names_in_a_directory_are_offered() -> None:
    error = NotRegularFile("is a directory, not a file", path="d", operation="read", entry_names=("a", "b"))
    assert shown(error) == "d: is a directory, not a file. Read one of its files; the first names in it: a, b."


@pytest.mark.parametrize("path", ["~/a", "~", "$HOME/a"])
def test_a_missing_file_of_an_unexpanded_path_tells_why(path: str) -> None:
    error = NotFound("no such file", path=path, operation="read")
    assert shown(error, requested_path=path).endswith(
        "~ and $VARIABLES are not expanded; paths are relative to the root."
    )


def test_a_question_keeps_its_mark() -> None:
    error = SandboxDenied('is outside; did you mean "a"?', path="/a", operation="resolve")
    assert shown(error) == '/a: is outside; did you mean "a"?'


def test_what_is_no_fault_of_a_file_passes() -> None:
    with pytest.raises(ValueError, match="a mistake of ours"), tool_errors("a.txt"):
        raise ValueError("a mistake of ours")


CALLS: list[tuple[str, dict[str, JsonValue]]] = [
    ("read", {"file_path": "a.txt"}),
    ("write", {"file_path": "a.txt", "content": "x"}),
    ("edit", {"file_path": "a.txt", "old_string": "one", "new_string": "two"}),
]


@pytest.mark.anyio
@pytest.mark.parametrize(("name", "arguments"), CALLS)
@pytest.mark.parametrize(
    "code",
    [
        ErrorCode.PERMISSION_DENIED,
        ErrorCode.UNAVAILABLE,
        ErrorCode.IO_ERROR,
        ErrorCode.INVALID_PATH,
        ErrorCode.SANDBOX_DENIED,
    ],
)
async def test_every_tool_hands_on_a_fault_of_the_store_under_its_code(
    name: str, arguments: dict[str, JsonValue], code: ErrorCode
) -> None:
    (kind,) = (kind for kind in FsError.__subclasses__() if kind.code == code)
    bench = Bench()
    bench.seam.put("a.txt", b"one\n")
    bench.seam.backend.add(Fail("resolve", kind("for some reason", path="a.txt", operation="resolve", retryable=True)))
    failure = await bench.failure(name, **arguments)
    assert (failure.code, failure.retryable) == (code, True)
    assert failure.content[0].text == f"{code}: a.txt: for some reason."


@pytest.mark.anyio
@pytest.mark.parametrize(
    ("name", "arguments", "text"),
    [
        pytest.param(
            "write",
            {"content": "x"},
            "FS_NOT_OBSERVED: a.txt: exists and was not read in this session; it was not changed. "
            "Read the file first, then retry.",
            id="write unseen",
        ),
        pytest.param(
            "edit",
            {"old_string": "one", "new_string": "two"},
            "FS_NOT_OBSERVED: a.txt: exists and was not read in this session; it was not changed. "
            "Read the file first, then retry.",
            id="edit unseen",
        ),
    ],
)
async def test_an_unseen_file_is_refused_with_the_way_on(name: str, arguments: dict[str, JsonValue], text: str) -> None:
    bench = Bench()
    bench.seam.put("a.txt", b"one\n")
    assert await bench.text(name, file_path="a.txt", **arguments) == text
    await bench.value("read", file_path="a.txt")
    await bench.value(name, file_path="a.txt", **arguments)


@pytest.mark.anyio
@pytest.mark.parametrize(("name", "arguments"), CALLS[1:])
async def test_a_stale_file_is_refused_with_the_way_on(name: str, arguments: dict[str, JsonValue]) -> None:
    bench = Bench()
    bench.seam.put("a.txt", b"one\n")
    await bench.value("read", file_path="a.txt")
    bench.seam.put("a.txt", b"one, theirs\n")
    text = await bench.text(name, **arguments)
    assert text.startswith("FS_STALE_VERSION: a.txt: changed since it was read; nothing was written")
    line, *change = text.split("\n")
    assert line.endswith("Read the file again, then retry.")
    assert change == ["What changed since:", "@@ -1 +1 @@", "-one", "+one, theirs"]
    await bench.value("read", file_path="a.txt")
    await bench.value(name, **arguments)


@pytest.mark.anyio
async def test_a_missing_file_and_a_directory_offer_names() -> None:
    bench = Bench()
    bench.seam.put("src/main.py", b"one\n")
    assert (
        await bench.text("read", file_path="src/mian.py")
        == "FS_NOT_FOUND: src/mian.py: no such file. Similar names there: main.py."
    )
    assert await bench.text("read", file_path="src") == (
        "FS_NOT_REGULAR_FILE: src: is a directory, not a file. Read one of its files; the first names in it: main.py."
    )
