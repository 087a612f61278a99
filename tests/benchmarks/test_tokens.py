import json
from pathlib import Path

import pytest

from benchmarks.disclosure.tokens import main

TOOLS = [
    ("geocode_address", "Convert an address to coordinates."),
    ("play_song", "Play one song by its title."),
    ("book_table", "Book a table in a restaurant."),
]
TASK = {
    "task_id": "t1",
    "question": "Find it, book it, play something.",
    "steps": ["convert the address to coordinates", "play the song", "book a table in the restaurant"],
    "tools": [name for name, _ in TOOLS],
}


def data_of(folder: Path, *, padding: int, task: object = TASK) -> Path:
    """Write a set with as many tools more as `padding` says."""
    live, meta = folder / "livemcpbench", folder / "metatool"
    live.mkdir()
    meta.mkdir()
    schema = {"type": "object", "properties": {"what": {"type": "string"}}, "required": ["what"]}
    # Two servers have tools of the same name.
    more = [("other", f"Does another thing, number {number}.") for number in range(padding)]
    tools = [{"name": name, "description": text, "inputSchema": schema} for name, text in [*TOOLS, *more]]
    (live / "tools.json").write_text(json.dumps([{"tools": {"server": {"tools": tools}}}]))
    (live / "tasks.jsonl").write_text(json.dumps(task) + "\n")
    (meta / "plugin_des.json").write_text("{}")
    (meta / "queries.jsonl").write_text("")
    return folder


def rows_of(data: Path, capsys: pytest.CaptureFixture[str]) -> dict[tuple[str, str], dict[str, int]]:
    assert main(["--data", str(data)]) == 0
    lines = [json.loads(line) for line in capsys.readouterr().out.splitlines() if line.startswith("{")]
    return {(line.pop("surface"), line.pop("api")): line for line in lines}


def test_same_figures_in_every_run_and_one_row_for_each_of_them(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    data = data_of(tmp_path, padding=5)
    assert main(["--data", str(data)]) == 0
    first = capsys.readouterr().out
    assert main(["--data", str(data)]) == 0
    assert capsys.readouterr().out == first
    lines = first.splitlines()
    assert len(lines) == 16 + 2 + 16
    assert lines[16].startswith("| surface | API | requests |")


def test_only_what_is_declared_up_front_grows_with_the_catalog(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "few").mkdir()
    (tmp_path / "many").mkdir()
    few = rows_of(data_of(tmp_path / "few", padding=10), capsys)
    many = rows_of(data_of(tmp_path / "many", padding=100), capsys)
    for surface, api in few:
        grew = many[surface, api]["prefix"] > few[surface, api]["prefix"]
        assert grew == (surface == "all declared up front")


def test_what_was_read_is_new_once_unless_the_tools_at_the_top_change(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    rows = rows_of(data_of(tmp_path, padding=5), capsys)
    assert rows["all declared up front", "OpenAI"]["requests"] == 10
    assert rows["Code, three calls a program", "OpenAI"]["requests"] == 10
    loaded = rows["Native, loaded by the API", "Anthropic, `tool_reference`"]
    growing = rows["Native, `tools` grows", "Anthropic"]
    assert loaded["requests"] == growing["requests"] == 16
    assert loaded["prefix"] == growing["prefix"]
    assert loaded["new"] * 1.5 < growing["new"] < growing["sent"]


def test_set_whose_tools_are_not_found_is_an_error(tmp_path: Path) -> None:
    data = data_of(tmp_path, padding=5, task={**TASK, "tools": ["geocode_address", "none", "none"]})
    with pytest.raises(ValueError, match="1 requests whose tool is found; the task needs 3"):
        main(["--data", str(data)])


def test_missing_data_is_one_line_and_exit_code_2(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        main(["--data", str(tmp_path / "nowhere")])
    assert ended.value.code == 2
    output = capsys.readouterr()
    assert (output.out, output.err.count("\n")) == ("", 1)
