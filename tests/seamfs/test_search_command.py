"""`seamfs ls`, `glob` and `grep`: what goes where, exit statuses, and what a terminal shows."""

import io
import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from seamfs.cli import main
from seamfs.terminal import StatusLine
from tests.seamfs.processes import TIMEOUT_S, environment

pytestmark = pytest.mark.usefixtures("restored_logging")


class Terminal(io.TextIOWrapper):
    def isatty(self) -> bool:
        return True


@pytest.fixture
def tree(root: Path) -> Path:
    (root / "src").mkdir()
    (root / "src" / "main.py").write_text("import os\ntimeout = 10\n")
    (root / "src" / "main.log").write_text("timeout\n")
    (root / ".gitignore").write_text("*.log\n")
    (root / ".git").mkdir()
    (root / ".git" / "config").write_text("timeout\n")
    return root


def terminals(monkeypatch: pytest.MonkeyPatch, *, colour: bool) -> tuple[io.BytesIO, io.BytesIO]:
    """Put terminals in place of standard output and standard error."""
    out, err = io.BytesIO(), io.BytesIO()
    monkeypatch.setattr(sys, "stdout", Terminal(out, encoding="utf-8"))
    monkeypatch.setattr(sys, "stderr", Terminal(err, encoding="utf-8"))
    if colour:
        monkeypatch.delenv("NO_COLOR", raising=False)
    else:
        monkeypatch.setenv("NO_COLOR", "1")
    return out, err


def test_ls_prints_entries_and_tells_about_them_beside(tree: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["ls", str(tree)]) == 0
    shown = capsys.readouterr()
    assert shown.out == ".gitignore\t6\nsrc/\n"
    assert shown.err == "(2 entries. Skipped: 1 ignored.)\n"
    assert main(["ls", str(tree), "--depth", "2", "--no-ignore"]) == 0
    assert capsys.readouterr().out == (".git/\n.git/config\t8\n.gitignore\t6\nsrc/\nsrc/main.log\t8\nsrc/main.py\t23\n")


def test_an_empty_directory_is_no_failure(root: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["ls", str(root)]) == 0
    assert capsys.readouterr() == ("", "(. is empty.)\n")


def test_glob_prints_paths_alone(tree: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["glob", str(tree), "main.*"]) == 0
    assert capsys.readouterr().out == "src/main.py\n"
    assert main(["glob", str(tree), "main.*", "src", "--no-ignore"]) == 0
    assert capsys.readouterr().out == "src/main.log\nsrc/main.py\n"


def test_grep_prints_lines_by_file(tree: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["grep", str(tree), "TIME", "-i", "-C", "1", "--include", "*.py"]) == 0
    shown = capsys.readouterr()
    assert shown.out == "src/main.py\n1- import os\n2: timeout = 10\n"
    assert shown.err.startswith("(1 matching line in 1 file; ")


@pytest.mark.parametrize("name", ["glob", "grep"])
def test_nothing_found_is_status_three(tree: Path, name: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main([name, str(tree), "nowhere"]) == 3
    shown = capsys.readouterr()
    assert shown.out == ""
    assert "matches" in shown.err


@pytest.mark.parametrize(
    ("arguments", "status", "line"),
    [
        (["ls", "missing"], 1, "FS_NOT_FOUND: missing: "),
        (["ls", ".."], 1, "FS_SANDBOX_DENIED: .."),
        (["ls", "--depth", "0"], 2, "INVALID_ARGS: "),
        (["glob", "a[b"], 2, "INVALID_ARGS: "),
        (["grep", "a(b"], 2, "INVALID_ARGS: "),
        (["grep", "x", "missing"], 1, "FS_NOT_FOUND: missing: "),
    ],
)
def test_a_refusal_is_a_line_with_the_code_first(
    tree: Path, arguments: list[str], status: int, line: str, capsys: pytest.CaptureFixture[str]
) -> None:
    name, *others = arguments
    assert main([name, str(tree), *others]) == status
    shown = capsys.readouterr()
    assert shown.out == ""
    assert shown.err.startswith(line)
    assert shown.err.count("\n") == 1


def test_a_root_that_is_missing_is_status_one(root: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["grep", str(root / "nowhere"), "x", "--json"]) == 1
    shown = capsys.readouterr()
    assert json.loads(shown.out)["code"] == "FS_NOT_FOUND"
    assert shown.err.startswith("FS_NOT_FOUND: ")


def test_json_is_the_structured_value_and_nothing_beside(tree: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["grep", str(tree), "timeout", "--json"]) == 0
    shown = capsys.readouterr()
    value = json.loads(shown.out)
    assert value["files"] == [{"path": "src/main.py", "lines": [{"number": 2, "text": "timeout = 10", "match": True}]}]
    assert shown.err == ""
    assert main(["glob", str(tree), "nowhere", "--json"]) == 3
    assert json.loads(capsys.readouterr().out)["paths"] == []


def test_the_bounds_of_the_settings_hold(
    tree: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("SEAMFS_SEARCH__MAX_ENTRIES", "1")
    monkeypatch.setenv("SEAMFS_SEARCH__GITIGNORE", "false")
    assert main(["ls", str(tree)]) == 0
    shown = capsys.readouterr()
    assert shown.out == ".git/\n"
    assert shown.err.startswith("(1 of 3 entries, the first in order, as many as a result holds.")


def test_a_terminal_shows_colours_and_no_control_characters(tree: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tree / "src" / "main.py").write_bytes(b"before\ntimeout \x1b[31m\x07\n")
    out, err = terminals(monkeypatch, colour=True)
    assert main(["grep", str(tree), "timeout", "-C", "1"]) == 0
    assert out.getvalue().decode() == (
        "\x1b[36msrc/main.py\x1b[0m\n\x1b[2m1\x1b[0m- before\n\x1b[32m2\x1b[0m: timeout \\x1b[31m\\x07\n"
    )
    assert err.getvalue().decode().startswith("\x1b[2m(Note: src/main.py line 2 holds ")


def test_a_pipe_gets_the_raw_bytes_of_a_line(tree: Path, capsysbinary: pytest.CaptureFixture[bytes]) -> None:
    (tree / "src" / "main.py").write_bytes(b"timeout \x1b[31m caf\xc3\xa9\n")
    assert main(["grep", str(tree), "timeout"]) == 0
    shown = capsysbinary.readouterr()
    assert shown.out == b"src/main.py\n1: timeout \x1b[31m caf\xc3\xa9\n"
    assert b"\r" not in shown.err


def test_a_name_that_is_no_text_is_shown_with_a_mark(tree: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tree / "src" / "we\nird").write_bytes(b"")
    os.close(os.open(os.fsencode(tree / "src") + b"/bad\xff", os.O_CREAT | os.O_WRONLY))
    assert main(["ls", str(tree), "src"]) == 0
    assert capsys.readouterr().out == "src/bad\\xff\tno path can name it\nsrc/main.py\t23\n'src/we\\nird'\t0\n"


def test_a_long_scan_says_on_a_terminal_how_far_it_is(tree: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(StatusLine, "FIRST_AFTER_S", 0.0)
    out, err = terminals(monkeypatch, colour=False)
    for number in range(300):
        (tree / f"{number}.txt").write_text("timeout\n")
    assert main(["grep", str(tree), "nowhere"]) == 3
    shown = err.getvalue().decode()
    assert "files in" in shown
    assert shown.rpartition("\r\x1b[K")[2].startswith("(No line matches; ")
    assert out.getvalue() == b""


def test_an_interrupted_search_is_status_130_and_quiet(tree: Path) -> None:
    program = (
        "import sys, anyio, seamfs.cli\n"
        "from fs_core.session import FileSession\n"
        "async def wait(*_, **__):\n"
        "    print('searching', flush=True)\n"
        "    await anyio.sleep_forever()\n"
        "FileSession.grep = wait\n"
        "sys.exit(seamfs.cli.main(sys.argv[1:]))"
    )
    with subprocess.Popen(
        [sys.executable, "-c", program, "grep", str(tree), "x"],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env=environment(),
    ) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "searching\n"
        process.send_signal(signal.SIGINT)
        out, err = process.communicate(timeout=TIMEOUT_S)
    assert (process.returncode, out, err) == (130, "", "")


@pytest.mark.parametrize("arguments", [["glob", "."], ["grep", "."], ["ls"], ["ls", ".", "--depth", "two"]])
def test_a_wrong_command_line_is_status_two(arguments: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as caught:
        main(arguments)
    assert caught.value.code == 2
    assert "usage: seamfs" in capsys.readouterr().err


def test_help_tells_the_status_of_nothing_found(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        main(["grep", "--help"])
    assert "3 nothing matches (not 1 as of grep, since that is a refusal)" in " ".join(capsys.readouterr().out.split())
