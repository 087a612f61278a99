"""deepagents over a workspace: whole agents with a scripted model, and the backend by itself.

The package is imported by the tests themselves: it takes a while, and not every worker runs them.
"""

import os
from base64 import standard_b64encode
from collections.abc import Generator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from seamfs.config import Settings
from seamfs.integrations import AgentTools, open_agent_tools
from seamfs.workspace import open_workspace
from tests.seamfs.integrations.story import AFTER, CODES, Call, Place, Script, ending, local_place, s3_place
from tests.support.s3_servers import S3Server
from tool_runtime import Allow, Decision, Deny, Invocation

if TYPE_CHECKING:
    from seamfs.integrations.deepagents import WorkspaceBackend

pytestmark = [pytest.mark.anyio, pytest.mark.xdist_group("integrations")]

PICTURE = b"\x89PNG\r\n\x1a\n\x00\xff"
SHOWN = [
    None,
    "@@ lines 1-2 of 2 @@\ntimeout = 10\nlast line",
    None,
    "@@ lines 1-2 of 2 @@\ntimeout = 20\nlast line",
    "Successfully replaced 1 instance(s) of the string in '/src/notes.txt'",
]
"""What deepagents shows in the session of the story, where it is not our refusal."""


def theirs(call: Call | None) -> Call | None:
    """The same call with the names and the paths of deepagents."""
    return call and (f"{call[0]}_file", {**call[1], "file_path": f"/{call[1]['file_path']}"})


def backend_of(tools: AgentTools) -> "WorkspaceBackend":
    from seamfs.integrations.deepagents import WorkspaceBackend

    return WorkspaceBackend(tools)


@pytest.fixture
def backend(root: Path) -> "Generator[WorkspaceBackend]":
    """A backend on a directory, for tests without an event loop."""
    with open_agent_tools(str(root), settings=Settings()) as tools:
        yield backend_of(tools)


def agent_on(place: Place, tools: AgentTools) -> Any:
    from tests.seamfs.integrations.chat_model import ScriptedChatModel, deep_agent

    script = Script(place)
    return deep_agent(ScriptedChatModel(next_call=lambda: theirs(script.next_call())), backend_of(tools))


def assert_shown(state: dict[str, Any], place: Place, expected: list[str]) -> None:
    from tests.seamfs.integrations.chat_model import tool_messages

    messages = tool_messages(state)
    assert [message.content for message in messages] == [
        f"Error: {ours}" if shown is None else shown for shown, ours in zip(SHOWN, expected, strict=True)
    ]
    assert [message.status for message in messages] == ["success" if code is None else "error" for code in CODES]
    assert ending(place) == AFTER


async def test_an_agent_works_in_a_bucket_under_our_guards(moto_server: S3Server, expected: list[str]) -> None:
    place = s3_place(moto_server)
    async with open_workspace(place.url, settings=place.settings) as workspace:
        state = await agent_on(place, AgentTools(workspace)).ainvoke({"messages": [("user", "Raise the timeout.")]})
    assert_shown(state, place, expected)


def test_an_agent_without_an_event_loop_does_the_same(root: Path, expected: list[str]) -> None:
    place = local_place(root)
    with open_agent_tools(place.url, settings=place.settings) as tools:
        state = agent_on(place, tools).invoke({"messages": [("user", "Raise the timeout.")]})
    assert_shown(state, place, expected)


@pytest.mark.parametrize("kept_apart", [False, True])
def test_memory_skills_and_history_of_an_agent_are_files_of_the_workspace(root: Path, kept_apart: bool) -> None:
    from deepagents.backends import CompositeBackend, StateBackend

    from tests.seamfs.integrations.chat_model import ScriptedChatModel, deep_agent, tool_messages

    (root / "AGENTS.md").write_text("Always say please.\n")
    (root / "skills/greet").mkdir(parents=True)
    (root / "skills/greet/SKILL.md").write_text("---\nname: greet\ndescription: says hello\n---\n")
    calls = [("edit_file", {"file_path": "/AGENTS.md", "old_string": "please", "new_string": "thanks"})]
    model = ScriptedChatModel(next_call=lambda: calls.pop() if calls else None)
    with open_agent_tools(str(root), settings=Settings()) as tools:
        ours = backend_of(tools)
        backend = (
            CompositeBackend(default=ours, routes={"/conversation_history/": StateBackend()}) if kept_apart else ours
        )
        agent = deep_agent(model, backend, memory=["/AGENTS.md"], skills=["/skills"])
        state = agent.invoke({"messages": [("user", "long " * 50_000)]})
    assert "Always say please." in model.instructions
    assert "says hello" in model.instructions
    assert [message.status for message in tool_messages(state)] == ["success"]
    assert (root / "AGENTS.md").read_text() == "Always say thanks.\n"
    assert [file.read_text() for file in root.glob("conversation_history/*.md")] == (
        [] if kept_apart else ["long " * 50_000]
    )


TREE = {
    "top.py": b"needle = 1\n",
    "notes.txt": b"one\n\nneedle (a.b) [c]* \\d\nlast, without an ending",
    "windows.txt": b"one\r\ntwo\r\n\r\nfour\r\n",
    "src/main.py": b"import needle\n\n\n",
    "src/deep/er/x.yml": b"k: needle\n",
    "src/deep/.hidden.py": b"h\n",
    ".github/workflows/ci.yml": b"on: push\n",
    ".env": b"KEY=1\n",
    "a-b/z.txt": b"z\n",
    "a.txt": b"a\n",
    "\u00e9/\u00fc b.py": "\u00e4 needle\n".encode(),
}


@pytest.fixture(scope="module")
def tree(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A directory that tests only read."""
    root = tmp_path_factory.mktemp("tree")
    for path, data in TREE.items():
        (root / path).parent.mkdir(parents=True, exist_ok=True)
        (root / path).write_bytes(data)
    return root


@pytest.fixture(scope="module")
def on_tree(tree: Path) -> "Generator[WorkspaceBackend]":
    """Our backend on it."""
    with open_agent_tools(str(tree), settings=Settings()) as tools:
        yield backend_of(tools)


def own_backend(tree: Path) -> Any:
    """What deepagents has for directories."""
    from deepagents.backends import FilesystemBackend

    return FilesystemBackend(root_dir=tree, virtual_mode=True)


@pytest.mark.parametrize("path", ["notes.txt", "windows.txt", "src/main.py", "\u00e9/\u00fc b.py"])
def test_pages_are_those_of_deepagents_own_backend(tree: Path, on_tree: "WorkspaceBackend", path: str) -> None:
    from dataclasses import asdict

    own = own_backend(tree)
    for offset in range(-1, 5):
        for limit in (-1, 0, 1, 2, 100):
            ours, theirs = asdict(on_tree.read(f"/{path}", offset, limit)), asdict(own.read(f"/{path}", offset, limit))
            if theirs["error"] is None:
                assert ours == theirs
            else:
                lines = theirs["error"].split("(")[1].split()[0]
                count = "1 line" if lines == "1" else f"{lines} lines"
                assert ours["error"] == f"FS_OUT_OF_RANGE: {path}: has {count}; line {offset + 1} is past the end."


@pytest.mark.parametrize("path", ["/", "/src", "/src/deep", "/.github", "/a-b", "/nowhere", "/top.py"])
def test_listings_are_those_of_deepagents_own_backend(tree: Path, on_tree: "WorkspaceBackend", path: str) -> None:
    ours, theirs = on_tree.ls(path), own_backend(tree).ls(path)
    assert ours.error == theirs.error
    assert sorted((entry["path"], entry.get("is_dir"), entry.get("size", 0)) for entry in ours.entries or ()) == [
        (entry["path"], entry["is_dir"], entry["size"]) for entry in theirs.entries or ()
    ]


@pytest.mark.parametrize(
    "pattern",
    [
        *(
            "*.py",
            "**/*.py",
            "/*.py",
            "src/**/*.py",
            "*",
            "**",
            "*.yml",
            "**/*.yml",
            ".env",
            ".*",
            "*.{py,yml}",
            "?.txt",
        ),
        *("[!a]*.txt", "{a..c}.txt", "/{a,top}.{txt,py}", "[[:alpha:]].txt", "deep/**", "nothing", "/.github/**/*.yml"),
    ],
)
def test_globs_mean_what_they_mean_to_deepagents(tree: Path, on_tree: "WorkspaceBackend", pattern: str) -> None:
    for path in (None, "/", "/src", "/src/deep"):
        ours, theirs = on_tree.glob(pattern, path), own_backend(tree).glob(pattern, path)
        assert sorted(match["path"] for match in ours.matches or ()) == [match["path"] for match in theirs.matches]
        assert (ours.error, ours.truncated, ours.truncation_reason) == (None, False, None)


@pytest.mark.parametrize(
    ("text", "include"),
    [
        *(("needle", None), ("needle", "*.py"), ("needle", "src/**/*.yml"), ("needle", "/*.py"), ("NEEDLE", None)),
        *(("(a.b) [c]* \\d", None), (".", "*.txt"), ("\u00e4 needle", None), ("one\ntwo", None), ("^|$", None)),
    ],
)
def test_searches_find_text_as_deepagents_own_backend_does(
    tree: Path, on_tree: "WorkspaceBackend", text: str, include: str | None
) -> None:
    ours, theirs = on_tree.grep(text, glob=include), own_backend(tree).grep(text, glob=include)
    assert sorted((match["path"], match["line"], match["text"]) for match in ours.matches or ()) == sorted(
        (match["path"], match["line"], match["text"]) for match in theirs.matches
    )
    assert (ours.error, ours.truncated) == (None, False)


def test_a_search_ends_at_the_count_that_was_asked_for(on_tree: "WorkspaceBackend") -> None:
    assert [on_tree.grep("needle", max_count=count).truncated for count in (4, 5, None)] == [True, False, False]
    assert len(on_tree.grep("needle", max_count=2).matches or ()) == 2
    assert [match["path"] for match in on_tree.grep("needle", "/src/main.py", "*.py").matches or ()] == ["/src/main.py"]


@pytest.mark.parametrize("pattern", ["../*.py", "{1..100000}.txt", "[a"])
def test_a_pattern_that_cannot_be_used_is_an_error(on_tree: "WorkspaceBackend", pattern: str) -> None:
    assert on_tree.glob(pattern).error
    assert on_tree.grep("x", glob=pattern).error


def test_what_cannot_be_looked_at_is_said(tree: Path) -> None:
    limits = {"max_directory_entries": 2}
    with open_agent_tools(str(tree), settings=Settings.model_validate({"search": limits})) as tools:
        found, searched = backend_of(tools).glob("*"), backend_of(tools).grep("KEY", glob=".env")
    assert (found.truncated, found.truncation_reason, found.error) == (True, "unreadable", None)
    assert [match["path"] for match in searched.matches or ()] == ["/.env"]
    assert (searched.truncated, searched.error) == (
        False,
        "Error: not everything could be searched: directories with too many names",
    )


def test_long_lines_and_pages_are_shown_whole(root: Path, backend: "WorkspaceBackend") -> None:
    lines = ["x" * 100_000, *(f"line {number}" for number in range(5_000))]
    (root / "a.txt").write_text("\n".join(lines))
    read = backend.read("/a.txt", 0, 4_000)
    assert read.file_data is not None
    assert read.file_data["content"] == "".join(f"{line}\n" for line in lines[:4_000])
    assert (read.start_line, read.end_line, read.next_offset, read.total_lines) == (1, 4_000, 4_000, 5_001)
    last = backend.read("/a.txt", 4_000, 4_000)
    assert last.file_data is not None
    assert (last.file_data["content"], last.next_offset) == ("\n".join(lines[4_000:]), None)


def test_a_page_beyond_our_bound_says_where_to_go_on(root: Path, backend: "WorkspaceBackend") -> None:
    (root / "a.txt").write_text("x\n" * 30_000)
    read = backend.read("/a.txt", 0, 30_000)
    assert (read.end_line, read.next_offset, read.total_lines) == (20_000, 20_000, 30_000)


def test_pictures_come_as_base64_and_can_be_replaced_and_not_edited(root: Path, backend: "WorkspaceBackend") -> None:
    (root / "a.PNG").write_bytes(PICTURE)
    (root / "b.png").write_text("text\n")
    for name, data in (("a.PNG", PICTURE), ("b.png", b"text\n")):
        read = backend.read(f"/{name}", 3, 5)
        assert read.file_data == {"content": standard_b64encode(data).decode(), "encoding": "base64"}
    assert "FS_NOT_OBSERVED" in (backend.edit("/a.PNG", "P", "J").error or "")
    assert backend.write("/a.PNG", "new").error is None


def test_binary_files_of_another_name_are_refused(root: Path, backend: "WorkspaceBackend") -> None:
    (root / "a.bin").write_bytes(PICTURE)
    assert (backend.read("/a.bin").error or "").startswith("FS_NOT_TEXT: a.bin: is not UTF-8 text: byte 0 of 10")


def test_names_of_media_are_those_that_deepagents_knows() -> None:
    from deepagents.backends import utils

    from seamfs.integrations._deepagents_files import MEDIA_SUFFIXES

    known: Any = utils
    assert {*known._EXTENSION_TO_FILE_TYPE, *known._VIDEO_EXTRA_EXTENSIONS} == MEDIA_SUFFIXES


def test_uploads_and_downloads_carry_bytes_as_they_are(root: Path, backend: "WorkspaceBackend") -> None:
    files = [("/d/a.png", PICTURE), ("/d/b.txt", b"\xef\xbb\xbfone\r\n"), ("/d/empty", b"")]
    assert [(answer.path, answer.error) for answer in backend.upload_files(files)] == [
        (path, None) for path, _ in files
    ]
    assert (root / "d/b.txt").read_bytes() == b"\xef\xbb\xbfone\r\n"
    assert [(answer.path, answer.content) for answer in backend.download_files([path for path, _ in files])] == files


def test_errors_of_transfers_are_those_that_deepagents_knows(root: Path, backend: "WorkspaceBackend") -> None:
    (root / "d").mkdir()
    (root / "file").write_text("x")
    (root / "out").symlink_to("/etc/passwd")
    os.mkfifo(root / "fifo")
    paths = ["/missing", "/d", "/out", "/file/x", "/", "/a\0b", "/fifo"]
    errors = ["file_not_found", "is_directory", "permission_denied", "file_not_found", "is_directory", "invalid_path"]
    fifo = "FS_NOT_REGULAR_FILE: fifo: is a FIFO, socket or device, not a file"
    assert [answer.error for answer in backend.download_files(paths)] == [*errors, fifo]
    assert all(answer.content is None for answer in backend.download_files(paths))
    uploads = backend.upload_files([(path, b"x") for path in ("/d", "/out", "/a\0b")])
    assert [answer.error for answer in uploads] == ["is_directory", "permission_denied", "invalid_path"]


def test_an_upload_replaces_no_file_that_was_not_read(root: Path, backend: "WorkspaceBackend") -> None:
    (root / "a.txt").write_bytes(b"theirs")
    (root / "blob").write_bytes(PICTURE)
    refused, same = backend.upload_files([("/a.txt", b"ours"), ("/blob", PICTURE)])
    assert refused.error == "FS_NOT_OBSERVED: a.txt: exists and was not read in this session; it was not changed"
    assert same.error is None
    assert "FS_NOT_OBSERVED" in (backend.write("/blob", "ours").error or "")
    assert (root / "a.txt").read_bytes() == b"theirs"


def test_what_was_downloaded_for_the_agent_counts_as_read(root: Path, backend: "WorkspaceBackend") -> None:
    (root / "history.md").write_text("first\n")
    [downloaded] = backend.download_files(["/history.md"])
    before = (downloaded.content or b"").decode()
    assert backend.edit("/history.md", before, f"{before}second\n").occurrences == 1
    (root / "history.md").write_text("theirs\n")
    assert "FS_STALE_VERSION" in (backend.edit("/history.md", "first", "x").error or "")


def test_a_workspace_that_is_only_read_refuses_every_change(root: Path) -> None:
    (root / "a.txt").write_text("one\n")
    with open_agent_tools(str(root), read_only=True) as tools:
        backend = backend_of(tools)
        assert backend.read("/a.txt").error is None
        refusal = "Error: FS_PERMISSION_DENIED: this workspace can be read and not changed"
        assert (backend.write("/b.txt", "x").error, backend.edit("/a.txt", "one", "x").error) == (refusal, refusal)
        assert [answer.error for answer in backend.upload_files([("/b.txt", b"x")])] == ["permission_denied"]
    assert not (root / "b.txt").exists()


def test_a_workspace_without_search_says_so(root: Path) -> None:
    with open_agent_tools(str(root), tools=["read", "write"]) as tools:
        backend = backend_of(tools)
        assert backend.write("/a.txt", "one\n").path == "/a.txt"
        refusal = "UNKNOWN_TOOL: there is no tool 'grep'; there are: read, write"
        assert backend.grep("one").error == f"Error: {refusal}"
        assert (backend.ls("/").error or "").startswith("UNKNOWN_TOOL: there is no tool 'list_dir'")


async def test_gates_are_asked_by_the_names_of_our_tools(root: Path) -> None:
    (root / "a.png").write_bytes(PICTURE)
    asked: list[str] = []

    async def gate(invocation: Invocation) -> Decision:
        asked.append(invocation.tool.name)
        return Deny("not today") if invocation.tool.name != "list_dir" else Allow()

    async with open_workspace(str(root), settings=Settings()) as workspace:
        workspace.tools.add_gate(gate)
        backend = backend_of(AgentTools(workspace))
        denied = [
            await backend.aread("/a.png"),
            await backend.awrite("/b.txt", "x"),
            await backend.aedit("/b", "x", "y"),
        ]
        found = [await backend.aglob("*"), await backend.agrep("x")]
        listed = await backend.als("/")
    assert [result.error for result in denied] == [
        "DENIED: read: not today",
        "Error: DENIED: write: not today",
        "Error: DENIED: edit: not today",
    ]
    assert [result.error for result in found] == ["DENIED: glob: not today", "Error: DENIED: grep: not today"]
    assert [entry["path"] for entry in listed.entries or ()] == ["/a.png"]
    assert asked == ["read", "write", "edit", "glob", "grep", "list_dir"]


async def test_transfers_can_be_awaited(root: Path) -> None:
    async with open_workspace(str(root), settings=Settings()) as workspace:
        backend = backend_of(AgentTools(workspace))
        assert [answer.error for answer in await backend.aupload_files([("/a", PICTURE)])] == [None]
        assert [answer.content for answer in await backend.adownload_files(["/a"])] == [PICTURE]
        assert await backend.aupload_files([]) == await backend.adownload_files([]) == []
