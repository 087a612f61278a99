import json
from pathlib import Path

import pytest

from benchmarks.__main__ import main
from benchmarks.measure.case import Absent, Case
from benchmarks.measure.compare import Comparison, Timing
from benchmarks.measure.content import ABSENT, CONTENTS, FIRST, LAST, REPEATED, Content, make
from benchmarks.measure.environment import environment
from benchmarks.measure.readme import BEGIN, END, fill
from benchmarks.measure.report import Figure, Goal, Report, Verdict
from benchmarks.measure.tables import report_text

CASE = Case(group="pagination", operation="page, warm", size_bytes=10 << 20, content="code", position="middle")


def comparison(**times_s: float) -> Comparison:
    """Two rounds with these times; the base is ours."""
    timings = [Timing(name.replace("_", " "), "", ((time_s,), (time_s,))) for name, time_s in times_s.items()]
    return Comparison(CASE, "ours", tuple(timings), (Absent("gone", "not installed: `pip install gone`"),))


def report_of(folder: Path) -> Report:
    report = Report(environment("python -m benchmarks --quick", scratch=folder))
    report.add(
        comparison(ours=0.001, peer=0.15, ours_again=0.0011),
        Goal("peer over ours", "peer", "ours", "at least", 100.0),
        Goal("ours over peer", "ours", "peer", "at most", 0.001),
        Goal("gone over ours", "gone", "ours", "at least", 2.0),
    )
    figure = Figure(group="pagination", what="extra memory", name="ours", value=12.0, unit="MB")
    report.add_figures([figure], Verdict(what="extra memory", sense="at most", limit=32.0, measured=12.0, unit="MB"))
    return report


def test_goals_are_judged_by_the_ratio_and_missed_ones_come_first(tmp_path: Path) -> None:
    report = report_of(tmp_path)
    assert [(verdict.what, verdict.is_met) for verdict in report.verdicts] == [
        ("peer over ours", True),
        ("ours over peer", False),
        ("gone over ours", False),
        ("extra memory", True),
    ]
    text = report_text(report)
    assert "| peer over ours | at least 100 x | 150 x | 150 to 150 | met |" in text
    assert "| gone over ours | at least 2 x |  |  | not measured: gone: not installed: `pip install gone` |" in text
    assert text.index("**missed**") < text.index("| met |")


def test_a_table_shows_times_over_the_base_and_who_is_missing(tmp_path: Path) -> None:
    text = report_text(report_of(tmp_path))
    assert "| | ours | peer | gone | noise |" in text
    assert "| 10 MB, code, middle | 1 ms | 150 x | - | 1.10 to 1.10 |" in text
    assert "* gone: not installed: `pip install gone`" in text


def test_the_json_has_every_time_and_no_place_of_this_machine(tmp_path: Path) -> None:
    text = report_of(tmp_path).to_json()
    assert str(tmp_path) not in text
    found = json.loads(text)
    assert found["comparisons"][0]["timings"][1] == {"name": "peer", "note": "", "rounds": [[0.15], [0.15]]}


def test_the_readme_keeps_what_is_around_the_marks(tmp_path: Path) -> None:
    readme = tmp_path / "README.md"
    readme.write_text(f"before\n{BEGIN}\nold\n{END}\nafter\n")
    fill(readme, report_of(tmp_path), [tmp_path / "plots" / "pages.svg"])
    text = readme.read_text()
    assert text.startswith(f"before\n{BEGIN}\n")
    assert text.endswith(f"![pages](plots/pages.svg)\n\n{END}\nafter\n")
    assert "old" not in text
    assert "### Goals" in text


def test_a_readme_without_marks_is_refused_and_stays(tmp_path: Path) -> None:
    readme = tmp_path / "README.md"
    readme.write_text(f"{END}\n{BEGIN}\n")
    with pytest.raises(ValueError, match="has no part between"):
        fill(readme, report_of(tmp_path), [])
    assert readme.read_text() == f"{END}\n{BEGIN}\n"


@pytest.mark.parametrize("content", CONTENTS)
def test_a_file_has_its_marks_once_and_the_size_and_lines_that_are_told(tmp_path: Path, content: Content) -> None:
    made = make(tmp_path / "file.txt", content, 300_000)
    data = made.path.read_bytes()
    text = data.decode()
    assert made.size_bytes == len(data)
    assert 299_800 < len(data) <= 300_000
    assert made.lines == len(text.splitlines())
    assert (text.count(FIRST), text.count(LAST), text.count(ABSENT)) == (1, 1, 0)
    assert text.count(REPEATED) == 5
    assert text.startswith(FIRST)
    assert text.rstrip().endswith(LAST)


def test_an_unknown_group_is_refused_with_the_names_of_those_there_are(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit, match="2"):
        main(["--only", "pages"])
    assert "there is no group pages; there are pagination, editing, backends" in capsys.readouterr().err
