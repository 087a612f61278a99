"""The command line: exit statuses, what goes where, and what is quiet."""

import atexit
import gc
import importlib.metadata
import io
import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from seamfs import extras, one_shot
from seamfs.cli import main
from seamfs.extras import MissingExtraError, require_extra
from tests.seamfs.processes import TIMEOUT_S, command, environment, run

pytestmark = pytest.mark.usefixtures("restored_logging")


def give_input(monkeypatch: pytest.MonkeyPatch, data: bytes) -> None:
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(data), encoding="utf-8"))


def nothing_is_installed(_name: str) -> None:
    return None


def test_read_prints_what_a_model_is_shown(root: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (root / "a.txt").write_text("one\ntwo\nthree\n")
    assert main(["read", str(root), "a.txt", "--offset", "2", "--limit", "1"]) == 0
    shown = capsys.readouterr()
    assert "2: two\n" in shown.out
    assert "one" not in shown.out
    assert shown.err == ""


def test_a_command_searches_for_garbage_neither_while_it_runs_nor_at_the_end_of_the_process(
    root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    during: list[bool] = []
    at_exit: list[object] = []
    register = atexit.register

    def registered(function: Callable[..., object], *given: object, **options: object) -> object:
        at_exit.append(function)
        return None if function is gc.freeze else register(function, *given, **options)

    def run_tool(*_given: object, **_options: object) -> None:
        during.append(gc.isenabled())

    monkeypatch.setattr(one_shot, "run_tool", run_tool)
    monkeypatch.setattr(atexit, "register", registered)
    assert main(["read", str(root), "a.txt"]) == 0
    assert during == [False]
    assert at_exit.count(gc.freeze) == 1
    assert gc.isenabled()


def test_read_as_json_prints_the_structured_value(root: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (root / "a.txt").write_text("caf\u00e9")
    assert main(["read", str(root), "a.txt", "--json"]) == 0
    value = json.loads(capsys.readouterr().out)
    assert value["lines"] == [{"number": 1, "text": "caf\u00e9"}]
    assert value["final_newline"] is False


def test_a_refusal_is_status_one_with_the_code_first_on_standard_error(
    root: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["read", str(root), "missing.txt"]) == 1
    shown = capsys.readouterr()
    assert shown.out == ""
    assert shown.err.startswith("FS_NOT_FOUND: missing.txt: ")
    assert shown.err.count("\n") == 1


def test_a_refusal_as_json_prints_the_error_object_too(root: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["read", str(root), "missing.txt", "--json"]) == 1
    shown = capsys.readouterr()
    error = json.loads(shown.out)
    assert error["code"] == "FS_NOT_FOUND"
    assert error["retryable"] is False
    assert shown.err == f"FS_NOT_FOUND: {error['message']}\n"


def test_write_takes_its_content_from_an_argument_and_needs_no_earlier_read(
    root: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (root / "a.txt").write_text("old\n")
    assert main(["write", str(root), "a.txt", "--content", "new\n"]) == 0
    assert (root / "a.txt").read_text() == "new\n"
    assert "a.txt" in capsys.readouterr().out


def test_write_takes_bytes_from_standard_input_as_they_are(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    data = "\ufeffone\r\ntwo\rthree caf\u00e9".encode()
    give_input(monkeypatch, data)
    assert main(["write", str(root), "new/a.txt"]) == 0
    assert (root / "new" / "a.txt").read_bytes() == data


def test_input_that_is_not_utf8_is_refused_and_nothing_is_written(
    root: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    give_input(monkeypatch, b"ab\xff")
    assert main(["write", str(root), "a.txt"]) == 1
    assert capsys.readouterr().err == (
        "FS_NOT_TEXT: standard input: is not UTF-8 text: byte 2 of 3; nothing was written\n"
    )
    assert not list(root.iterdir())


def test_edit_replaces_literally_once_or_everywhere(root: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = root / "a.txt"
    file.write_text("- x\n- x\n")
    assert main(["edit", str(root), "a.txt", "--old-string=- x", "--new-string", "\\1"]) == 1
    assert capsys.readouterr().err.startswith("FS_AMBIGUOUS_EDIT: ")
    assert main(["edit", str(root), "a.txt", "--old-string=- x", "--new-string", "\\1", "--replace-all"]) == 0
    assert file.read_text() == "\\1\n\\1\n"


@pytest.mark.parametrize(
    "arguments",
    [
        [],
        ["frobnicate"],
        ["read"],
        ["read", "."],
        ["read", ".", "a", "--offset", "two"],
        ["edit", ".", "a", "--old-string", "x"],
        ["serve", ".", "--policy", "sometimes"],
    ],
)
def test_a_wrong_command_line_is_status_two(arguments: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as caught:
        main(arguments)
    assert caught.value.code == 2
    assert "usage: seamfs" in capsys.readouterr().err


@pytest.mark.parametrize(
    "arguments",
    [["read", "--offset", "0"], ["edit", "--old-string", "", "--new-string", "x"]],
)
def test_arguments_that_the_tool_does_not_take_are_status_two(
    root: Path, arguments: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    command, *options = arguments
    assert main([command, str(root), "a.txt", *options]) == 2
    assert capsys.readouterr().err.startswith("INVALID_ARGS: ")


def test_a_missing_root_is_no_such_directory(root: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["read", str(root / "nowhere"), "a"]) == 1
    assert capsys.readouterr().err == f"FS_NOT_FOUND: {root / 'nowhere'}: no such directory\n"


def test_a_bad_setting_is_status_two_and_one_line(
    root: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("SEAMFS_READ__MAX_LINES", "0")
    assert main(["read", str(root), "a"]) == 2
    assert capsys.readouterr().err == "seamfs: SEAMFS_READ__MAX_LINES: Input should be greater than 0\n"


def test_a_named_configuration_file_is_used(root: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (root / "a.txt").write_text("1\n2\n3\n")
    config = tmp_path / "conf.toml"
    config.write_text("[read]\nmax_lines = 1\n")
    assert main(["read", str(root), "a.txt", "--json", "--config", str(config)]) == 0
    assert json.loads(capsys.readouterr().out)["next_offset"] == 2


def test_input_above_the_bound_is_refused_and_nothing_is_written(
    root: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(one_shot, "INPUT_SIZE_BYTES_MAX", 3)
    give_input(monkeypatch, b"four")
    assert main(["write", str(root), "a.txt"]) == 1
    assert capsys.readouterr().err.startswith("FS_TOO_LARGE: standard input: ")
    assert not list(root.iterdir())


@pytest.mark.parametrize(
    ("arguments", "told_of_it"),
    [
        (["read"], "seamfs: unexpected: RuntimeError: broken (--debug shows where)\n"),
        (["write", "--content="], "TOOL_FAILED: write failed: RuntimeError: broken\n"),
    ],
)
def test_a_fault_inside_a_tool_is_one_line_without_a_traceback(
    root: Path, arguments: list[str], told_of_it: str
) -> None:
    program = (
        "import sys, seamfs.cli\n"
        "from fs_core.filesystem import BackedFileSystem\n"
        "async def fail(*_): raise RuntimeError('broken')\n"
        "BackedFileSystem.resolve = fail\n"
        "sys.exit(seamfs.cli.main(sys.argv[1:]))"
    )
    told = [
        subprocess.run(
            [sys.executable, "-c", program, *arguments, str(root), "a", *extra],
            capture_output=True,
            text=True,
            env=environment(),
            timeout=TIMEOUT_S,
            check=False,
        )
        for extra in ([], ["--debug"])
    ]
    assert [done.returncode for done in told] == [1, 1]
    assert told[0].stderr == told_of_it
    assert "Traceback" in told[1].stderr


def test_a_store_that_cannot_be_opened_is_an_error_object_too(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["read", "missing", "a.txt", "--json"]) == 1
    assert json.loads(capsys.readouterr().out)["code"] == "FS_NOT_FOUND"


@pytest.mark.parametrize(
    ("root_url", "code"),
    [("missing", "FS_NOT_FOUND"), ("gopher://x/y", "FS_UNSUPPORTED"), ("", "FS_INVALID_PATH")],
)
def test_a_root_that_cannot_be_opened_is_status_one_and_one_line(
    root_url: str, code: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["read", root_url, "a.txt"]) == 1
    (line,) = capsys.readouterr().err.splitlines()
    assert line.startswith(f"{code}: ")


def test_an_unexpected_fault_is_one_line_and_a_traceback_only_under_debug(
    root: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def fail(*_arguments: object, **_options: object) -> bool:
        raise ExceptionGroup("group", [RuntimeError("out\nof order")])

    monkeypatch.setattr(one_shot, "run_tool", fail)
    assert main(["read", str(root), "a"]) == 1
    assert capsys.readouterr().err == "seamfs: unexpected: RuntimeError: out of order (--debug shows where)\n"
    with pytest.raises(ExceptionGroup):
        main(["read", str(root), "a", "--debug"])


def test_an_interrupt_is_status_130_and_quiet(
    root: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def interrupt(*_arguments: object, **_options: object) -> bool:
        raise KeyboardInterrupt

    monkeypatch.setattr(one_shot, "run_tool", interrupt)
    assert main(["read", str(root), "a"]) == 130
    assert capsys.readouterr() == ("", "")


def test_a_missing_extra_is_one_line_with_the_command_that_installs_it(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(MissingExtraError, match=r"x needs no_such_module_, not installed here: pip install 'seamfs\[e"):
        require_extra("extra", ("json", "no_such_module_"), what="x")
    monkeypatch.setattr(extras, "find_spec", nothing_is_installed)
    assert main(["demo"]) == 1
    (line,) = capsys.readouterr().err.splitlines()
    assert line.endswith("pip install 'seamfs[demo]'")


def test_help_says_that_one_shot_commands_know_no_earlier_read(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as caught:
        main(["write", "--help"])
    assert caught.value.code == 0
    assert "without the read-before-write rule" in " ".join(capsys.readouterr().out.split())


NOT_FOR_LOCAL_DISK = [
    "aiobotocore",
    "anthropic",
    "asyncssh",
    "botocore",
    "charset_normalizer",
    "fs_core.mismatch",
    "fs_core.search.bounds",
    "fs_core.search.globs",
    "fs_core.search.outcomes",
    "fs_core.search.walk",
    "fs_core.testing",
    "fsspec",
    "httpx",
    "jsonschema_rs",
    "mcp",
    "moto",
    "numpy",
    "openai",
    "paramiko",
    "pathspec",
    "progressive.catalog",
    "progressive.code.tool",
    "progressive.disclosure",
    "progressive.gateway.gateway",
    "progressive.gateway.mounts",
    "pydantic_monty",
    "pydantic_settings",
    "rapidfuzz",
    "re2",
    "rich",
    "s3fs",
    "seamfs.search",
    "seamfs.session_claim",
    "seamfs.session_document",
    "seamfs.state",
    "snowballstemmer",
    "starlette",
    "tool_fs.search.toolset",
    "trio",
    "uvicorn",
]
"""What takes long to load, and what a command on local disk has no use for."""

NOT_FOR_A_PAGE = [
    *NOT_FOR_LOCAL_DISK,
    "annotated_types",
    "backends.options",
    "importlib.metadata",
    "progressive",
    "pydantic",
    "pydantic_core",
    "regex",
    "seamfs.config",
    "seamfs.one_shot",
    "seamfs.workspace",
    "tool_fs.toolset",
    "tool_fs.values",
    "tool_runtime",
]
"""What a page of local disk has no use for either, where nothing is set."""

NOT_FOR_THE_VERSION = [*NOT_FOR_A_PAGE, "anyio", "asyncio", "fs_core", "tool_fs"]


def loaded_by(arguments: list[str], modules: list[str], *, directory: Path) -> tuple[list[str], set[str]]:
    """Return the lines that a command prints in a process without settings, and which of the modules it loads."""
    program = (
        f"import sys, seamfs.cli\ntry: seamfs.cli.main({arguments})\nfinally: print(*sys.modules.keys() & {modules})"
    )
    settings = {name for name in os.environ if name.startswith("SEAMFS_")}
    done = subprocess.run(
        [sys.executable, "-c", program],
        capture_output=True,
        text=True,
        env={name: value for name, value in environment().items() if name not in settings},
        cwd=directory,
        timeout=TIMEOUT_S,
        check=True,
    )
    *shown, loaded = done.stdout.splitlines()
    return shown, set(loaded.split())


def test_the_version_is_shown_by_a_process_that_loads_next_to_nothing(tmp_path: Path) -> None:
    shown, loaded = loaded_by(["--version"], NOT_FOR_THE_VERSION, directory=tmp_path)
    assert shown == [f"seamfs {importlib.metadata.version('seamfs')}"]
    assert loaded == set()


def test_a_file_of_local_disk_is_read_by_a_process_that_loads_nothing_for_other_stores_and_commands(
    root: Path, tmp_path: Path
) -> None:
    (root / "a.txt").write_text("one\n")
    shown, loaded = loaded_by(["read", str(root), "a.txt"], NOT_FOR_A_PAGE, directory=tmp_path)
    assert "1: one" in shown
    assert loaded == set()


def test_a_file_of_local_disk_is_written_by_a_process_that_loads_nothing_for_other_stores_and_commands(
    root: Path, tmp_path: Path
) -> None:
    arguments = ["write", str(root), "a.txt", "--content=x"]
    shown, loaded = loaded_by(arguments, NOT_FOR_LOCAL_DISK, directory=tmp_path)
    assert shown == ["Created a.txt (1 byte)."]
    assert loaded == set()


def test_a_reader_that_leaves_is_no_error(root: Path) -> None:
    (root / "a.txt").write_text("line of some length\n" * 2_000)
    ours, theirs = os.pipe()
    os.close(ours)
    try:
        done = subprocess.run(
            command("read", str(root), "a.txt"),
            stdout=theirs,
            stderr=subprocess.PIPE,
            env=environment(),
            timeout=TIMEOUT_S,
            check=False,
        )
    finally:
        os.close(theirs)
    assert done.returncode == 141
    assert done.stderr == b""


def test_a_pipe_gets_the_raw_bytes_of_a_file_that_holds_control_characters(root: Path) -> None:
    (root / "a.txt").write_bytes(b"red \x1b[31m\n")
    done = run("read", str(root), "a.txt")
    assert done.returncode == 0
    assert b"1: red \x1b[31m\n" in done.stdout
