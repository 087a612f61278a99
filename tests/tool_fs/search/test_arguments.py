import pytest
from pydantic import JsonValue, ValidationError

from tests.tool_fs.search.bench import SearchBench
from tool_fs.search.limits import SearchLimits

pytestmark = pytest.mark.anyio

LIST_DIR_USAGE = 'A right call: list_dir({"path":"src","depth":2})'
GLOB_USAGE = 'A right call: glob({"pattern":"**/test_*.py","path":"src"})'
GREP_USAGE = r'A right call: grep({"pattern":"def \\w+_timeout\\(","path":"src","include":"*.py","context":2})'


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


@pytest.fixture
def bench() -> SearchBench:
    bench = SearchBench(limits=SearchLimits(max_depth=2, max_context=1))
    bench.seam.put("d/e/f/g.txt", b"1\n2\n3\n4\n5\n")
    return bench


@pytest.mark.parametrize("number", [2, "2", 2.0, "02"])
async def test_a_whole_number_may_come_in_any_form(bench: SearchBench, number: JsonValue) -> None:
    assert [entry["path"] for entry in (await bench.value("list_dir", depth=number))["entries"]] == ["d", "d/e"]
    bench = SearchBench()
    bench.seam.put("a.txt", b"1\n2\n3\n4\n5\n")
    value = await bench.value("grep", pattern="3", context=number)
    assert [line["number"] for line in value["files"][0]["lines"]] == [1, 2, 3, 4, 5]


@pytest.mark.parametrize(
    ("name", "arguments"),
    [
        ("list_dir", {"path": None, "depth": None}),
        ("list_dir", {"path": ""}),
        ("glob", {"pattern": "*.txt", "path": None}),
        ("glob", {"pattern": "*.txt", "path": ""}),
        ("grep", {"pattern": "3", "path": None, "include": None, "context": None, "ignore_case": None}),
        ("grep", {"pattern": "3", "path": "", "include": ""}),
    ],
)
async def test_null_and_an_empty_text_count_as_left_out(
    bench: SearchBench, name: str, arguments: dict[str, JsonValue]
) -> None:
    left_out = {key: value for key, value in arguments.items() if value}
    assert await bench.value(name, **arguments) == await bench.value(name, **left_out)
    assert (await bench.value(name, **arguments))["path"] == "."


@pytest.mark.parametrize("number", [1.5, "1.5", True, "", "two", [], {}])
async def test_what_is_no_whole_number_is_refused(bench: SearchBench, number: JsonValue) -> None:
    failure = await bench.failure("list_dir", depth=number)
    assert failure.code == "INVALID_ARGS"
    assert "depth: must be a valid integer" in failure.message
    assert failure.message.endswith(LIST_DIR_USAGE)
    failure = await bench.failure("grep", pattern="x", context=number)
    assert failure.code == "INVALID_ARGS"
    assert "context: must be a valid integer" in failure.message
    assert failure.message.endswith(GREP_USAGE)


async def test_numbers_have_a_least(bench: SearchBench) -> None:
    for depth in (0, -1):
        assert "depth: must be at least 1" in (await bench.failure("list_dir", depth=depth)).message
    assert "context: must be at least 0" in (await bench.failure("grep", pattern="x", context=-1)).message
    assert (await bench.value("grep", pattern="3", context=0))["matches"] == 1


async def test_numbers_above_the_most_are_clamped_and_said(bench: SearchBench) -> None:
    value = await bench.value("list_dir", depth=10**30)
    assert [entry["path"] for entry in value["entries"]] == ["d", "d/e"]
    note = f"depth {10**30} is more than is used; at most 2 levels are listed"
    assert value["notes"] == [{"kind": "depth_clamped", "text": note}]
    assert f"(Note: {note}.)" in await bench.text("list_dir", depth=10**30)
    value = await bench.value("grep", pattern="3", context=9)
    assert [line["number"] for line in value["files"][0]["lines"]] == [2, 3, 4]
    note = "context 9 is more than is used; at most 1 lines are shown on either side"
    assert value["notes"] == [{"kind": "context_clamped", "text": note}]


def test_no_setting_lets_context_be_more_than_is_held() -> None:
    with pytest.raises(ValidationError, match="less than or equal to 10000"):
        SearchLimits(max_context=10**30)


@pytest.mark.parametrize(
    ("name", "known", "usage"),
    [
        ("list_dir", "path, depth", LIST_DIR_USAGE),
        ("glob", "pattern, path", GLOB_USAGE),
        ("grep", "pattern, path, include, context, ignore_case", GREP_USAGE),
    ],
)
async def test_unknown_keys_are_refused_with_the_known_ones(
    bench: SearchBench, name: str, known: str, usage: str
) -> None:
    failure = await bench.failure(name, file_path="d")
    assert failure.code == "INVALID_ARGS"
    assert f"file_path: unknown key, known: {known}" in failure.message
    assert ("pattern: is required" in failure.message) is ("pattern" in known)
    assert failure.message.endswith(usage)


@pytest.mark.parametrize(
    ("pattern", "fault"),
    [
        pytest.param("a(b", "at position 1", id="open group"),
        pytest.param("a)b", "at position 1", id="closed group"),
        pytest.param("ab[c", "at position 2", id="open class"),
        pytest.param("*a", "at position 0", id="nothing to repeat"),
        pytest.param(r"(a)\1", "at position 3", id="back-reference"),
        pytest.param("a(?=b)", "at position 1", id="look-ahead"),
        pytest.param("a\nb", "at position 1", id="newline"),
        pytest.param("a" * 5_000, "has 5000 characters", id="too long"),
        pytest.param("a{900}b{900}" * 20, "too large", id="too large"),
    ],
)
async def test_a_pattern_that_cannot_be_used_is_refused_with_its_position(
    bench: SearchBench, pattern: str, fault: str
) -> None:
    failure = await bench.failure("grep", pattern=pattern)
    assert failure.code == "INVALID_ARGS"
    assert fault in failure.message
    assert failure.message.endswith(GREP_USAGE)
    assert len(failure.message.splitlines()) == 1


async def test_an_empty_pattern_is_refused(bench: SearchBench) -> None:
    failure = await bench.failure("grep", pattern="")
    assert failure.code == "INVALID_ARGS"
    assert "pattern: must not be empty" in failure.message


@pytest.mark.parametrize(
    ("pattern", "fault"),
    [
        pytest.param("", "blank", id="empty"),
        pytest.param("a[b", "at position 1", id="open class"),
        pytest.param("a{b,c", "at position 1", id="open brace"),
        pytest.param("a}", "at position 1", id="closed brace"),
        pytest.param("!*.py", "at position 0", id="exclusion"),
        pytest.param("a\\", "at position 1", id="backslash at the end"),
        pytest.param("*/../x", "at position 2", id="up behind a wildcard"),
        pytest.param("{a,b}" * 20, "more than", id="too many alternatives"),
        pytest.param("*" * 5_000, "has 5000 characters", id="too long"),
    ],
)
async def test_a_glob_that_cannot_be_used_is_refused_with_its_position(
    bench: SearchBench, pattern: str, fault: str
) -> None:
    failure = await bench.failure("glob", pattern=pattern)
    assert failure.code == "INVALID_ARGS"
    assert "pattern: glob: " in failure.message
    assert fault in failure.message
    assert failure.message.endswith(GLOB_USAGE)
    if pattern:
        failure = await bench.failure("grep", pattern="x", include=pattern)
        assert failure.code == "INVALID_ARGS"
        assert "include: glob: " in failure.message
        assert fault in failure.message
        assert failure.message.endswith(GREP_USAGE)


@pytest.mark.parametrize("name", ["list_dir", "glob", "grep"])
@pytest.mark.parametrize("given", [1, ["x"], {}])
async def test_a_path_is_a_string(bench: SearchBench, name: str, given: JsonValue) -> None:
    pattern: dict[str, JsonValue] = {} if name == "list_dir" else {"pattern": "x"}
    failure = await bench.failure(name, path=given, **pattern)
    assert failure.code == "INVALID_ARGS"
    assert "path: must be a valid string" in failure.message


async def test_half_a_surrogate_pair_is_refused(bench: SearchBench) -> None:
    assert (await bench.failure("list_dir", path="\ud800")).code == "FS_INVALID_PATH"
    assert (await bench.failure("glob", pattern="\ud800")).code == "INVALID_ARGS"
    assert (await bench.failure("grep", pattern="\ud800")).code == "INVALID_ARGS"
