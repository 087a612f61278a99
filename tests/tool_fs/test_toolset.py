import pytest
from pydantic import JsonValue

from fs_core.edit import Edit
from fs_core.page import Window
from tests.fs_core.seam import OTHER
from tests.tool_fs.toolkit import Bench
from tool_fs.arguments import EditArgs, WriteArgs
from tool_fs.limits import ReadLimits
from tool_fs.toolset import file_tools
from tool_runtime import ToolAnnotations, ToolCall, ToolFailure, ToolRuntime, ToolSuccess

pytestmark = pytest.mark.anyio

PATH: dict[str, JsonValue] = {"description": "Path of the file, relative to the root.", "type": "string"}

PARAMETERS: dict[str, dict[str, JsonValue]] = {
    "read": {
        "type": "object",
        "properties": {
            "file_path": PATH,
            "offset": {"description": "First line to return, counting from 1.", "minimum": 1, "type": "integer"},
            "limit": {"description": "How many lines to return at the most.", "minimum": 1, "type": "integer"},
        },
        "required": ["file_path"],
        "additionalProperties": False,
    },
    "write": {
        "type": "object",
        "properties": {
            "file_path": PATH,
            "content": {
                "description": "The whole content of the file, written exactly as given.",
                "type": "string",
            },
        },
        "required": ["file_path", "content"],
        "additionalProperties": False,
    },
    "edit": {
        "type": "object",
        "properties": {
            "file_path": PATH,
            "old_string": {
                "description": "Text to replace, exactly as it stands in the file, without line numbers.",
                "minLength": 1,
                "type": "string",
            },
            "new_string": {"description": "Text to put in its place; empty deletes.", "type": "string"},
            "replace_all": {
                "default": False,
                "description": "Replace every place; otherwise there must be exactly one.",
                "type": "boolean",
            },
        },
        "required": ["file_path", "old_string", "new_string"],
        "additionalProperties": False,
    },
}


@pytest.mark.parametrize("name", ["read", "write", "edit"])
def test_the_parameters_are_exactly_these(name: str) -> None:
    tool = Bench().runtime.get(name)
    assert tool is not None
    parameters = tool.schema().parameters
    assert parameters == PARAMETERS[name]
    given, expected = parameters["properties"], PARAMETERS[name]["properties"]
    assert isinstance(given, dict)
    assert isinstance(expected, dict)
    assert list(given) == list(expected)


def test_the_values_have_exactly_these_keys() -> None:
    keys = {tool.name: tool.schema().output["required"] for tool in file_tools()}
    assert keys == {
        "read": [
            "path",
            "offset",
            "lines",
            "total_lines",
            "next_offset",
            "truncated_by",
            "version",
            "final_newline",
            "notes",
        ],
        "write": ["path", "operation", "version", "bytes", "diff", "notes"],
        "edit": ["path", "replacements", "version", "diff", "notes"],
    }


def test_the_descriptions_state_what_must_be_read_before_what() -> None:
    read, write, edit = (tool.description for tool in file_tools())
    assert "Creating a file needs no read" in write
    assert "Before an existing file is replaced it must have been read" in write
    assert "must not have changed since" in write
    assert "The file must have been read" in edit
    assert "must not have changed since" in edit
    assert "exactly once unless replace_all is true" in edit
    assert "Line numbers are no part of the file" in read


def test_without_a_guard_the_descriptions_ask_for_no_read() -> None:
    _, write, edit = (tool.description for tool in file_tools(guarded=False))
    assert "read" not in write
    assert "read" not in edit
    assert "exactly once unless replace_all is true" in edit


def test_the_bounds_of_a_page_are_told() -> None:
    (read,) = file_tools(limits=ReadLimits(max_lines=7, max_line_chars=8, max_page_bytes=9), read_only=True)
    assert read.description.endswith("at most 7 lines and 9 bytes; a line is cut after 8 characters.")


def test_the_hints_for_hosts_tell_what_changes_files() -> None:
    assert {tool.name: tool.annotations for tool in file_tools()} == {
        "read": ToolAnnotations(read_only=True, destructive=False, idempotent=True),
        "write": ToolAnnotations(read_only=False, destructive=True, idempotent=True),
        "edit": ToolAnnotations(read_only=False, destructive=True, idempotent=False),
    }


def test_a_read_only_toolset_is_read_alone() -> None:
    assert [tool.name for tool in file_tools(read_only=True)] == ["read"]


async def test_a_read_only_toolset_knows_no_other_tool() -> None:
    bench = Bench(read_only=True)
    assert (await bench.failure("write", file_path="a.txt", content="x")).code == "UNKNOWN_TOOL"


@pytest.mark.parametrize("owner", [None, "me", object()])
@pytest.mark.parametrize(
    ("name", "arguments"),
    [
        ("read", {"file_path": "a.txt"}),
        ("write", {"file_path": "a.txt", "content": "x"}),
        ("edit", {"file_path": "a.txt", "old_string": "a", "new_string": "b"}),
    ],
)
async def test_the_tools_act_for_a_file_session_alone(
    name: str, arguments: dict[str, JsonValue], owner: object
) -> None:
    runtime = ToolRuntime()
    for tool in file_tools():
        runtime.register(tool)
    result = await runtime.execute(ToolCall(name, arguments, id="c1"), owner=owner)
    assert isinstance(result, ToolFailure)
    assert result.code == "TOOL_FAILED"
    assert "FileSession" in result.message
    assert "has to pass one as owner" in result.message


async def test_each_session_is_an_owner_of_its_own() -> None:
    bench = Bench()
    bench.seam.put("a.txt", b"one\n")
    await bench.seam.session().read("a.txt", Window())
    mine = await bench.runtime.execute(
        ToolCall("edit", {"file_path": "a.txt", "old_string": "one", "new_string": "two"}, id="c1"),
        owner=bench.seam.session(),
    )
    theirs = await bench.runtime.execute(
        ToolCall("edit", {"file_path": "a.txt", "old_string": "two", "new_string": "three"}, id="c2"),
        owner=bench.seam.session(OTHER),
    )
    assert isinstance(mine, ToolSuccess)
    assert isinstance(theirs, ToolFailure)
    assert theirs.code == "FS_NOT_OBSERVED"


def change_key(path: str) -> str | None:
    """Return what a write and an edit of a path are scheduled by."""
    _, write, edit = file_tools()
    keys = {
        write.concurrency_key(WriteArgs(file_path=path, content="")),
        edit.concurrency_key(EditArgs(file_path=path, old_string="a", new_string="b")),
    }
    assert len(keys) == 1
    return keys.pop()


@pytest.mark.parametrize("path", ["./a.txt", "d/../a.txt", "a.txt/", "memory:///a.txt", "/srv/a.txt", "A.txt"])
def test_changes_that_may_be_of_one_file_keep_their_order(path: str) -> None:
    assert change_key(path) == change_key("a.txt")


def test_changes_of_files_of_different_names_may_overlap() -> None:
    assert len({change_key(path) for path in ("a.txt", "b.txt", "d/c", "")} - {None}) == 3


@pytest.mark.parametrize("path", ["", ".", "a/..", "/"])
def test_a_change_of_a_path_without_a_name_runs_alone(path: str) -> None:
    assert change_key(path) is None


async def test_one_turn_of_dependent_changes_has_its_effects_in_order() -> None:
    bench = Bench()
    calls = [
        ToolCall("write", {"file_path": "a.txt", "content": "0"}, id="c0"),
        *(
            ToolCall(
                "edit", {"file_path": path, "old_string": str(number), "new_string": str(number + 1)}, id=f"c{number}e"
            )
            for number, path in enumerate(["./a.txt", "memory:///a.txt", "d/../a.txt", "a.txt"])
        ),
        ToolCall("read", {"file_path": "a.txt"}, id="last"),
    ]
    results = await bench.runtime.run_turn(calls, owner=bench.seam.session())
    assert all(isinstance(result, ToolSuccess) for result in results)
    assert bench.seam.get("a.txt") == b"4"
    assert "1: 4" in results[-1].text


async def test_a_session_used_directly_and_the_tools_share_what_was_seen() -> None:
    bench = Bench()
    bench.seam.put("a.txt", b"one\n")
    await bench.value("read", file_path="a.txt")
    await bench.seam.session().edit("a.txt", Edit("one", "two"))
    assert (await bench.value("edit", file_path="a.txt", old_string="two", new_string="three"))["replacements"] == 1
