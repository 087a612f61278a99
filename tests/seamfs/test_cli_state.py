"""--state and --session on the command line."""

from pathlib import Path

import pytest

from seamfs.cli import main
from tests.seamfs.processes import run

pytestmark = pytest.mark.usefixtures("restored_logging")


@pytest.fixture
def state(tmp_path: Path) -> str:
    return str(tmp_path / "state.db")


EDIT = ("--old-string", "one", "--new-string", "two")


def refusal(capsys: pytest.CaptureFixture[str]) -> str:
    (line,) = capsys.readouterr().err.splitlines()
    return line


def test_with_a_state_commands_remember_and_follow_the_rule(
    root: Path, state: str, capsys: pytest.CaptureFixture[str]
) -> None:
    (root / "a.txt").write_text("one\n")
    assert main(["edit", str(root), "a.txt", *EDIT, "--state", state]) == 1
    assert refusal(capsys).startswith("FS_NOT_OBSERVED: a.txt: ")
    assert main(["read", str(root), "a.txt", "--state", state]) == 0
    assert main(["edit", str(root), "a.txt", *EDIT, "--state", state, "--session", "other"]) == 1
    assert refusal(capsys).startswith("FS_NOT_OBSERVED: a.txt: ")
    assert main(["edit", str(root), "a.txt", *EDIT, "--state", state, "--session", "cli"]) == 0
    (root / "a.txt").write_text("theirs\n")
    assert main(["write", str(root), "a.txt", "--content", "mine", "--state", state]) == 1
    assert refusal(capsys).startswith("FS_STALE_VERSION: a.txt: ")
    assert main(["write", str(root), "a.txt", "--content", "mine"]) == 0
    assert (root / "a.txt").read_text() == "mine"


def test_settings_name_the_state_too(root: Path, state: str, monkeypatch: pytest.MonkeyPatch) -> None:
    (root / "a.txt").write_text("one\n")
    monkeypatch.setenv("SEAMFS_STATE", state)
    Path("seamfs.toml").write_text('session = "ann"\n')
    assert main(["edit", str(root), "a.txt", *EDIT]) == 1
    assert main(["read", str(root), "a.txt"]) == 0
    assert main(["edit", str(root), "a.txt", *EDIT, "--session", "bob"]) == 1
    assert main(["edit", str(root), "a.txt", *EDIT]) == 0


def test_a_state_that_cannot_be_used_is_one_line_and_status_one(
    root: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    other = tmp_path / "notes.txt"
    other.write_text("notes\n" * 100)
    assert main(["read", str(root), "a.txt", "--state", str(other)]) == 1
    assert refusal(capsys).startswith(f"FS_UNSUPPORTED: {other}: is no SQLite database and was left as it is; ")


@pytest.mark.parametrize(
    ("target", "line"),
    [("loop", "FS_INVALID_PATH: {}: leads to itself; "), ("none/x", "FS_NOT_FOUND: {}: the observation state cannot ")],
)
def test_a_state_that_is_a_link_to_nowhere_is_one_line(
    root: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], target: str, line: str
) -> None:
    loop = tmp_path / "loop"
    loop.symlink_to(target)
    assert main(["read", str(root), "a.txt", "--state", str(loop)]) == 1
    assert refusal(capsys).startswith(line.format(loop))


@pytest.mark.parametrize(
    ("arguments", "line"),
    [
        (["read", "ROOT", "a.txt", "--session", "x"], "seamfs: --session: a session is kept in a file; name that"),
        (["serve", "ROOT", "--session", "x"], "seamfs: --session: a session is kept in a file; name that"),
        (["read", "ROOT", "a.txt", "--state", "STATE", "--session", "a/b"], "seamfs: --session: the name of a session"),
        (["serve", "ROOT", "--state", "STATE", "--policy", "none"], "seamfs: --state: with --read-only or --policy"),
        (["serve", "ROOT", "--state", "STATE", "--read-only"], "seamfs: --state: with --read-only or --policy none"),
        (
            ["serve", "ROOT", "--state", "STATE", "--session", "x", "--http", "127.0.0.1:0"],
            "seamfs: --session: over HTTP each client names its own session, with the header seamfs-session: NAME",
        ),
    ],
)
def test_what_would_come_to_nothing_is_wrong_usage(
    root: Path, state: str, capsys: pytest.CaptureFixture[str], arguments: list[str], line: str
) -> None:
    places = {"ROOT": str(root), "STATE": state}
    assert main([places.get(argument, argument) for argument in arguments]) == 2
    assert refusal(capsys).startswith(line)


def test_a_state_of_the_settings_that_a_server_does_not_need_is_said(root: Path, state: str) -> None:
    done = run("serve", str(root), "--read-only", variables={"SEAMFS_STATE": state})
    assert done.returncode == 0
    assert b"state is not used: nothing is remembered with --read-only or --policy none" in done.stderr
    assert not Path(state).exists()
