"""Which tools for files are offered: by a workspace, by a server, by settings."""

import json
import subprocess
from pathlib import Path

import pytest
from mcp import Client

from fs_core.testing.memory import MemoryBackend
from seamfs.cli import main
from seamfs.config import BadSettingError, Settings, load_settings
from seamfs.file_tools import change_files, file_tool_names, make_file_tools
from seamfs.mcp_server import build_server, instructions
from seamfs.workspace import Workspace, open_workspace
from tests.seamfs.mounted import HARMLESS, OWN
from tests.seamfs.processes import TIMEOUT_S, command, environment

pytestmark = [pytest.mark.anyio, pytest.mark.usefixtures("restored_logging")]


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


def names_of(workspace: Workspace) -> list[str]:
    return [tool.name for tool in workspace.tools.schemas()]


@pytest.mark.parametrize(
    ("chosen", "read_only", "offered"),
    [
        (None, False, OWN),
        (None, True, HARMLESS),
        (["read", "write", "edit"], False, ["edit", "read", "write"]),
        (["read", "write", "grep", "read"], True, ["grep", "read"]),
    ],
)
async def test_a_workspace_offers_what_is_chosen_as_far_as_it_may(
    root: Path, chosen: list[str] | None, read_only: bool, offered: list[str]
) -> None:
    async with open_workspace(str(root), tools=chosen, read_only=read_only) as workspace:
        assert names_of(workspace) == offered
        assert workspace.read_only is not ("write" in offered)
        assert workspace.remembers is not workspace.read_only


async def test_the_settings_choose_where_the_opener_does_not(root: Path) -> None:
    settings = Settings(tools=("read", "glob"))
    async with open_workspace(str(root), settings=settings) as workspace:
        assert names_of(workspace) == ["glob", "read"]
        assert workspace.read_only
    async with open_workspace(str(root), settings=settings, tools=["edit"]) as workspace:
        assert names_of(workspace) == ["edit"]


@pytest.mark.parametrize(
    ("chosen", "read_only", "message"),
    [
        (["read", "find"], False, "tools: there is no tool 'find'; there are: read, write, edit, list_dir, glob, grep"),
        ([], False, "tools: none is chosen; there are: read, write, edit, list_dir, glob, grep"),
        (["write"], True, "tools: none that changes nothing is chosen; there are: "),
    ],
)
async def test_a_choice_that_leaves_nothing_is_refused_before_the_store_is_opened(
    chosen: list[str], read_only: bool, message: str
) -> None:
    with pytest.raises(BadSettingError) as caught:
        async with open_workspace("missing", tools=chosen, read_only=read_only):
            pytest.fail("it was opened")
    assert str(caught.value).startswith(message)


async def test_what_is_made_has_the_bounds_of_the_settings() -> None:
    settings = Settings.model_validate({"policy": "none", "search": {"max_matches": 7}, "read": {"max_lines": 8}})
    tools = {tool.name: tool for tool in make_file_tools(file_tool_names(None, read_only=False), settings)}
    assert "At most 7 matching lines" in tools["grep"].description
    assert "at most 8 lines" in tools["read"].description
    assert "must have been read" not in tools["edit"].description
    assert change_files(frozenset(tools))


@pytest.mark.parametrize("given", ['["read", "list_dir"]', "read, list_dir"])
def test_a_choice_may_stand_in_the_environment_and_in_a_file(
    given: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    config = tmp_path / "conf.toml"
    config.write_text('tools = ["read", "grep"]\n[search]\ntimeout_s = 5\n')
    settings = load_settings(config_file=config)
    assert (settings.tools, settings.search.timeout_s) == (("read", "grep"), 5.0)
    monkeypatch.setenv("SEAMFS_TOOLS", given)
    monkeypatch.setenv("SEAMFS_SEARCH__GITIGNORE", "false")
    settings = load_settings(config_file=config)
    assert (settings.tools, settings.search.gitignore) == (("read", "list_dir"), False)


@pytest.mark.parametrize(
    ("name", "value", "message"),
    [
        ("SEAMFS_TOOLS", '["find"]', "SEAMFS_TOOLS: Input should be 'read', 'write', 'edit', 'list_dir', "),
        ("SEAMFS_TOOLS", "[]", "SEAMFS_TOOLS: Tuple should have at least 1 item"),
        ("SEAMFS_TOOLS", "read,,edit", "SEAMFS_TOOLS: Input should be 'read', 'write', 'edit', 'list_dir', "),
        ("SEAMFS_SEARCH__MAX_ENTRIES", "0", "SEAMFS_SEARCH__MAX_ENTRIES: Input should be greater than 0"),
        ("SEAMFS_SEARCH__TIMEOUT_S", "0", "SEAMFS_SEARCH__TIMEOUT_S: Input should be greater than 0"),
        ("SEAMFS_SEARCH__MAX_LINES", "1", "SEAMFS_SEARCH__MAX_LINES: unknown setting; known here: max_entries, "),
    ],
)
def test_a_bad_setting_is_told_where_it_was_set(
    monkeypatch: pytest.MonkeyPatch, name: str, value: str, message: str
) -> None:
    monkeypatch.setenv(name, value)
    with pytest.raises(BadSettingError) as caught:
        load_settings()
    assert str(caught.value).startswith(message)


@pytest.mark.parametrize(
    ("arguments", "line"),
    [
        (["--tools", "read,find"], "seamfs: --tools: Input should be 'read', "),
        (["--tools", ""], "seamfs: --tools: Input should be 'read', "),
        (["--tools", "write", "--read-only"], "seamfs: tools: none that changes nothing is chosen"),
        (["--tools", "read,grep", "--state", "s.db"], "seamfs: --state: with --read-only or --policy none, or "),
    ],
)
def test_a_server_refuses_a_choice_that_makes_no_sense(
    root: Path, arguments: list[str], line: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["serve", str(root), *arguments]) == 2
    assert capsys.readouterr().err.startswith(line)


def test_a_server_offers_what_the_command_line_chooses(root: Path) -> None:
    requests = [
        {
            "jsonrpc": "2.0",
            "id": 1,
            "method": "initialize",
            "params": {
                "protocolVersion": "2025-06-18",
                "capabilities": {},
                "clientInfo": {"name": "test", "version": "1"},
            },
        },
        {"jsonrpc": "2.0", "method": "notifications/initialized"},
        {"jsonrpc": "2.0", "id": 2, "method": "tools/list"},
    ]
    with subprocess.Popen(
        command("serve", str(root), "--tools", "read, grep,write", "--read-only"),
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        env=environment(),
    ) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        process.stdin.write("".join(f"{json.dumps(request)}\n" for request in requests))
        process.stdin.flush()
        # The end of the input would cancel what is not answered yet.
        answers = {answer["id"]: answer for answer in (json.loads(process.stdout.readline()) for _ in range(2))}
        process.communicate(timeout=TIMEOUT_S)
    assert process.returncode == 0
    assert [tool["name"] for tool in answers[2]["result"]["tools"]] == ["grep", "read"]
    assert "To find files and lines: grep." in answers[1]["result"]["instructions"]


@pytest.mark.parametrize(
    ("chosen", "told", "not_told"),
    [
        (None, ["To find files and lines: list_dir, glob, grep.", "Lines that grep shows do not count as read."], []),
        (["read", "write", "edit"], [], ["find", "grep", "list_dir"]),
        (["read", "edit", "glob"], ["To find files and lines: glob."], ["grep"]),
        (["read", "grep"], ["To find files and lines: grep.", "not changed"], ["count as read"]),
    ],
)
def test_instructions_name_the_tools_to_search_with_that_there_are(
    chosen: list[str] | None, told: list[str], not_told: list[str]
) -> None:
    text = instructions(Workspace(MemoryBackend(), settings=Settings(), tools=chosen))
    assert [part for part in told if part not in text] == []
    assert [part for part in not_told if part in text] == []


async def test_the_tools_to_search_with_are_listed_with_hints_schemas_and_a_wish_to_be_loaded() -> None:
    workspace = Workspace(MemoryBackend(), settings=Settings())
    async with Client(build_server(workspace, structured=True), mode="legacy") as client:
        tools = {tool.name: tool for tool in (await client.list_tools()).tools}
    for name in ("list_dir", "glob", "grep"):
        hints = tools[name].annotations
        assert hints is not None
        assert (hints.read_only_hint, hints.destructive_hint, hints.idempotent_hint) == (True, False, True)
        assert hints.open_world_hint is False
        assert tools[name].meta == {"anthropic/alwaysLoad": True}
        output = tools[name].output_schema
        assert output is not None
        assert "skipped" in output["properties"]


def test_the_catalog_for_people_shows_what_the_settings_choose(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("SEAMFS_TOOLS", '["read", "write", "glob"]')
    assert main(["tools", "--read-only", "--json"]) == 0
    tools = json.loads(capsys.readouterr().out)["tools"]
    assert [(tool["name"], tool["eager"]) for tool in tools] == [("glob", True), ("read", True)]
