"""`seamfs read` by the short way: exactly what the tool shows, and nothing where the tool has to be asked."""

import json
import os
from pathlib import Path

import pytest

from seamfs import one_shot, plain_read
from seamfs.cli import main

pytestmark = pytest.mark.usefixtures("restored_logging")


@pytest.fixture
def by_the_tool(tmp_path: Path) -> list[str]:
    """Flags with which a command goes the long way, though nothing is set."""
    empty = tmp_path / "empty.toml"
    empty.touch()
    return ["--config", str(empty)]


@pytest.fixture
def tree(root: Path) -> Path:
    (root / "sub").mkdir()
    (root / "a.txt").write_bytes("".join(f"{number} caf\u00e9 \u65e5\n" for number in range(3_000)).encode())
    (root / "crlf.txt").write_bytes(b"one\r\ntwo\x1b[1m\r\nthree")
    (root / "long.txt").write_bytes(b"x" * 60_000)
    (root / "empty.txt").touch()
    (root / "link.txt").symlink_to("a.txt")
    (root / "bin").write_bytes(b"\x7fELF\0\0")
    return root


@pytest.mark.parametrize(
    "asked",
    [
        ["a.txt"],
        ["a.txt", "--json"],
        ["crlf.txt", "--json"],
        ["./sub/../link.txt", "--offset", "2999"],
        ["a.txt", "--limit", "5000"],
        ["a.txt", "--offset", "7", "--limit", "1"],
        ["crlf.txt"],
        ["long.txt"],
        ["empty.txt"],
    ],
)
def test_a_page_is_what_the_tool_shows(
    tree: Path,
    by_the_tool: list[str],
    asked: list[str],
    monkeypatch: pytest.MonkeyPatch,
    capsysbinary: pytest.CaptureFixture[bytes],
) -> None:
    assert main(["read", str(tree), *asked, *by_the_tool]) == 0
    expected = capsysbinary.readouterr()
    assert expected.out
    monkeypatch.delattr(one_shot, "run_tool")
    for root in (str(tree), tree.as_uri()):
        assert main(["read", root, *asked]) == 0
        assert capsysbinary.readouterr() == expected


@pytest.mark.parametrize(
    "asked",
    [
        ["missing.txt"],
        ["sub"],
        ["bin"],
        ["../a.txt"],
        ["~/a.txt"],
        [os.fsdecode(b"\xff.txt")],
        ["a.txt", "--offset", "0"],
        ["a.txt", "--limit", "-1"],
        ["a.txt", "--offset", "3002"],
        ["a.txt", "--json", "--limit", "0"],
    ],
)
def test_what_is_refused_is_told_as_by_the_tool(
    tree: Path, by_the_tool: list[str], asked: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    status = main(["read", str(tree), *asked, *by_the_tool])
    expected = capsys.readouterr()
    assert status in {1, 2}
    assert main(["read", str(tree), *asked]) == status
    assert capsys.readouterr() == expected


def test_a_name_that_is_no_text_behind_a_link_is_told_as_by_the_tool(
    root: Path, by_the_tool: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    (root / os.fsdecode(b"\xff.txt")).write_text("x\n")
    (root / "link.txt").symlink_to(os.fsdecode(b"\xff.txt"))
    status = main(["read", str(root), "link.txt", *by_the_tool])
    expected = capsys.readouterr()
    assert main(["read", str(root), "link.txt"]) == status
    assert capsys.readouterr() == expected


@pytest.mark.parametrize("name", ["SEAMFS_READ__MAX_LINES", "seamfs_read__max_lines"])
def test_a_variable_that_is_set_holds(
    tree: Path, name: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv(name, "1")
    assert main(["read", str(tree), "a.txt", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["next_offset"] == 2


def test_a_file_of_settings_in_the_working_directory_holds(tree: Path, capsys: pytest.CaptureFixture[str]) -> None:
    Path("seamfs.toml").write_text("[read]\nmax_lines = 1\n")
    assert main(["read", str(tree), "a.txt", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["next_offset"] == 2


def test_a_state_that_is_named_remembers_the_read(
    tree: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    remembering = ["--state", str(tmp_path / "state.db")]
    assert main(["edit", str(tree), "a.txt", "--old-string=7 caf", "--new-string=x", *remembering]) == 1
    assert main(["read", str(tree), "a.txt", *remembering]) == 0
    capsys.readouterr()
    assert main(["edit", str(tree), "a.txt", "--old-string=2999 caf", "--new-string=x", *remembering]) == 0


@pytest.mark.parametrize("url", ["memory://plain", "s3://bucket", "gopher://x", "http://user:secret@host/x", " "])
def test_other_stores_are_not_opened_the_short_way(url: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert not plain_read.print_page(url, "a.txt", offset=None, limit=None, as_json=False)
    assert capsys.readouterr() == ("", "")
