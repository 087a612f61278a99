import json
from collections.abc import Callable, Sequence
from pathlib import Path

import pytest

from benchmarks.disclosure import size, speed
from benchmarks.disclosure.corpora import half_of
from benchmarks.disclosure.retrieval import main

TOOLS = [
    {"name": "read_file", "description": "Read a file.", "inputSchema": {"type": "object"}},
    # Valid under an older draft only.
    {
        "name": "set_volume",
        "description": None,
        "inputSchema": {"properties": {"level": {"minimum": 0, "exclusiveMinimum": True}}},
    },
]
TASK = {
    "task_id": "t1",
    "question": "Read the file, then set the volume.",
    "steps": ["read it", "make it louder: volume"],
    "tools": ["read_file", "set_volume"],
}


@pytest.fixture
def data(tmp_path: Path) -> Path:
    live, meta = tmp_path / "livemcpbench", tmp_path / "metatool"
    live.mkdir()
    meta.mkdir()
    (live / "tools.json").write_text(json.dumps([{"tools": {"server": {"tools": TOOLS}}}]))
    (live / "tasks.jsonl").write_text(json.dumps(TASK) + "\n")
    (meta / "plugin_des.json").write_text(json.dumps({"Weather": "Forecasts.", "Music": "Plays songs."}))
    queries = [{"query": "forecasts for Berlin", "tool": "Weather"}, {"query": "zebra", "tool": "Music"}]
    (meta / "queries.jsonl").write_text("".join(json.dumps(query) + "\n" for query in queries))
    return tmp_path


@pytest.mark.parametrize("command", [main, size.main, speed.main])
def test_missing_data_is_one_line_and_exit_code_2(
    command: Callable[[Sequence[str]], int], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit) as ended:
        command(["--data", str(tmp_path / "nowhere")])
    assert ended.value.code == 2
    output = capsys.readouterr()
    assert output.out == ""
    assert output.err.count("\n") == 1
    assert "nowhere" in output.err


def test_places_are_counted_per_set_half_and_ranking(
    data: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "figures.jsonl"
    assert main(["--data", str(data), "--jsonl", str(file)]) == 0
    rows = [json.loads(line) for line in file.read_text().splitlines()]
    whole = {(row["corpus"], row["ranking"]): row for row in rows if row["half"] == "all"}
    assert len(whole) == 9
    steps = whole["LiveMCPBench, steps", "progressive"]
    assert (steps["requests"], steps["hit_at_1"], steps["mrr"]) == (2, 1.0, 1.0)
    meta = whole["MetaTool", "plain BM25"]
    assert (meta["requests"], meta["hit_at_5"], meta["mrr"]) == (2, 0.5, 0.5)
    table = capsys.readouterr().out.splitlines()
    assert len(table) == 2 + len(rows)
    assert "| MetaTool | all | 2 | plain BM25 | 0.500 | 0.500 | 0.500 | 0.500 | 0.500 |" in table


def test_half_without_requests_is_left_out(data: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--data", str(data)]) == 0
    lines = [json.loads(line) for line in capsys.readouterr().out.splitlines() if line.startswith("{")]
    assert {line["half"] for line in lines if line["corpus"] == "LiveMCPBench, steps"} == {half_of("t1"), "all"}
