"""`seamfs tools`: the catalog for a person and for a script."""

import io
import json
import shlex
import sys
from pathlib import Path

import pytest

from seamfs import extras
from seamfs.cli import main
from tests.seamfs.mounted import HARMLESS, OWN, TOOLBOX, toolbox_over_http

pytestmark = pytest.mark.usefixtures("restored_logging")

BOX = ["--mount", f"box={shlex.join(TOOLBOX)}"]
UNSAFE = ["\x1b", "\x07", "\r", "\u202e", "\u202c"]


class Terminal(io.TextIOWrapper):
    def isatty(self) -> bool:
        return True


def terminal_of(monkeypatch: pytest.MonkeyPatch, *, columns: int) -> io.BytesIO:
    """Put a terminal without colour in place of standard output."""
    buffer = io.BytesIO()
    monkeypatch.setattr(sys, "stdout", Terminal(buffer, encoding="utf-8"))
    monkeypatch.setenv("NO_COLOR", "1")
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setenv("COLUMNS", str(columns))
    return buffer


def nothing_is_installed(_name: str) -> None:
    return None


def test_without_servers_the_file_tools_are_listed(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["tools"]) == 0
    shown = capsys.readouterr()
    heading, *rows, count = shown.out.splitlines()
    assert heading.split() == ["name", "from", "declared", "description"]
    assert [row.split()[:4] for row in rows] == [[name, "built", "in", "eager"] for name in OWN]
    assert count == "6 tools"
    assert shown.err == ""


def test_read_only_lists_what_is_offered_then(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["tools", "--read-only", "--json"]) == 0
    assert [tool["name"] for tool in json.loads(capsys.readouterr().out)["tools"]] == HARMLESS


def test_all_tools_are_listed_by_name_with_where_they_come_from(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    config = tmp_path / "conf.toml"
    config.write_text(
        f"[progressive]\neager_tools = ['mcp__box__add']\n[mounts.box]\ncommand = {json.dumps(TOOLBOX)}\n"
    )
    with toolbox_over_http() as url:
        assert main(["tools", "--config", str(config), "--mount-url", f"far={url}"]) == 0
    shown = capsys.readouterr()
    rows = [row.split("  ") for row in shown.out.splitlines()]
    cells = {row[0].strip(): [cell.strip() for cell in row[1:] if cell.strip()] for row in rows}
    assert cells["mcp__box__add"] == ["box", "eager", "Add two numbers."]
    assert cells["mcp__far__add"] == ["far", "deferred", "Add two numbers."]
    assert cells["read"][:2] == ["built in", "eager"]
    names = [row[0] for row in rows[1:-1]]
    assert names == sorted(names)
    assert "search_tools" not in names
    assert shown.out.splitlines()[-1] == f"{len(names)} tools"
    assert shown.err == ""


def test_a_query_shows_the_ranking_that_a_model_gets(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SEAMFS_PROGRESSIVE__MAX_SEARCH_RESULTS", "2")
    assert main(["tools", *BOX, "--query", "add a tool"]) == 0
    _heading, first, _second, count = capsys.readouterr().out.splitlines()
    assert first.split()[0] in {"mcp__box__grow", "mcp__box__add"}
    assert count.startswith("2 of ")
    assert main(["tools", *BOX, "--query", "zzz"]) == 0
    told = capsys.readouterr().out
    assert "no tool matches the query; these are all that are not declared" in told
    assert "\nread " not in told


def test_json_is_one_object_with_tools_and_servers(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["tools", *BOX, "--query", "louder", "--json"]) == 0
    value = json.loads(capsys.readouterr().out)
    assert value["query"] == "louder"
    assert value["tools"] == [
        {"name": "mcp__box__shout", "server": "box", "eager": False, "description": "Say it louder."}
    ]
    assert (value["total"], value["note"]) == (1, None)
    (mount,) = value["mounts"]
    assert (mount["name"], mount["state"], mount["reason"]) == ("box", "connected", "")


def test_a_server_that_fails_is_a_line_and_a_status_and_the_others_are_listed(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert main(["tools", *BOX, "--mount", "gone=no-such-program", "--mount-url", "far=http://127.0.0.1:9/mcp"]) == 1
    shown = capsys.readouterr()
    assert "mcp__box__add" in shown.out
    gone, far = shown.err.splitlines()
    assert gone == "seamfs: mount gone: there is no command 'no-such-program'"
    assert far.startswith("seamfs: mount far: the server cannot be reached")


def test_a_server_that_says_nothing_is_waited_for_no_longer_than_it_may_take(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SEAMFS_GATEWAY__CONNECT_TIMEOUT_S", "0.3")
    silent = f"silent={sys.executable} -c 'import time; time.sleep(600)'"
    assert main(["tools", "--mount", silent, "--json"]) == 1
    shown = capsys.readouterr()
    assert len(json.loads(shown.out)["tools"]) == 6
    (line,) = shown.err.splitlines()
    assert line.startswith("seamfs: mount silent: ")
    assert "0.3 s" in line


def test_nothing_that_a_server_says_of_itself_controls_the_terminal(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    terminal = terminal_of(monkeypatch, columns=80)
    assert main(["tools", *BOX]) == 0
    shown = terminal.getvalue().decode()
    lines = shown.splitlines()
    assert not [mark for mark in UNSAFE if mark in shown]
    (row,) = [line for line in lines if line.startswith("mcp__box__hostile")]
    # What looks like markup is text, and everything fits.
    assert "[bold]tag[/bold]" in row
    assert row.endswith("\u2026")
    assert max(map(len, lines)) <= 80
    assert capsys.readouterr().err == ""


def test_a_pipe_gets_a_description_as_long_as_a_search_result_has_it(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["tools", *BOX]) == 0
    (row,) = [line for line in capsys.readouterr().out.splitlines() if line.startswith("mcp__box__hostile")]
    description = row.split("deferred  ")[1]
    assert len(description) in range(230, 242)
    assert not [mark for mark in UNSAFE if mark in row]


def test_a_name_that_is_too_long_for_the_terminal_goes_on_below(monkeypatch: pytest.MonkeyPatch) -> None:
    terminal = terminal_of(monkeypatch, columns=60)
    server = "a-server-with-a-long-name"
    assert main(["tools", "--mount", f"{server}={shlex.join(TOOLBOX)}"]) == 0
    lines = terminal.getvalue().decode().splitlines()
    start = next(index for index, line in enumerate(lines) if line.endswith("Add two numbers."))
    name = "".join(line.split()[0] for line in lines[start : start + 4] if line.split())
    assert name.startswith(f"mcp__{server}__add")


def test_a_file_that_was_found_starts_no_programs_unless_it_is_named(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    note, file = tmp_path / "started", Path("seamfs.toml")
    program = [sys.executable, "-c", f"open({str(note)!r}, 'w')"]
    file.write_text(f"[mounts.a]\ncommand = {json.dumps(program)}\n")
    for flags in ([], BOX, ["--query", "x", "--json"]):
        assert main(["tools", *flags]) == 2
        shown = capsys.readouterr()
        assert shown.out == ""
        assert shown.err == (
            f"seamfs: {file.resolve()}: mounts: a mount starts a program, and whoever changes files here may have "
            "written this one; name it with --config if you trust what is there\n"
        )
    assert not note.exists()
    assert main(["tools", "--config", "seamfs.toml"]) == 1
    assert note.exists()


def test_a_file_that_was_found_and_mounts_nothing_is_read_and_mounts_of_the_environment_are_started(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    Path("seamfs.toml").write_text("[progressive]\nmax_search_results = 1\n")
    monkeypatch.setenv("SEAMFS_MOUNTS", json.dumps({"box": {"command": TOOLBOX}}))
    assert main(["tools", "--query", "add a tool", "--json"]) == 0
    (tool,) = json.loads(capsys.readouterr().out)["tools"]
    assert tool["server"] == "box"


@pytest.mark.parametrize("columns", [33, 40, 50, 62])
def test_headings_stay_whole_on_a_narrow_terminal(monkeypatch: pytest.MonkeyPatch, columns: int) -> None:
    terminal = terminal_of(monkeypatch, columns=columns)
    assert main(["tools", "--mount", f"a-server-with-a-long-name={shlex.join(TOOLBOX)}"]) == 0
    heading, *rows = terminal.getvalue().decode().splitlines()
    assert heading.split() == ["name", "from", "declared", "description"]
    assert max(map(len, [heading, *rows])) <= columns


def test_one_tool_is_counted_as_one(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setenv("SEAMFS_TOOLS", "read")
    assert main(["tools"]) == 0
    assert capsys.readouterr().out.splitlines()[-1] == "1 tool"


def test_tools_that_are_left_out_are_named_with_the_reason(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("SEAMFS_GATEWAY__SCHEMA_BYTES_MAX", "120")
    assert main(["tools", *BOX]) == 0
    shown = capsys.readouterr()
    assert "mcp__box__pid" in shown.out
    assert "mcp__box__add" not in shown.out
    lines = shown.err.splitlines()
    assert all(line.startswith("seamfs: mount box: left out: ") for line in lines)
    (about_add,) = [line for line in lines if "'add'" in line]
    assert about_add.startswith("seamfs: mount box: left out: 'add': its schema has ")
    assert about_add.endswith(" bytes, more than 120")


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        (["--mount-url", "a=h"], "seamfs: mount a: the URL must be http:// or https:// with a host"),
        (["--query", "word " * 200], "seamfs: --query: at most 500 characters; use a few words"),
        (["--config", "missing.toml"], "seamfs: missing.toml: No such file or directory"),
    ],
)
def test_wrong_usage_is_status_two_and_one_line(
    arguments: list[str], expected: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["tools", *arguments]) == 2
    shown = capsys.readouterr()
    assert shown.out == ""
    assert shown.err == f"{expected}\n"


def test_without_the_extra_it_is_one_line_with_the_command_that_installs_it(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(extras, "find_spec", nothing_is_installed)
    assert main(["tools"]) == 1
    assert capsys.readouterr().err == (
        "seamfs: seamfs tools needs mcp, rich, not installed here: pip install 'seamfs[mcp]'\n"
    )
