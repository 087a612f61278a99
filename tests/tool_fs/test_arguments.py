import pytest
from pydantic import JsonValue

from tests.tool_fs.toolkit import Bench

pytestmark = pytest.mark.anyio

READ_USAGE = 'A right call: read({"file_path":"src/main.py","offset":1,"limit":200})'
WRITE_USAGE = 'A right call: write({"file_path":"notes/todo.md","content":"one line\\n"})'
EDIT_USAGE = 'A right call: edit({"file_path":"src/main.py","old_string":"timeout = 10","new_string":"timeout = 30"})'


@pytest.fixture
def bench() -> Bench:
    bench = Bench()
    bench.seam.put("a.txt", b"1\n2\n3\n4\n")
    return bench


@pytest.mark.parametrize("number", [2, "2", 2.0, "02"])
async def test_a_whole_number_may_come_in_any_form(bench: Bench, number: JsonValue) -> None:
    value = await bench.value("read", file_path="a.txt", offset=number, limit=number)
    assert (value["offset"], value["next_offset"]) == (2, 4)


async def test_null_counts_as_left_out(bench: Bench) -> None:
    value = await bench.value("read", file_path="a.txt", offset=None, limit=None)
    assert (value["offset"], value["next_offset"]) == (1, None)


@pytest.mark.parametrize("key", ["offset", "limit"])
@pytest.mark.parametrize("number", [1.5, "1.5", True, False, "", "two", [], {}, "1e3"])
async def test_what_is_no_whole_number_is_refused(bench: Bench, key: str, number: JsonValue) -> None:
    failure = await bench.failure("read", file_path="a.txt", **{key: number})
    assert failure.code == "INVALID_ARGS"
    assert f"{key}: must be a valid integer" in failure.message
    assert failure.message.endswith(READ_USAGE)


@pytest.mark.parametrize("number", [0, -1, "0", -3.0])
async def test_lines_start_at_1(bench: Bench, number: JsonValue) -> None:
    failure = await bench.failure("read", file_path="a.txt", offset=number)
    assert failure.code == "INVALID_ARGS"
    assert "offset: lines start at 1" in failure.message
    assert failure.message.endswith(READ_USAGE)


@pytest.mark.parametrize("number", [0, -1])
async def test_a_limit_below_one_is_refused(bench: Bench, number: int) -> None:
    failure = await bench.failure("read", file_path="a.txt", limit=number)
    assert (failure.code, "limit: must be at least 1" in failure.message) == ("INVALID_ARGS", True)


async def test_a_number_beyond_all_files_is_out_of_range_or_clamped(bench: Bench) -> None:
    assert (await bench.failure("read", file_path="a.txt", offset=10**30)).code == "FS_OUT_OF_RANGE"
    assert (await bench.value("read", file_path="a.txt", limit=10**30))["next_offset"] is None


@pytest.mark.parametrize(
    ("name", "known", "usage"),
    [
        ("read", "file_path, offset, limit", READ_USAGE),
        ("write", "file_path, content", WRITE_USAGE),
        ("edit", "file_path, old_string, new_string, replace_all", EDIT_USAGE),
    ],
)
async def test_unknown_keys_are_refused_with_the_known_ones(bench: Bench, name: str, known: str, usage: str) -> None:
    failure = await bench.failure(name, filePath="a.txt")
    assert failure.code == "INVALID_ARGS"
    assert f"filePath: unknown key, known: {known}" in failure.message
    assert "file_path: is required" in failure.message
    assert failure.message.endswith(usage)


@pytest.mark.parametrize("replace_all", ["true", 1, None])
async def test_replace_all_is_true_or_false(bench: Bench, replace_all: JsonValue) -> None:
    failure = await bench.failure("edit", file_path="a.txt", old_string="1", new_string="2", replace_all=replace_all)
    assert failure.code == "INVALID_ARGS"
    assert "replace_all: must be a valid boolean" in failure.message


@pytest.mark.parametrize("key", ["file_path", "old_string", "new_string"])
@pytest.mark.parametrize("given", [1, None, ["x"]])
async def test_text_is_a_string(bench: Bench, key: str, given: JsonValue) -> None:
    arguments: dict[str, JsonValue] = {"file_path": "a.txt", "old_string": "1", "new_string": "2", key: given}
    failure = await bench.failure("edit", **arguments)
    assert failure.code == "INVALID_ARGS"
    assert f"{key}: must be a valid string" in failure.message


@pytest.mark.parametrize(
    ("old", "new", "reason"),
    [
        pytest.param("", "x", "old_string: must not be empty", id="nothing to look for"),
        pytest.param("", "", "old_string: must not be empty", id="nothing at all"),
        pytest.param("1", "1", "identical", id="same text"),
        pytest.param("1\r\n2", "1\n2", "identical", id="same text but for line endings"),
    ],
)
@pytest.mark.parametrize("path", ["a.txt", "missing.txt"])
async def test_an_edit_of_nothing_is_refused_before_the_file_is_looked_at(
    bench: Bench, path: str, old: str, new: str, reason: str
) -> None:
    failure = await bench.failure("edit", file_path=path, old_string=old, new_string=new)
    assert failure.code == "INVALID_ARGS"
    assert reason in failure.message
    assert failure.message.endswith(EDIT_USAGE)
